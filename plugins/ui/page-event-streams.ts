import type { Clock } from '../../src/plugin.ts'
import { TextStream } from '../../src/plugin.ts'
import type { PageUser } from './page-access.ts'
import type { HideSecrets } from './api.ts'
import { safeJson } from './api.ts'
import type { CallRow, Event } from './types.ts'

const MAX_STREAMS = 64
/** Maximum streams per caller. */
const MAX_STREAMS_PER_CALLER = 16
const HEARTBEAT_MS = 15_000
/** Interval between call events. */
const CALL_EVENT_INTERVAL_MS = 1000

interface PageStream {
  readonly share: string
  /** Events dropped because the reader is slow. */
  missed: number
  stopHeartbeat: () => void
}

/** Event streams to open pages. */
export class PageStreams {
  readonly #clock: Clock
  readonly #hide: HideSecrets
  readonly #open = new Map<TextStream, PageStream>()
  #newest: CallRow | undefined
  #count = 0
  #isThrottled = false

  constructor(clock: Clock, hide: HideSecrets) {
    this.#clock = clock
    this.#hide = hide
  }

  /** Opens a stream; undefined if the limit is reached. */
  openStream(reader: PageUser): TextStream | undefined {
    const own = [...this.#open.values()].filter(({ share }) => share === reader.share)
    if (this.#open.size >= MAX_STREAMS || own.length >= MAX_STREAMS_PER_CALLER) return undefined
    const stream = new TextStream()
    // Browsers reconnect after two seconds.
    stream.append('retry: 2000\n\n')
    this.#open.set(stream, { share: reader.share, missed: 0, stopHeartbeat: () => undefined })
    this.#scheduleHeartbeat(stream, reader)
    return stream
  }

  publish(event: Event): void {
    if (this.#open.size === 0) return
    const text = this.#format(event)
    for (const [stream, state] of this.#open) {
      if (!stream.hasCapacity) state.missed++
      else stream.append(state.missed === 0 ? text : this.#format({ type: 'missed', count: state.missed }) + text)
      if (stream.hasCapacity) state.missed = 0
    }
  }

  /** Emits a call event; at most one per second, with the call count. */
  emitCall(call: CallRow): void {
    if (this.#open.size === 0) return
    this.#newest = call
    this.#count++
    if (!this.#isThrottled) this.#emitCalls()
  }

  #emitCalls(): void {
    const [call, count] = [this.#newest, this.#count]
    if (call === undefined) return
    this.#newest = undefined
    this.#count = 0
    this.#isThrottled = true
    this.publish({ type: 'call', call, count })
    this.#clock.after(CALL_EVENT_INTERVAL_MS, () => {
      this.#isThrottled = false
      this.#emitCalls()
    })
  }

  close(stream: TextStream): void {
    this.#open.get(stream)?.stopHeartbeat()
    this.#open.delete(stream)
    stream.end('')
  }

  closeAll(): void {
    for (const stream of [...this.#open.keys()]) this.close(stream)
  }

  #format(event: Event): string {
    return `data: ${safeJson(event, this.#hide)}\n\n`
  }

  /** Keeps the stream alive, and ends it when the user loses access. */
  #scheduleHeartbeat(stream: TextStream, reader: PageUser): void {
    const state = this.#open.get(stream)
    if (state === undefined) return
    state.stopHeartbeat = this.#clock.after(HEARTBEAT_MS, () => {
      void reader
        .isAllowed()
        .catch(() => false)
        .then(isAllowed => {
          if (!isAllowed) return this.close(stream)
          stream.append(':\n\n')
          this.#scheduleHeartbeat(stream, reader)
        })
    })
  }
}
