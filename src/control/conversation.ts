import type { Socket } from 'node:net'
import { GatewayError } from '../errors/errors.ts'
import {
  encodeError,
  encodeNotification,
  encodeResult,
  parseMessage,
  type RpcId,
  type RpcRequest,
} from '../protocol/jsonrpc.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { RPC, rpcError, type RpcError } from '../protocol/rpc-error.ts'
import { LineSplitter } from '../transport/line-splitter.ts'
import { MAX_REQUEST, PROTOCOL, wireError, type ControlHost } from './protocol.ts'

/** Who has not said hello by then is sent away. */
const HELLO_MS = 5000
/** Requests of one owner under way at once. */
const MAX_RUNNING = 16
/** News are left out while this much waits for its reader. */
const MAX_WAITING = 1024 * 1024

/** One owner on the control socket. */
export class Conversation {
  readonly #connection: Socket
  readonly #host: ControlHost
  readonly #running = new Map<RpcId, AbortController>()
  #hasGreeted = false
  #isOver = false
  #missed = 0

  constructor(connection: Socket, host: ControlHost) {
    this.#connection = connection
    this.#host = host
    const lines = new LineSplitter({
      maxLine: MAX_REQUEST,
      onLine: line => this.#line(line),
      onTooLong: () =>
        this.#refuse(rpcError(RPC.invalidRequest, `a request has at most ${MAX_REQUEST} bytes`)),
    })
    const late = setTimeout(() => connection.destroy(), host.helloMs ?? HELLO_MS).unref()
    connection.on('data', chunk => {
      if (!this.#isOver) lines.push(chunk)
      if (this.#hasGreeted) clearTimeout(late)
    })
    connection.on('error', () => connection.destroy())
    connection.on('close', () => {
      clearTimeout(late)
      this.#leave()
    })
  }

  /** Ends what is under way, and says so. */
  end(): void {
    for (const running of this.#running.values()) running.abort()
    this.#isOver = true
    if (this.#running.size === 0) this.#connection.end()
  }

  cut(): void {
    this.#connection.destroy()
  }

  #leave(): void {
    this.#isOver = true
    for (const running of this.#running.values()) running.abort()
  }

  #line(line: Buffer): void {
    if (this.#isOver) return
    const message = parseMessage(line)
    if (message.kind === 'malformed') return this.#refuse(message.error, message.id)
    if (message.kind === 'request') return this.#request(message)
    if (message.kind === 'notification' && message.method === 'cancel')
      this.#running.get(message.params?.id as RpcId)?.abort()
  }

  #request({ id, method, params = {} }: RpcRequest): void {
    if (method === 'hello') return this.#hello(id, params)
    if (!this.#hasGreeted) return this.#refuse(rpcError(RPC.invalidRequest, 'say hello first'), id)
    if (this.#running.has(id) || this.#running.size >= MAX_RUNNING)
      return this.#send(
        encodeError(id, rpcError(RPC.invalidRequest, 'the id is in use, or too many requests')),
      )
    void this.#run(id, method, params)
  }

  #hello(id: RpcId, { protocol }: JsonObject): void {
    if (protocol !== PROTOCOL)
      return this.#refuse(rpcError(RPC.unsupportedVersion, `this gateway speaks version ${PROTOCOL}`), id)
    this.#hasGreeted = true
    this.#send(resultText(id, { ...this.#host.about }))
  }

  async #run(id: RpcId, verb: string, params: JsonObject): Promise<void> {
    const abort = new AbortController()
    this.#running.set(id, abort)
    try {
      const result = await this.#host.control(verb, params, {
        signal: abort.signal,
        onNotification: ({ method, params }) => this.#tell(method, { ...params, id }),
      })
      this.#send(resultText(id, result))
    } catch (thrown) {
      this.#send(encodeError(id, wireError(thrown)))
      this.#log(verb, thrown)
    } finally {
      this.#running.delete(id)
      if (this.#isOver && this.#running.size === 0) this.#connection.end()
    }
  }

  #log(verb: string, thrown: unknown): void {
    if (thrown instanceof GatewayError) return
    this.#host.log.error('a control request failed', { verb, code: 'GW_INTERNAL', cause: thrown })
  }

  /** A slow reader misses news, and is told how many. */
  #tell(method: string, params: JsonObject): void {
    if (this.#connection.writableLength > MAX_WAITING) {
      this.#missed++
      return
    }
    const missed = this.#missed === 0 ? {} : { missed: this.#missed }
    this.#missed = 0
    this.#send(encodeNotification(method, { ...params, ...missed }))
  }

  #refuse(error: RpcError, id: RpcId | null = null): void {
    this.#isOver = true
    this.#connection.end(`${encodeError(id, error)}\n`)
    // Who goes on sending is not listened to, and not waited for.
    this.#connection.resume()
    setTimeout(() => this.#connection.destroy(), 1000).unref()
  }

  #send(text: string): void {
    if (!this.#connection.writable) return
    this.#connection.write(`${text}\n`)
  }
}

function resultText(id: RpcId, result: JsonObject): string {
  return encodeResult(id, Buffer.from(JSON.stringify(result))).toString('utf8')
}
