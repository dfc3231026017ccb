import { listAt, parseDuration, type Report, valueAt } from '../../src/plugin.ts'

/** Calls are held for their clients no longer. */
const MAX_TTL_MS = 600_000
const DURATION = /^\d{1,12}(ms|s|m|h|d)$/

/** Checks that a question has somebody who hears it, for no longer than a call can wait. */
export function check(config: unknown, report: Report): void {
  const approve = valueAt(config, 'approve')
  if (approve === undefined) return
  const isTold = listAt(approve, 'by').includes('webhook')
  const hasWebhook = valueAt(approve, 'webhook') !== undefined
  if (isTold && !hasWebhook)
    report({
      pointer: '/approve/by',
      message: 'there is no webhook',
      hint: 'add "webhook" with its url and secret',
    })
  if (hasWebhook && !isTold)
    report({
      pointer: '/approve/webhook',
      message: 'nobody tells this webhook of anything',
      hint: 'add "webhook" to "by"',
      severity: 'warning',
      on: 'key',
    })
  if (!isInBounds(valueAt(approve, 'ttl')))
    report({ pointer: '/approve/ttl', message: 'must be more than 0 and at most 10m' })
}

/** True within the bounds, and for a value that is no duration at all, which the schema points at. */
function isInBounds(ttl: unknown): boolean {
  const isDuration = typeof ttl === 'number' || (typeof ttl === 'string' && DURATION.test(ttl))
  const ms = isDuration ? parseDuration(ttl) : 1
  return ms > 0 && ms <= MAX_TTL_MS
}
