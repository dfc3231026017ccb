import type { Carrier, ReplyHandler, ReplyHeaders } from '../../http-client/port.ts'
import { LineSplitter } from '../../transport/line-splitter.ts'
import { CarriedRequest } from '../http/hand-on/carried-request.ts'
import { isFromProcess } from '../http/hand-on/handed-headers.ts'
import { type Line, readLine } from './wire.ts'

const OK = 200
const MISDIRECTED = 421

/** End of what another process says: without an answer, where that was not heard before. */
export type Outcome =
  | { readonly kind: 'misdirected' }
  | { readonly kind: 'refused' }
  | { readonly kind: 'failed'; readonly error: Error; readonly wasSent: boolean }

interface LineEars {
  line(line: Line): void
  over(outcome: Outcome): void
}

/** Reads line by line what another process says of a request. */
export class LineReader implements ReplyHandler {
  readonly #ears: LineEars
  readonly #splitter: LineSplitter
  readonly #request = new CarriedRequest(this)
  #broken: Error | undefined
  #status = 0
  #isFromProcess = false
  #isOver = false

  constructor(ears: LineEars) {
    this.#ears = ears
    this.#splitter = new LineSplitter({
      // Its writer is one of us, and bounds it.
      maxLine: Number.MAX_SAFE_INTEGER,
      onLine: line => this.#take(line),
      onTooLong: () => undefined,
    })
  }

  /** Waits for nothing more: the other end hears that nobody does. */
  giveUp(why: Error): void {
    if (!this.#isOver) this.#request.giveUp(why)
  }

  onSend(carrier: Carrier): void {
    this.#request.sendBy(carrier)
  }

  onLines(lines: readonly string[]): void {
    this.#isFromProcess = isFromProcess(lines)
  }

  onHead(status: number, _headers: ReplyHeaders): void {
    this.#status = status
  }

  onBody(bytes: Buffer): void {
    // Others read into the same place next.
    if (this.#status === OK) this.#splitter.push(Buffer.from(bytes))
    if (this.#broken !== undefined) this.giveUp(this.#broken)
  }

  onEnd(): void {
    if (this.#status === OK) this.#splitter.end()
    if (this.#status === OK) return this.#end({ kind: 'failed', error: ended(), wasSent: true })
    const isMisdirected = this.#status === MISDIRECTED && this.#isFromProcess
    this.#end({ kind: isMisdirected ? 'misdirected' : 'refused' })
  }

  onError(error: Error): void {
    this.#end({ kind: 'failed', error, wasSent: this.#request.wasSent })
  }

  #end(outcome: Outcome): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#ears.over(outcome)
  }

  #take(line: Buffer): void {
    if (this.#broken !== undefined) return
    let read: Line | undefined
    try {
      read = readLine(line)
    } catch (thrown) {
      this.#broken = thrown as Error
      return
    }
    if (read !== undefined) this.#ears.line(read)
  }
}

function ended(): Error {
  return new Error('the other process has said no answer')
}
