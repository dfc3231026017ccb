import type { Clock, Notification, SharedStore } from '../../src/plugin.ts'
import { CountedTopic, isObject, LISTS } from '../../src/plugin.ts'

const LIST_CHANGES = [...new Set(Object.values(LISTS).map(({ changed }) => changed))]
const UPDATED = 'notifications/resources/updated'

const TOPIC = 'news'
/** Debounce time for identical notifications. */
const DEBOUNCE_MS = 250
const MAX_PENDING = 10_000

/** Upstreams in the current generation, and the function that delivers their notifications. */
export interface ChangeHandler {
  readonly names: readonly string[]
  notify(upstream: string, notification: Notification): void
}

/**
 * Exchanges list and resource changes with other replicas. A replica that missed one refreshes all lists; unchanged
 * lists are not announced.
 */
export class ChangeFeed {
  /** Notifications that replicas exchange. */
  readonly methods: readonly string[] = [...LIST_CHANGES, UPDATED]
  readonly #clock: Clock
  readonly #pending = new Map<string, () => void>()
  /** Notifications received from replicas, which must not be forwarded again. */
  readonly #ofOthers = new WeakSet<Notification>()
  readonly #topic: CountedTopic
  #handler: ChangeHandler = { names: [], notify: () => undefined }

  constructor(store: SharedStore, clock: Clock) {
    this.#clock = clock
    this.#topic = new CountedTopic({
      ...{ store, clock, topic: TOPIC },
      onMessage: text => this.#receive(text),
      onGap: gap => {
        if (gap === 'first') return
        for (const name of this.#handler.names) for (const method of LIST_CHANGES) this.#deliver(name, method, '')
      },
    })
  }

  setHandler(handler: ChangeHandler): void {
    this.#handler = handler
  }

  start(): void {
    this.#topic.start()
  }

  stop(): void {
    this.#topic.stop()
    for (const cancel of this.#pending.values()) cancel()
    this.#pending.clear()
  }

  /** Publishes a local server's notification, debounced. */
  publish(upstream: string, notification: Notification): void {
    if (this.#ofOthers.has(notification)) return
    const { method, params } = notification
    const text = JSON.stringify({ upstream, method, uri: method === UPDATED ? String(params?.uri) : '' })
    this.#debounce(`publish ${text}`, () => void this.#topic.publish(text).catch(() => undefined))
  }

  #receive(text: string): void {
    const message: unknown = JSON.parse(text)
    if (!isObject(message)) return
    const { upstream, method, uri } = message
    if (typeof method !== 'string' || !this.methods.includes(method) || typeof upstream !== 'string') return
    this.#debounce(`receive ${text}`, () => this.#deliver(upstream, method, String(uri)))
  }

  #deliver(upstream: string, method: string, uri: string): void {
    if (!this.#handler.names.includes(upstream)) return
    const notification: Notification = { method, params: method === UPDATED ? { uri } : undefined }
    this.#ofOthers.add(notification)
    this.#handler.notify(upstream, notification)
  }

  /** Runs once after a delay, regardless of further calls. */
  #debounce(key: string, run: () => void): void {
    if (this.#pending.has(key) || this.#pending.size >= MAX_PENDING) return
    const cancel = this.#clock.after(DEBOUNCE_MS, () => {
      this.#pending.delete(key)
      run()
    })
    this.#pending.set(key, cancel)
  }
}
