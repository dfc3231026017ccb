import type { Response } from 'undici'
import { Agent, fetch } from 'undici'
import { createStandardHeaders } from '../protocol/headers.ts'
import type { RpcId } from '../protocol/jsonrpc.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { isObject } from '../protocol/json/json.ts'
import type { Era } from '../protocol/methods.ts'
import { HEADER, LATEST_LEGACY_VERSION, META, MODERN_VERSION } from '../protocol/methods.ts'
import type { ReceivedMessage } from './messages.ts'
import { readMessages } from './messages.ts'
import type { RpcError } from '../protocol/rpc-error.ts'

/**
 * Connects a small client of either era to a gateway or any MCP endpoint.
 *
 * ```ts
 * const client = closeAfter(t, await testClient(gateway, { era: 'legacy' }))
 * const { result, error, notifications } = await client.request('tools/call', { name: 'web__echo', arguments: {} })
 * ```
 */
export async function testClient(
  target: string | { readonly url: string },
  options: TestClientOptions = {},
): Promise<TestClient> {
  const client = new TestClient(typeof target === 'string' ? target : target.url, options)
  if (client.era === 'legacy') await client.initialize()
  return client
}

/** Test client; sent and received messages are accessible. */
export class TestClient implements AsyncDisposable {
  readonly era: Era
  /** A legacy client's `initialize` result. */
  initializeReply: TestReply | undefined
  /** Notifications outside requests, after `listen` was called. */
  readonly notifications: ReceivedMessage[] = []
  readonly #url: string
  readonly #options: TestClientOptions
  readonly #version: string
  // One connection per request, so that none is stale after a server restart.
  readonly #agent = new Agent({ pipelining: 0 })
  readonly #closing = new AbortController()
  #session: string | undefined
  #lastId = 0
  #waiters: { method: string; resolve: (message: ReceivedMessage) => void }[] = []

  constructor(url: string, options: TestClientOptions) {
    this.#url = url
    this.#options = options
    this.era = options.era ?? 'modern'
    this.#version = options.version ?? (this.era === 'modern' ? MODERN_VERSION : LATEST_LEGACY_VERSION)
  }

  async initialize(): Promise<TestReply> {
    const { capabilities = {}, info = INFO } = this.#options
    this.initializeReply = await this.request('initialize', {
      protocolVersion: this.#version,
      capabilities,
      clientInfo: info,
    })
    this.#session = this.initializeReply.headers[HEADER.session]
    await this.notify('notifications/initialized')
    return this.initializeReply
  }

  /**
   * Sends a request and resolves with its answer and notifications. JSON-RPC errors are answers: it rejects only
   * without a response.
   */
  request(method: string, params?: JsonObject, options?: RequestOptions): Promise<TestReply> {
    return this.start(method, params, options).reply
  }

  /** Sends a request without waiting for it. */
  start(method: string, params?: JsonObject, options: RequestOptions = {}): RunningRequest {
    const id = options.id ?? ++this.#lastId
    const controller = new AbortController()
    const sent = this.#withMeta(params)
    const reply = this.#exchange(
      id,
      { jsonrpc: '2.0', id, method, params: sent },
      { ...this.#createHeaders(method, sent), ...options.headers },
      controller.signal,
    )
    const cancel = async (): Promise<void> => {
      if (this.era === 'legacy') await this.notify('notifications/cancelled', { requestId: id })
      else controller.abort()
    }
    return { id, reply, cancel }
  }

