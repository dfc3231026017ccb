import type { ReplyHeaders } from '../../http-client/handler.ts'

/** Longer pauses are as good as this one. */
const LONGEST_MS = 24 * 3_600_000

/**
 * Milliseconds that `Retry-After` asks for (RFC 9110, 10.2.3); undefined when it says nothing that can be understood.
 * A date counts from the server's own, so that no two clocks must agree.
 */
export function retryAfterMs(headers: ReplyHeaders): number | undefined {
  const said = headers['retry-after']?.trim() ?? ''
  if (/^\d{1,9}$/.test(said)) return Math.min(Number(said) * 1000, LONGEST_MS)
  const ms = Date.parse(said) - Date.parse(String(headers.date))
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), LONGEST_MS)
}
