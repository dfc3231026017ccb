import type { JsonObject } from '../json/json.ts'
import { LATEST_LEGACY_VERSION, type Era, type Reader } from '../versions.ts'

interface Told {
  readonly method: string
  readonly params: JsonObject | undefined
}

/** Notifications that not every client knows: the era that has them, and since which of its versions. */
const LIMITED: ReadonlyMap<string, { readonly era: Era; readonly since: string }> = new Map([
  ['notifications/elicitation/complete', { era: 'legacy', since: LATEST_LEGACY_VERSION }],
  ['notifications/tasks/status', { era: 'legacy', since: LATEST_LEGACY_VERSION }],
  ['notifications/tasks', { era: 'modern', since: '' }],
  ['notifications/subscriptions/acknowledged', { era: 'modern', since: '' }],
])

/** The first version in which progress has words. */
const WORDS_SINCE = '2025-03-26'

/** A notification as this client reads it; undefined where it has none of the kind. What nobody specified passes. */
export function notificationFor<Notification extends Told>(
  notification: Notification,
  { era, version }: Reader,
): Notification | undefined {
  const { method, params } = notification
  if (method === 'notifications/progress')
    return version >= WORDS_SINCE || params?.message === undefined ? notification : wordless(notification)
  const limit = LIMITED.get(method)
  return limit === undefined || (limit.era === era && version >= limit.since) ? notification : undefined
}

function wordless<Notification extends Told>(notification: Notification): Notification {
  const { message: _message, ...params } = notification.params ?? {}
  return { ...notification, params }
}
