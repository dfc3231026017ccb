import { GatewayError } from '../../src/plugin.ts'

/** What an error of an upstream says of it. */
export interface Failure {
  /** Counts against the upstream: it could not be reached, broke off, or answered 5xx. */
  readonly isIll: boolean
  /** May be over in a moment, so that another try has a chance. */
  readonly isPassing: boolean
  /** A connection was closed in the very moment that it was used again: nothing is wrong, so nothing is waited for. */
  readonly isStale: boolean
  /** What the server asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined
}

const TOO_MANY = 429
/** Statuses of a server or proxy that is busy, away, or waits in vain for somebody else. */
const PASSING: ReadonlySet<unknown> = new Set([TOO_MANY, 502, 503, 504])
const ILL: ReadonlySet<string> = new Set(['GW_UPSTREAM_DOWN', 'GW_UPSTREAM_CLOSED', 'GW_UPSTREAM_START'])

/** A bug of ours or of a plugin. */
const UNKNOWN: Failure = { isIll: false, isPassing: false, isStale: false, retryAfterMs: undefined }

/** Judges what a dispatch rejected with. What a server chose to answer, errors included, never comes here. */
export function failureOf(error: unknown): Failure {
  if (!(error instanceof GatewayError)) return UNKNOWN
  const { status, stale, retryAfterMs } = error.fields
  return {
    // A server that limits its callers is well.
    isIll: ILL.has(error.code) && status !== TOO_MANY,
    isPassing: PASSING.has(status) || error.code === 'GW_UPSTREAM_CLOSED',
    isStale: stale === true,
    retryAfterMs: typeof retryAfterMs === 'number' ? retryAfterMs : undefined,
  }
}
