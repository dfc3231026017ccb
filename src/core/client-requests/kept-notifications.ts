import type { Notification } from '../../api/index.ts'
import { isObject, type JsonObject } from '../../protocol/json/json.ts'

/** Limits of what is kept while a client thinks: messages, and the length of their parameters as text. The oldest goes first. */
const MAX_KEPT = 64
const MAX_KEPT_LENGTH = 64 * 1024

/** Notifications of a call, kept while its client thinks. */
export class KeptNotifications {
  readonly #notifications: { readonly notification: Notification; readonly length: number }[] = []
  #length = 0

  add(notification: Notification): void {
    const { length } = JSON.stringify(notification.params ?? {})
    this.#notifications.push({ notification, length })
    this.#length += length
    while (this.#notifications.length > MAX_KEPT || this.#length > MAX_KEPT_LENGTH)
      this.#length -= this.#notifications.shift()?.length ?? this.#length
  }

  take(): Notification[] {
    return this.#notifications.splice(0).map(({ notification }) => notification)
  }
}

/**
 * The notification of a call as the request hears it that took the call up again, with these parameters: progress goes on under its token.
 * Undefined if it does not want to hear it.
 */
export function heardBy(
  params: JsonObject | undefined,
  notification: Notification,
): Notification | undefined {
  if (notification.method !== 'notifications/progress') return notification
  const progressToken = isObject(params?._meta) ? params._meta.progressToken : undefined
  return progressToken === undefined
    ? undefined
    : { ...notification, params: { ...notification.params, progressToken } }
}
