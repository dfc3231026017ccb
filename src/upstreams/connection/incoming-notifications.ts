import type { Clock, Notification } from '../../api/index.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import type { RpcNotification } from '../../protocol/jsonrpc.ts'
import type { PendingRequest } from '../transport.ts'
import type { IncomingRequests, IncomingDeps } from './incoming-requests.ts'
import { getProgressToken, isGlobal, getSubscriptionId, omitSubscriptionId } from './translate-call.ts'

/** Progress notifications per call and second. */
const MAX_PROGRESS = 20
/** Log messages per call and second. */
const MAX_MESSAGES = 100
const WINDOW_MS = 1000

/** Dispatches server notifications to the call, subscription or clients they concern. */
export class IncomingNotifications {
  readonly #connection: IncomingDeps
  readonly #requests: IncomingRequests

  constructor(connection: IncomingDeps, requests: IncomingRequests) {
    this.#connection = connection
    this.#requests = requests
  }

  /** Handles a notification; `of` is its stream's call, if known. */
  handleNotification({ method, params }: RpcNotification, of: PendingRequest | undefined): void {
    if (method === 'notifications/progress') return this.#handleProgress(params, of)
    const subscribed = of ?? this.#findSubscription(method, params)
    if (subscribed?.onNotification !== undefined)
      subscribed.onNotification({ method, params: omitSubscriptionId(params) })
    else if (method === 'notifications/cancelled') this.#requests.handleCancelled(params?.requestId)
    else this.#passNotification({ method, params }, of)
  }

  #passNotification(notification: Notification, of: PendingRequest | undefined): void {
    const { method } = notification
    if (method === 'notifications/message') this.#handleLog(notification, of)
    else if (method === 'notifications/elicitation/complete') this.#requests.handleVisitCompleted(notification)
    else if (of?.call === undefined || isGlobal(method)) this.#connection.host.notify(notification)
    else this.#passLimited(notification, of)
  }

  #handleProgress(params: JsonObject | undefined, of: PendingRequest | undefined): void {
    const { peer, host } = this.#connection
    const pending = peer.findSent(params?.progressToken)
    const clientToken = getProgressToken(pending?.call?.params)
    if (pending === undefined || clientToken === undefined || (of !== undefined && of !== pending))
      return host.drops.count('progress')
    pending.progress ??= this.#getProgressLimit(pending)
    pending.progress.add({ ...params, progressToken: clientToken })
  }

  #getProgressLimit({ call }: PendingRequest): ProgressLimit {
    const { clock, drops } = this.#connection.host
    return new ProgressLimit(
      clock,
      params => call?.exchange.emit({ method: 'notifications/progress', params }),
      () => drops.count('excess_progress'),
    )
  }

  /** Sends a log message to its request's client: by stream, or to the only call on a pipe. */
  #handleLog(notification: Notification, of: PendingRequest | undefined): void {
    const pending = of !== undefined || this.#connection.streams ? of : this.#connection.getOnlyCall()
    if (pending?.call === undefined) this.#connection.host.drops.count('message')
    else this.#passLimited(notification, pending)
  }

  /** Forwards a call's message to its client, rate limited. */
  #passLimited(notification: Notification, pending: PendingRequest): void {
    const { clock, drops } = this.#connection.host
    pending.messages ??= new MessageLimit(clock)
    if (pending.messages.countMessage()) pending.call?.exchange.emit(notification)
    else drops.count('excess_message')
  }

  /** Finds the subscription that a notification names, on a shared pipe. */
  #findSubscription(method: string, params: JsonObject | undefined): PendingRequest | undefined {
    const { streams, server, peer } = this.#connection
    if (streams || server?.era !== 'modern') return undefined
    const owner = peer.findSent(getSubscriptionId(method, params))
    return owner?.onNotification === undefined ? undefined : owner
  }
}

/** Rate limit for one call's other messages. */
class MessageLimit {
  readonly #clock: Clock
  #startedAt = -Infinity
  #count = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts a message; false if it exceeds the limit. */
  countMessage(): boolean {
    const now = this.#clock.now()
    if (now - this.#startedAt >= WINDOW_MS) {
      this.#startedAt = now
      this.#count = 0
    }
    return ++this.#count <= MAX_MESSAGES
  }
}

/** Rate limit for one call's progress: delays the newest progress instead of dropping it. */
export class ProgressLimit {
  readonly #clock: Clock
  readonly #pass: (params: JsonObject) => void
  readonly #dropped: () => void
  /** Recent forwarding times, as a ring buffer. */
  readonly #times: number[] = []
  #next = 0
  #delayed: JsonObject | undefined
  #stopTimer: (() => void) | undefined

  /** `dropped` runs for each progress replaced by a newer one. */
  constructor(clock: Clock, pass: (params: JsonObject) => void, dropped: () => void) {
    this.#clock = clock
    this.#pass = pass
    this.#dropped = dropped
  }

  /** Forwards progress, or delays it and replaces an older one. */
  add(params: JsonObject): void {
    if (this.#delayed !== undefined) this.#dropped()
    const wait = (this.#times[this.#next] ?? -Infinity) + WINDOW_MS - this.#clock.now()
    this.#delayed = params
    if (wait <= 0) this.flush()
    else this.#stopTimer ??= this.#clock.after(wait, () => this.flush())
  }

  /** Sends the delayed progress when the call finishes or the delay is over. */
  flush(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    const delayed = this.#delayed
    if (delayed === undefined) return
    this.#delayed = undefined
    this.#times[this.#next] = this.#clock.now()
    this.#next = (this.#next + 1) % MAX_PROGRESS
    this.#pass(delayed)
  }
}
