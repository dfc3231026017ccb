import { randomUUID } from 'node:crypto'
import { PassThrough } from 'node:stream'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import type { ClientConnection, ConnectOptions, RequestOptions } from '../api/gateway.ts'
import { RpcFailure } from '../api/gateway.ts'
import type { Answer, ClientDescription, Gate, Principal } from '../api/index.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import type { Payload } from '../protocol/payload.ts'
import { MODERN_VERSION } from '../protocol/methods.ts'
import { getPayload } from './client/client-protocol.ts'
import { LineSplitter } from '../util/messages.ts'
import { LineChannel } from './stdio/stdio-listener.ts'
import type { DuplexDeps } from './duplex/duplex-connection.ts'
import { DuplexConnection } from './duplex/duplex-connection.ts'

/** Large, as lines come from this process. */
const MAX_LINE = 64 * 1024 * 1024

/** Opens a modern in-process session on the normal pipeline. */
export async function connect(
  gate: Gate,
  principal: Principal,
  { client = gate.info }: ConnectOptions,
): Promise<ClientConnection> {
  const description: ClientDescription = {
    info: client,
    capabilities: {},
    version: MODERN_VERSION,
    era: 'modern',
    logLevel: undefined,
  }
  const session = await gate.openSession({
    id: randomUUID(),
    listener: 'in-process',
    principal,
    client: description,
    notify: () => false,
  })

  async function raw(method: string, params?: JsonObject, options: RequestOptions = {}): Promise<Payload> {
    const { answer, cancel } = gate.run(session, {
      method,
      params,
      emit: notification => options.onNotification?.(notification),
    })
    const abort = (): void => cancel('aborted')
    options.signal?.addEventListener('abort', abort, { once: true })
    if (options.signal?.aborted === true) abort()
    try {
      return payloadOrThrow(await answer)
    } finally {
      options.signal?.removeEventListener('abort', abort)
    }
  }

  return {
    raw,
    request: async (method, params, options) => (await raw(method, params, options)).value(),
    close: () => gate.closeSession(session, 'closed'),
  }
}

function payloadOrThrow(answer: Answer): Payload {
  if ('error' in answer) throw new RpcFailure(answer.error)
  return getPayload(answer)
}

/** In-process transport for an MCP SDK `Client` of either era. */
export class InProcessTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void
  onclose?: () => void
  onerror?: (error: Error) => void
  readonly #context: DuplexDeps
  readonly #input = new PassThrough()
  #pipe: DuplexConnection | undefined

  constructor(context: DuplexDeps) {
    this.#context = context
  }

  async start(): Promise<void> {
    const output = new PassThrough()
    const lines = new LineSplitter({
      maxLine: MAX_LINE,
      onLine: line => this.onmessage?.(JSON.parse(line.toString('utf8')) as JSONRPCMessage),
      onTooLong: () => this.onerror?.(new Error('message too long')),
    })
    output.on('data', (chunk: Buffer) => lines.push(chunk))
    this.#pipe = new DuplexConnection({
      channel: new LineChannel(this.#input, output),
      context: this.#context,
      via: 'in-process',
      graceMs: 0,
    })
    this.#pipe.start()
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#input.write(`${JSON.stringify(message)}\n`)
  }

  async close(): Promise<void> {
    this.#input.end()
    await this.#pipe?.end('closed', 0)
    this.onclose?.()
  }
}