  /** Sends a notification. */
  async notify(method: string, params?: JsonObject): Promise<number> {
    const response = await this.#post(
      JSON.stringify({ jsonrpc: '2.0', method, params }),
      this.#createHeaders(method, params),
      this.#closing.signal,
    )
    await response.text()
    return response.status
  }

  /** Sends a raw body, for invalid messages. */
  async sendRaw(body: string | Uint8Array, headers: Readonly<Record<string, string>> = {}): Promise<TestReply> {
    const response = await this.#post(body, { ...this.#createHeaders('', undefined), ...headers }, this.#closing.signal)
    return this.#collect(undefined, response)
  }

  /** Opens the notification stream: GET in the legacy era, `subscriptions/listen` in the modern one. */
  async listen(): Promise<void> {
    const response = this.era === 'legacy' ? await this.#openGetStream() : await this.#listenRequest()
    if (!response.ok) throw new Error(`cannot listen: HTTP ${response.status}`)
    const opened =
      this.era === 'modern' ? this.nextNotification('notifications/subscriptions/acknowledged') : Promise.resolve()
    void this.#readStream(response)
    await opened
  }

  /** Resolves with the next notification with this method, received or future, and removes it. */
  nextNotification(method: string): Promise<ReceivedMessage> {
    const index = this.notifications.findIndex(message => message.method === method)
    const [queued] = index < 0 ? [] : this.notifications.splice(index, 1)
    return queued === undefined
      ? new Promise(resolve => this.#waiters.push({ method, resolve }))
      : Promise.resolve(queued)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#agent.destroy()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #exchange(
    id: RpcId,
    message: unknown,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<TestReply> {
    try {
      return await this.#collect(id, await this.#post(JSON.stringify(message), headers, signal))
    } catch (error) {
      if (!signal.aborted) throw error
      return { id, notifications: [], status: 0, headers: {}, isCancelled: true }
    }
  }

  /** The answer is the first message with a result or an error; earlier messages are its notifications. */
  async #collect(id: RpcId | undefined, response: Response): Promise<TestReply> {
    const notifications: ReceivedMessage[] = []
    const { status } = response
    const headers = Object.fromEntries(response.headers)
    for await (const message of readMessages(response)) {
      if (message.method !== undefined) notifications.push(message)
      else return { ...message, id: message.id, notifications, status, headers, isCancelled: false }
    }
    return { id, notifications, status, headers, isCancelled: true }
  }

  async #readStream(response: Response): Promise<void> {
    try {
      for await (const message of readMessages(response)) this.#deliverNotification(message)
    } catch (error) {
      if (!this.#closing.signal.aborted) throw error
    }
  }

  #deliverNotification(message: ReceivedMessage): void {
    const waiter = this.#waiters.find(({ method }) => method === message.method)
    this.#waiters = this.#waiters.filter(candidate => candidate !== waiter)
    if (waiter === undefined) this.notifications.push(message)
    else waiter.resolve(message)
  }

  #openGetStream(): Promise<Response> {
    const headers = { ...this.#createHeaders('', undefined), accept: 'text/event-stream' }
    return fetch(this.#url, { method: 'GET', headers, dispatcher: this.#agent, signal: this.#closing.signal })
  }

  #listenRequest(): Promise<Response> {
    const notifications = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
    const method = 'subscriptions/listen'
    const params = this.#withMeta({ notifications })
    return this.#post(
      JSON.stringify({ jsonrpc: '2.0', id: `listen-${++this.#lastId}`, method, params }),
      this.#createHeaders(method, params),
      this.#closing.signal,
    )
  }

  #post(body: string | Uint8Array, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    return fetch(this.#url, {
      method: 'POST',
      body,
      headers: removeEmptyHeaders(headers),
      dispatcher: this.#agent,
      signal,
    })
  }

  #withMeta(params: JsonObject | undefined): JsonObject | undefined {
    if (this.era === 'legacy') return params
    const { info = INFO, capabilities = {} } = this.#options
    const own = {
      [META.protocolVersion]: this.#version,
      [META.clientInfo]: info,
      [META.clientCapabilities]: capabilities,
    }
    return { ...params, _meta: { ...own, ...(isObject(params?._meta) ? params._meta : {}) } }
  }

  #createHeaders(method: string, params: JsonObject | undefined): Record<string, string> {
    const own = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...this.#options.headers,
    }
    if (this.era === 'modern') return { ...own, ...createStandardHeaders(method, params, this.#version) }
    return this.#session === undefined
      ? own
      : { ...own, [HEADER.session]: this.#session, [HEADER.version]: this.#version }
  }
}

const INFO = { name: 'test-client', version: '1.0.0' }

function removeEmptyHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''))
}

/** Test client identity. */
export interface TestClientOptions {
  /** Default: `modern`. A legacy client initializes immediately. */
  readonly era?: Era
  /** Protocol version; default: the newest in its era. */
  readonly version?: string
  readonly info?: { readonly name: string; readonly version: string }
  readonly capabilities?: JsonObject
  /** Headers for all requests. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface RequestOptions {
  /** Request id; default: counts from 1. */
  readonly id?: RpcId
  /** Headers for this request; an empty value removes a standard header. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Answer and notifications for one request. */
export interface TestReply {
  readonly id: RpcId | null | undefined
  readonly result?: JsonObject
  readonly error?: RpcError
  /** Notifications received before the answer. */
  readonly notifications: readonly ReceivedMessage[]
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** True if the client cancelled the request, so there is no answer. */
  readonly isCancelled: boolean
}

/** Running request. */
export interface RunningRequest {
  readonly id: RpcId
  readonly reply: Promise<TestReply>
  /** Cancels the request as its era defines. */
  cancel(): Promise<void>
}
