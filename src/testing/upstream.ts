import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonObject } from '../protocol/json/json.ts'
import { ReservedPort, respond } from './upstream-http.ts'
import type { TestUpstreamOptions } from './upstream-offer.ts'
import { Offer } from './upstream-offer.ts'
import type { ReceivedCall } from './upstream-state.ts'
import { TestUpstreamState } from './upstream-state.ts'

export type { TestContext, TestPrompt, TestResource, TestTool } from './upstream-offer.ts'
export type { ReceivedCall } from './upstream-state.ts'

/**
 * Starts a small MCP server on loopback, with real HTTP and both eras, which records received messages.
 *
 * ```ts
 * const tools = { echo: args => ({ content: [{ type: 'text', text: String(args.message) }] }) }
 * const web = closeAfter(t, await testUpstream({ tools }))
 * web.url        // http://127.0.0.1:…/mcp
 * web.calls[0]   // { method: 'tools/call', params: { name: 'echo', … }, headers: { … }, isCancelled: false }
 * ```
 */
export async function testUpstream(options: TestUpstreamOptions = {}): Promise<TestUpstream> {
  const upstream = new TestUpstream(options)
  await upstream.start()
  return upstream
}

/** Running MCP server for tests. */
export class TestUpstream implements AsyncDisposable {
  /** Upstream features; change them and call `notify` to test change propagation. */
  readonly offer: Offer
  readonly #state: TestUpstreamState
  #server: Server | undefined
  /** Reserves the port while stopped, so that no other program answers. */
  #reserved: ReservedPort | undefined
  #port: number

  constructor(options: TestUpstreamOptions) {
    this.offer = new Offer(options)
    this.#state = new TestUpstreamState()
    this.#port = options.port ?? 0
  }

  /** MCP endpoint. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}/mcp`
  }

  /** Received requests and notifications in order, with parameters and headers. */
  get calls(): readonly ReceivedCall[] {
    return this.#state.calls
  }

  /** Lists the received messages with a method. */
  listCalls(method: string): readonly ReceivedCall[] {
    return this.#state.calls.filter(call => call.method === method)
  }

  /** Resolves with the first matching call, past or future. */
  waitForCall(method: string, fits: (call: ReceivedCall) => boolean = () => true): Promise<ReceivedCall> {
    return this.#state.waitForCall(method, fits)
  }

  /** Sends a notification on every open stream that accepts it; returns the stream count. */
  notify(method: string, params?: JsonObject): number {
    return this.#state.notify(method, params)
  }

  /** Resolves when a client has opened a notification stream. */
  waitForListener(): Promise<void> {
    return this.#state.waitForListener()
  }

  async start(): Promise<void> {
    if (this.#server !== undefined) return
    await this.#free()
    const server = createServer((request, response) => void respond(request, response, this.offer, this.#state))
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(this.#port, '127.0.0.1', resolve)
    })
    this.#port = (server.address() as AddressInfo).port
    this.#server = server
  }

  /** Stops immediately and closes all connections and sessions. The port stays reserved until disposal. */
  async stop(): Promise<void> {
    if (this.#server === undefined) return
    await this.#close()
    this.#reserved = await ReservedPort.reserve(this.#port)
  }

  async #free(): Promise<void> {
    const reserved = this.#reserved
    this.#reserved = undefined
    await reserved?.release()
  }

  async #close(): Promise<void> {
    const server = this.#server
    if (server === undefined) return
    this.#server = undefined
    this.#state.forgetSessions()
    const closed = new Promise<void>(resolve => server.close(() => resolve()))
    server.closeAllConnections()
    await closed
  }

  /** Restarts on the same port like a new process: sessions are lost. */
  async restart(): Promise<void> {
    await this.#close()
    await this.start()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
    await this.#free()
  }
}
