import type { ServerResponse } from 'node:http'
import type { Answer, Ask, AskReply, Clock, Inbound, JsonObject, Notification, Via } from '../../api/index.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { answerLine, askLine, BLANK_LINE, notificationLine, takenBackLine, type Work } from './wire.ts'

/** Unread bytes from which on what may be missed is left out. */
const MOST_UNREAD = 1024 * 1024
/** Pause between two blank lines, so that the end of a machine is noticed. */
const BEAT_MS = 10_000

/** One request of another process that runs here: it tells and asks its client through that one. */
export class Visit implements Inbound {
  readonly method: string
  readonly params: JsonObject | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly via: Via | undefined
  readonly remoteAddress: string | undefined
  readonly bytes: number
  readonly ask: ((ask: Ask) => Promise<AskReply>) | undefined
  readonly #response: ServerResponse
  readonly #asks = new Map<number, (reply: AskReply) => void>()
  #lastAsk = 0
  #isOver = false
  #stopBeat: () => void = () => undefined

  constructor({ request, canAsk }: Work, response: ServerResponse, clock: Clock) {
    this.method = request.method
    this.params = request.params
    this.headers = request.headers ?? {}
    this.via = request.via
    this.remoteAddress = request.remoteAddress
    this.bytes = request.bytes ?? 0
    this.ask = canAsk ? ask => this.#send(ask) : undefined
    this.#response = response
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    response.flushHeaders()
    this.#beat(clock)
  }

  emit(notification: Notification): void {
    if (this.#response.writableLength <= MOST_UNREAD) this.#write(notificationLine(notification))
  }

  /** Takes the reply of its client to what it was asked. */
  replied(ask: number, reply: AskReply): void {
    this.#asks.get(ask)?.(reply)
    this.#asks.delete(ask)
  }

  finish(answer: Answer): void {
    if (!this.#isOver && !this.#response.destroyed) this.#response.end(answerLine(answer))
    this.end()
  }

  /** Nobody waits for it any more. */
  end(): void {
    this.#isOver = true
    this.#stopBeat()
    for (const reply of this.#asks.values()) reply(OVER)
    this.#asks.clear()
  }

  #send(ask: Ask): Promise<AskReply> {
    if (this.#isOver) return Promise.resolve(OVER)
    const number = ++this.#lastAsk
    return new Promise(resolve => {
      this.#asks.set(number, resolve)
      this.#write(askLine(number, ask.method, ask.params))
      ask.onTakeBack?.(why => {
        if (this.#asks.has(number)) this.#write(takenBackLine(number, why))
      })
    })
  }

  #write(line: string): void {
    if (!this.#isOver && !this.#response.destroyed) this.#response.write(line)
  }

  #beat(clock: Clock): void {
    this.#stopBeat = clock.after(BEAT_MS, () => {
      this.#write(BLANK_LINE)
      this.#beat(clock)
    })
  }
}

const OVER: AskReply = { error: rpcError(RPC.internal, 'the request that asked is over') }
