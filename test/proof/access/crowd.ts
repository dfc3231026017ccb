import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createGateway, createLog } from '../../../src/index.ts'
import { type Era, LATEST_LEGACY_VERSION, MODERN_VERSION } from '../../../src/protocol/versions.ts'
import { type JsonObject, isObject } from '../../../src/protocol/json/json.ts'

const SERVER = fileURLToPath(new URL('../../unit/fixtures/token-server.mjs', import.meta.url))
const CAPABILITIES = { elicitation: { form: {} }, sampling: {} }
const META = 'io.modelcontextprotocol/'
/** The retry of call 7 has the id 1007. */
const RETRY = 1000

/** The times each thing came, and how often to the wrong client or call. */
export interface Tally {
  readonly answers: number
  readonly asks: number
  readonly progress: number
  readonly logs: number
}

export interface CrowdResult {
  readonly heard: Tally
  readonly mismatched: Tally
  /** The first answers that were not what they should be. */
  readonly failures: readonly string[]
  readonly ms: number
}

/** `clients` × `calls` side by side, with equal ids, over one process that asks each of them back. */
export async function crowd(
  clients: number,
  calls: number,
  warn: (line: string) => void,
): Promise<CrowdResult> {
  const gateway = await createGateway(
    {
      version: 1,
      shutdown: { grace: 100 },
      listeners: { main: { type: 'http', port: 0, ws: { path: '/ws' } } },
      upstreams: {
        it: {
          type: 'stdio',
          command: process.execPath,
          args: [SERVER],
          era: 'legacy',
          timeout: '120s',
          // All of them come at once, and none is to be sent away.
          limits: { concurrency: clients * calls },
        },
      },
    },
    { log: createLog({ level: 'warn', format: 'json', write: warn }) },
  )
  await gateway.start()
  await gateway.settled()
  const url = new URL('/ws', gateway.listeners[0]?.url)
  url.protocol = 'ws:'
  const count = new Count()
  try {
    const crowd = Array.from(
      { length: clients },
      (_, n) => new Client(`c${n}`, n % 2 === 0 ? 'legacy' : 'modern', url, count),
    )
    await Promise.all(crowd.map(client => client.open()))
    const start = performance.now()
    await Promise.all(crowd.map(client => client.callAll(calls)))
    const ms = performance.now() - start
    for (const client of crowd) client.close()
    return { heard: count.heard, mismatched: count.mismatched, failures: count.failures, ms }
  } finally {
    await gateway.close()
  }
}

class Count {
  readonly heard = { answers: 0, asks: 0, progress: 0, logs: 0 }
  readonly mismatched = { answers: 0, asks: 0, progress: 0, logs: 0 }
  readonly failures: string[] = []

  note(what: keyof Tally, isRight: boolean, message: JsonObject): void {
    this.heard[what]++
    if (isRight) return
    this.mismatched[what]++
    if (this.failures.length < 5) this.failures.push(JSON.stringify(message))
  }
}

/** A client with one WebSocket, whose calls have the ids 1, 2, 3 … as those of all others. */
class Client {
  readonly #name: string
  readonly #era: Era
  readonly #count: Count
  readonly #socket: WebSocket
  readonly #answered = new Map<number, (message: JsonObject) => void>()

  constructor(name: string, era: Era, url: URL, count: Count) {
    this.#name = name
    this.#era = era
    this.#count = count
    this.#socket = new WebSocket(url, 'mcp')
    this.#socket.onmessage = ({ data }) => this.#heard(JSON.parse(String(data)) as JsonObject)
  }

  async open(): Promise<void> {
    await once(this.#socket, 'open')
    if (this.#era === 'modern') return
    const clientInfo = { name: this.#name, version: '1' }
    await this.#request(0, 'initialize', {
      protocolVersion: LATEST_LEGACY_VERSION,
      capabilities: CAPABILITIES,
      clientInfo,
    })
    this.#send({ method: 'notifications/initialized' })
  }

  async callAll(calls: number): Promise<void> {
    await Promise.all(Array.from({ length: calls }, (_, index) => this.#call(index + 1)))
  }

  close(): void {
    this.#socket.close()
  }

  async #call(id: number): Promise<void> {
    const params = { name: id % 2 === 0 ? 'it__elicit' : 'it__sample', arguments: { token: this.#token(id) } }
    let message = await this.#request(id, 'tools/call', this.#withMeta(params, id))
    const { inputRequests, requestState } = isObject(message.result) ? message.result : {}
    if (isObject(inputRequests)) {
      const replies = Object.entries(inputRequests).map(([key, ask]) => [
        key,
        this.#reply(ask as JsonObject, id),
      ])
      const retry = { ...params, requestState, inputResponses: Object.fromEntries(replies) as JsonObject }
      message = await this.#request(RETRY + id, 'tools/call', this.#withMeta(retry, RETRY + id))
    }
    const isRight = JSON.stringify(message).includes(`"${this.#token(id)} ${this.#token(id)}"`)
    this.#count.note('answers', isRight, message)
  }

  #request(id: number, method: string, params: JsonObject): Promise<JsonObject> {
    this.#send({ id, method, params })
    return new Promise(resolve => this.#answered.set(id, resolve))
  }

  #heard(message: JsonObject): void {
    const { id, method, params } = message
    if (method === undefined) this.#answered.get(id as number)?.(message)
    else if (id !== undefined) this.#send({ id, result: this.#reply(message) })
    else if (isObject(params)) this.#told(String(method), params, message)
  }

  #told(method: string, { progressToken, message, data }: JsonObject, whole: JsonObject): void {
    if (method === 'notifications/progress')
      this.#count.note('progress', message === this.#token(Number(progressToken) % RETRY), whole)
    if (method === 'notifications/message') this.#count.note('logs', this.#isOwn(data), whole)
  }

  /** All that is asked carries the token of its call; of an input request it is known which call that must be. */
  #reply({ method, params }: JsonObject, id?: number): JsonObject {
    const { message, messages } = params as { message?: string; messages?: { content: { text: string } }[] }
    const token = message ?? messages?.[0]?.content.text ?? ''
    const isRight = id === undefined ? this.#isOwn(token) : token === this.#token(id)
    this.#count.note('asks', isRight, { token, of: this.#name, id })
    if (method === 'elicitation/create') return { action: 'accept', content: { token } }
    return { role: 'assistant', model: 'm', content: { type: 'text', text: token } }
  }

  #token(id: number): string {
    return `${this.#name}-${id}`
  }

  #isOwn(token: unknown): boolean {
    return String(token).startsWith(`${this.#name}-`)
  }

  #withMeta(params: JsonObject, progressToken: number): JsonObject {
    if (this.#era === 'legacy') return { ...params, _meta: { progressToken } }
    const envelope = {
      [`${META}protocolVersion`]: MODERN_VERSION,
      [`${META}clientCapabilities`]: CAPABILITIES,
      [`${META}clientInfo`]: { name: this.#name, version: '1' },
      [`${META}logLevel`]: 'debug',
    }
    return { ...params, _meta: { progressToken, ...envelope } }
  }

  #send(message: object): void {
    this.#socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }))
  }
}
