import { connect, type Socket } from 'node:net'
import { gatewayError, reasonOf } from '../errors/errors.ts'
import type { RequestOptions } from '../api/gateway.ts'
import {
  encodeNotification,
  encodeRequest,
  parseMessage,
  type Message,
  type RpcNotification,
  type RpcResponse,
} from '../protocol/jsonrpc.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { LineSplitter } from '../transport/line-splitter.ts'
import { guardDirectory, isOwnSocket, unusable } from './guard.ts'
import { MAX_ANSWER, PROTOCOL, readError, type About } from './protocol.ts'

/** How long a gateway may take to greet. */
const HELLO_MS = 5000

interface Waiting {
  readonly resolve: (result: JsonObject) => void
  readonly reject: (error: Error) => void
  readonly onNotification: RequestOptions['onNotification']
}

/**
 * Connects to the control socket of a running gateway.
 * @throws GatewayError GW_CONTROL when the socket is not ours, or nobody answers.
 */
export async function connectControl(socket: string): Promise<ControlClient> {
  if (process.platform !== 'win32') {
    await guardDirectory(socket, false)
    if (!(await isOwnSocket(socket))) throw unusable(socket, 'there is none')
  }
  const connection = connect(socket)
  await new Promise<void>((resolve, reject) => {
    connection.once('connect', resolve)
    connection.once('error', cause => reject(unusable(socket, reasonOf(cause), cause)))
  })
  return ControlClient.greet(socket, connection)
}

/** A conversation with a running gateway. */
export class ControlClient {
  readonly socket: string
  /** What the gateway said of itself. */
  about: About
  readonly #connection: Socket
  readonly #waiting = new Map<number, Waiting>()
  #lastId = 0
  #end: Error | undefined

  private constructor(socket: string, connection: Socket) {
    this.socket = socket
    this.about = { protocol: PROTOCOL, name: '', version: '', pid: 0 }
    this.#connection = connection
    const lines = new LineSplitter({
      maxLine: MAX_ANSWER,
      onLine: line => this.#heard(parseMessage(line)),
      onTooLong: () => this.#lost('an answer is too long'),
    })
    connection.on('data', chunk => lines.push(chunk))
    connection.on('error', cause => this.#lost(reasonOf(cause)))
    connection.on('close', () => this.#lost('the gateway closed the connection'))
  }

  static async greet(socket: string, connection: Socket): Promise<ControlClient> {
    const client = new ControlClient(socket, connection)
    const late = setTimeout(() => client.#lost('it does not answer'), HELLO_MS)
    try {
      client.about = (await client.request('hello', { protocol: PROTOCOL })) as unknown as About
    } finally {
      clearTimeout(late)
    }
    return client
  }

  /** Asks for one verb. A `signal` that aborts ends a verb which lasts. */
  request(verb: string, params: JsonObject = {}, options: RequestOptions = {}): Promise<JsonObject> {
    const { onNotification, signal } = options
    const id = ++this.#lastId
    const answer = new Promise<JsonObject>((resolve, reject) => {
      if (this.#end !== undefined) return reject(this.#end)
      this.#waiting.set(id, { resolve, reject, onNotification })
      this.#connection.write(`${encodeRequest(id, verb, params)}\n`)
    })
    const abort = (): void => void this.#connection.write(`${encodeNotification('cancel', { id })}\n`)
    signal?.addEventListener('abort', abort, { once: true })
    return answer.finally(() => signal?.removeEventListener('abort', abort))
  }

  close(): void {
    this.#connection.end()
    this.#lost('the connection was closed')
  }

  #heard(message: Message): void {
    if (message.kind === 'notification') this.#news(message)
    if (message.kind === 'response') this.#answer(message)
  }

  #news({ method, params }: RpcNotification): void {
    const { id, ...rest } = params ?? {}
    this.#waiting.get(Number(id))?.onNotification?.({ method, params: rest })
  }

  #answer({ id, result, error }: RpcResponse): void {
    // An error for nobody is the gateway's last word.
    if (id === null) return this.#lost(error?.message ?? 'it answers nobody')
    const waiting = this.#waiting.get(Number(id))
    this.#waiting.delete(Number(id))
    if (error !== undefined) waiting?.reject(readError(error, this.socket))
    else waiting?.resolve(result?.value() ?? {})
  }

  #lost(why: string): void {
    this.#end ??= gatewayError('GW_CONTROL', { socket: this.socket, why })
    for (const { reject } of this.#waiting.values()) reject(this.#end)
    this.#waiting.clear()
    this.#connection.destroySoon()
  }
}
