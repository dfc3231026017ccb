import { isObject, RpcPeer, type JsonObject } from '../../../src/plugin.ts'
import { CODES, errorOf, faultFrom, type RpcFault } from './failures.ts'

/** The way out for lines. `send` says false when too much waits there. */
interface LineWriter {
  send(line: string): boolean
  reply(line: string): void
}

/** The other side of a connection within the gateway. */
interface ConnectionSide {
  /** A request of the peer. `signal` is aborted when the peer cancels it. A thrown error with a `code` is answered with it. */
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

/** Requests that may wait for an answer: ours, and those of the peer. */
const BOUNDS = { sent: 1024, received: 256 }
/** Lines in a row that are no message. */
const MAX_JUNK = 1000

/** JSON-RPC 2.0 over lines, both ways, with a bound on everything. Each direction has ids of its own. */
export class Connection {
  readonly #writer: LineWriter
  readonly #side: ConnectionSide
  readonly #requests = new RpcPeer<Waiting, AbortController>(BOUNDS)
  #ended: Error | undefined
  #junkInRow = 0

  constructor(writer: LineWriter, side: ConnectionSide) {
    this.#writer = writer
    this.#side = side
  }

  /**
   * Resolves with whatever the peer answers. @throws RpcFault with what it answers instead, the error given to `end`,
   * and an Error when there is no room
   */
  request(method: string, params: JsonObject): Promise<unknown> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended)
    return new Promise((done, failed) => {
      const id = this.#requests.nextId()
      if (!this.#requests.send(id, { done, failed }))
        return failed(new Error('too many requests wait for it'))
      if (this.#writer.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))) return
      this.#requests.answered(id)
      failed(new Error('it does not read what it is sent'))
    })
  }

  notify(method: string, params: JsonObject): void {
    if (this.#ended === undefined) this.#writer.reply(JSON.stringify({ jsonrpc: '2.0', method, params }))
  }

  /** Nothing comes any more: what waits fails with this. */
  end(why: Error): void {
    if (this.#ended !== undefined) return
    this.#ended = why
    const { sent, received } = this.#requests.end()
    for (const { failed } of sent) failed(why)
    for (const request of received) request.abort()
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
    else if (method === '$/cancel_request') this.#requests.cancelled(given.requestId)?.abort()
    else this.#side.notification(method, given)
  }

  #countJunk(): void {
    if (++this.#junkInRow > MAX_JUNK) this.#side.broken(`it wrote ${MAX_JUNK} lines that are no message`)
  }

  #settle({ id, result, error }: JsonObject): void {
    const waiting = this.#requests.answered(id)
    if (error === undefined) waiting?.done(result)
    else waiting?.failed(faultFrom(error))
  }

  async #answer(id: Id, method: string, params: JsonObject): Promise<void> {
    const request = new AbortController()
    if (this.#requests.receive(id, request) !== 'taken')
      return this.#reply(id, { error: { code: CODES.internal, message: 'Too many requests at a time' } })
    const cancelled = new Promise<JsonObject>(resolve => {
      request.signal.addEventListener('abort', () => resolve(CANCELLED), { once: true })
    })
    const answer = await Promise.race([this.#perform(method, params, request.signal), cancelled])
    this.#requests.answers(id, request)
    this.#reply(id, answer)
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
