import type { Clock, SharedStore } from '../../src/plugin.ts'
import { CountedTopic, isObject } from '../../src/plugin.ts'

const TOPIC = 'outdated'
const RETRY_MS = 1000
/** Maximum unsent purges; beyond it, everything is purged. */
const MAX_OWED = 200

/** A purge: the owner's selection, or a tool rule's text. */
export type OutdatedAnswers =
  | { readonly params: Readonly<Record<string, unknown>> }
  | { readonly purge: string; readonly upstream?: string | undefined }

const ALL: OutdatedAnswers = { params: { all: true } }

/** Exchanges purges with other replicas. A replica that may have missed one purges everything. */
export class PeerCaches {
  readonly #topic: CountedTopic
  readonly #clock: Clock
  readonly #pending = new Set<string>()
  #sending: Promise<void> | undefined
  #cancelRetry: () => void = () => undefined

  constructor(store: SharedStore, clock: Clock, receive: (outdated: OutdatedAnswers) => void) {
    this.#clock = clock
    this.#topic = new CountedTopic({
      ...{ store, clock, topic: TOPIC },
      onMessage: text => parsePieces(text).forEach(receive),
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

  /** Broadcasts a purge and retries until it is delivered. Rejects if the first attempt fails. */
  broadcast(outdated: OutdatedAnswers): Promise<void> {
    if (this.#pending.size < MAX_OWED) this.#pending.add(JSON.stringify(outdated))
    else this.#pending.clear()
    if (this.#pending.size === 0) this.#pending.add(JSON.stringify(ALL))
    return this.#sendPending()
  }

  #sendPending(): Promise<void> {
    return (this.#sending ??= this.#send().finally(() => (this.#sending = undefined)))
  }

  /** Sends all pending purges in one message. */
  async #send(): Promise<void> {
    this.#cancelRetry()
    while (this.#pending.size > 0) {
      const pieces = [...this.#pending]
      this.#pending.clear()
      try {
        await this.#topic.publish(`[${pieces.join(',')}]`)
      } catch (error) {
        for (const piece of pieces) this.#pending.add(piece)
        this.#cancelRetry = this.#clock.after(RETRY_MS, () => void this.#sendPending().catch(() => undefined))
        throw error
      }
    }
  }
}

function parsePieces(text: string): OutdatedAnswers[] {
  const pieces: unknown = JSON.parse(text)
  if (!Array.isArray(pieces)) return []
  return pieces.filter(
    (piece): piece is OutdatedAnswers => isObject(piece) && (isObject(piece.params) || typeof piece.purge === 'string'),
  )
}
