import type { Clock, SharedStore } from '../../src/plugin.ts'
import { CountedTopic, isObject } from '../../src/plugin.ts'

const TOPIC = 'outdated'
const RETRY_MS = 1000

/** A purge: the owner's selection, or a tool rule's text. */
export type OutdatedAnswers =
  | { readonly params: Readonly<Record<string, unknown>> }
  | { readonly purge: string; readonly upstream?: string | undefined }

const ALL: OutdatedAnswers = { params: { all: true } }

/** Exchanges purges with other replicas. A replica that may have missed one purges everything. */
export class PeerCaches {
  readonly #topic: CountedTopic
  readonly #clock: Clock
  #cancelRetry: () => void = () => undefined

  constructor(store: SharedStore, clock: Clock, receive: (outdated: OutdatedAnswers) => void) {
    this.#clock = clock
    this.#topic = new CountedTopic({
      ...{ store, clock, topic: TOPIC },
      onMessage: text => {
        const outdated = parseOutdated(text)
        if (outdated !== undefined) receive(outdated)
      },
      onGap: gap => {
        if (gap !== 'first') receive(ALL)
      },
    })
  }

  start(): void {
    this.#topic.start()
  }

  stop(): void {
    this.#cancelRetry()
    this.#topic.stop()
  }

  /** Broadcasts a purge. Rejects if that fails; everything is then purged once the store is back. */
  async broadcast(outdated: OutdatedAnswers): Promise<void> {
    try {
      await this.#topic.publish(JSON.stringify(outdated))
    } catch (error) {
      this.#retryLater()
      throw error
    }
  }

  #retryLater(): void {
    this.#cancelRetry()
    this.#cancelRetry = this.#clock.after(RETRY_MS, () => void this.broadcast(ALL).catch(() => undefined))
  }
}

function parseOutdated(text: string): OutdatedAnswers | undefined {
  const value: unknown = JSON.parse(text)
  const isWhole = isObject(value) && (isObject(value.params) || typeof value.purge === 'string')
  return isWhole ? (value as unknown as OutdatedAnswers) : undefined
}
