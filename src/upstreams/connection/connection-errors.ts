import { gatewayError, type GatewayError } from '../../errors/errors.ts'

/** When a caller may come again that found too many others waiting. */
const BUSY_RETRY_MS = 1000

/** The failure of a request whose connection has ended. */
export function closedError(upstream: string, why: string): GatewayError {
  return gatewayError('GW_UPSTREAM_CLOSED', { upstream, why })
}

/** The failure of a request for which too many others wait already. */
export function fullError(upstream: string, waiting: number): GatewayError {
  const why = `${waiting} calls wait for it already`
  return gatewayError('GW_UPSTREAM_BUSY', { upstream, why, retryAfterMs: BUSY_RETRY_MS })
}
