import { isObject, type JsonObject } from '../../../src/plugin.ts'
import { CODES, errorOf, faultFrom, type RpcFault } from './rpc-error.ts'

/** Where lines go. `send` says false when too much waits there. */
export interface LineWriter {
  send(line: string): boolean
  reply(line: string): void
}

/** Who stands behind a connection. */
export interface ConnectionSide {
  /** A request of the peer. `signal` is aborted when the peer takes it back. A thrown error with a `code` is answered with it. */
  request(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject>
  notification(method: string, params: JsonObject): void
  /** The peer is beyond repair. */
  broken(why: string): void
}

type Id = string | number
interface Waiting {
  readonly done: (result: unknown) => void
  readonly failed: (why: RpcFault | Error) => void
}

/** Requests of ours that may wait for an answer. */
const MAX_WAITING = 1024
/** The same for those of the peer. */
const MAX_ASKED = 256
/** Lines in a row that are no message. */
const MAX_JUNK = 1000

/** JSON-RPC 2.0 over lines, both ways, with a bound on everything. Each direction has ids of its own. */
export class Connection {
  readonly #writer: LineWriter
  readonly #side: ConnectionSide
  readonly #waiting = new Map<number, Waiting>()
  readonly #asked = new Map<Id, AbortController>()
  #ended: Error | undefined
  #nextId = 1
  #junkInRow = 0
  #junk = 0

  constructor(writer: LineWriter, side: ConnectionSide) {
    this.#writer = writer
    this.#side = side
  }

  /** Lines so far that were no message. */
  get junk(): number {
    return this.#junk
  }

  /**
   * Resolves with whatever the peer answers. @throws RpcFault with what it answers instead, the error given to `end`,
   * and an Error when there is no room
   */
  request(method: string, params: JsonObject): Promise<unknown> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended)
    if (this.#waiting.size >= MAX_WAITING) return Promise.reject(new Error('too many requests wait for it'))
    const id = this.#nextId++
    if (!this.#writer.send(JSON.stringify({ jsonrpc: '2.0', id, method, params })))
      return Promise.reject(new Error('it does not read what it is sent'))
    return new Promise((done, failed) => this.#waiting.set(id, { done, failed }))
  }

  notify(method: string, params: JsonObject): void {
    if (this.#ended === undefined) this.#writer.reply(JSON.stringify({ jsonrpc: '2.0', method, params }))
  }

  /** Nothing comes any more: what waits fails with this. */
  end(why: Error): void {
    if (this.#ended !== undefined) return
    this.#ended = why
    for (const { failed } of this.#waiting.values()) failed(why)
    for (const asked of this.#asked.values()) asked.abort()
    this.#waiting.clear()
    this.#asked.clear()
  }

  /** One line that the peer wrote. */
  receive(line: Buffer): void {
    if (this.#ended !== undefined || line.length === 0) return
    const message = parsed(line)
    if (message === undefined) return this.#countJunk()
    this.#junkInRow = 0
    const { id, method, params } = message
    if (typeof method !== 'string') return this.#settle(message)
    const given = isObject(params) ? params : {}
    if (isId(id)) void this.#answer(id, method, given)
    else if (method === '$/cancel_request') this.#takeBack(given.requestId)
    else this.#side.notification(method, given)
  }

  #countJunk(): void {
    this.#junk++
    if (++this.#junkInRow > MAX_JUNK) this.#side.broken(`it wrote ${MAX_JUNK} lines that are no message`)
  }

  #settle({ id, result, error }: JsonObject): void {
    const waiting = typeof id === 'number' ? this.#waiting.get(id) : undefined
    if (waiting === undefined) return
    this.#waiting.delete(id as number)
    if (error === undefined) waiting.done(result)
    else waiting.failed(faultFrom(error))
  }

  #takeBack(id: unknown): void {
    if (isId(id)) this.#asked.get(id)?.abort()
  }

  async #answer(id: Id, method: string, params: JsonObject): Promise<void> {
    if (this.#asked.has(id) || this.#asked.size >= MAX_ASKED)
      return this.#reply(id, { error: { code: CODES.internal, message: 'Too many requests at a time' } })
    const asked = new AbortController()
    this.#asked.set(id, asked)
    const takenBack = new Promise<'taken back'>(resolve => {
      asked.signal.addEventListener('abort', () => resolve('taken back'), { once: true })
    })
    const answered = this.#perform(method, params, asked.signal)
    const answer = await Promise.race([answered, takenBack])
    this.#asked.delete(id)
    this.#reply(id, answer === 'taken back' ? CANCELLED : answer)
  }

  async #perform(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    try {
      return { result: await this.#side.request(method, params, signal) }
    } catch (error) {
      return { error: errorOf(error) }
    }
  }

  #reply(id: Id, answer: JsonObject): void {
    if (this.#ended === undefined) this.#writer.reply(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  }
}

const CANCELLED = { error: { code: CODES.cancelled, message: 'Request cancelled' } }

function isId(value: unknown): value is Id {
  return typeof value === 'string' || typeof value === 'number'
}

function parsed(line: Buffer): JsonObject | undefined {
  try {
    const message: unknown = JSON.parse(line.toString('utf8'))
    return isObject(message) ? message : undefined
  } catch {
    return undefined
  }
}
