import type { ServerResponse } from 'node:http'
import type { RpcId } from '../protocol/jsonrpc.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { META } from '../protocol/methods.ts'

/** Message received by a test upstream. */
export interface ReceivedCall {
  readonly method: string
  readonly params: JsonObject | undefined
  /** Undefined for notifications. */
  readonly id: RpcId | undefined
  /** HTTP headers, lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** True if the caller cancelled: by notification (legacy) or by closing the stream (modern). */
  readonly isCancelled: boolean
  /** Aborted on cancellation. */
  readonly signal: AbortSignal
  /** Resolves on cancellation. */
  waitForCancel(): Promise<void>
}

/** Received call that can be cancelled. */
export class CancellableCall implements ReceivedCall {
  readonly method: string
  readonly params: JsonObject | undefined
  readonly id: RpcId | undefined
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly #controller = new AbortController()

  constructor(
    message: { method: string; params?: JsonObject; id?: RpcId },
    headers: Readonly<Record<string, string | undefined>>,
  ) {
    this.method = message.method
    this.params = message.params
    this.id = message.id
    this.headers = headers
  }

  get isCancelled(): boolean {
    return this.#controller.signal.aborted
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  cancel(): void {
    this.#controller.abort()
  }

  waitForCancel(): Promise<void> {
    if (this.isCancelled) return Promise.resolve()
    return new Promise(resolve => this.signal.addEventListener('abort', () => resolve(), { once: true }))
  }
}

/** Stream for notifications outside requests: a legacy GET, or a modern listen with id and filter. */
interface NotificationStream {
  readonly response: ServerResponse
  readonly listenId?: RpcId
  readonly carries: (method: string) => boolean
}

interface CallWaiter {
  readonly method: string
  readonly fits: (call: ReceivedCall) => boolean
  readonly resolve: (call: ReceivedCall) => void
}

/** Test upstream runtime state. */
export class TestUpstreamState {
  readonly calls: CancellableCall[] = []
  readonly #sessions = new Set<string>()
  readonly #streams = new Set<NotificationStream>()
  #waiters: CallWaiter[] = []
  #listeners: (() => void)[] = []

  record(call: CancellableCall): void {
    this.calls.push(call)
    if (call.method === 'notifications/cancelled') this.#cancel(call)
    const met = this.#waiters.filter(({ method, fits }) => method === call.method && fits(call))
    this.#waiters = this.#waiters.filter(waiter => !met.includes(waiter))
    for (const { resolve } of met) resolve(call)
  }

  waitForCall(method: string, fits: (call: ReceivedCall) => boolean): Promise<ReceivedCall> {
    const past = this.calls.find(call => call.method === method && fits(call))
    if (past !== undefined) return Promise.resolve(past)
    return new Promise(resolve => this.#waiters.push({ method, fits, resolve }))
  }

  addSession(id: string): void {
    this.#sessions.add(id)
  }

  hasSession(id: string | undefined): boolean {
    return id !== undefined && this.#sessions.has(id)
  }

  closeSession(id: string): void {
    this.#sessions.delete(id)
  }

  forgetSessions(): void {
    this.#sessions.clear()
    this.#streams.clear()
  }

  addStream(stream: NotificationStream): void {
    this.#streams.add(stream)
    stream.response.once('close', () => this.#streams.delete(stream))
    for (const resolve of this.#listeners.splice(0)) resolve()
  }

  waitForListener(): Promise<void> {
    return this.#streams.size > 0 ? Promise.resolve() : new Promise(resolve => this.#listeners.push(resolve))
  }

  notify(method: string, params: JsonObject | undefined): number {
    const carriers = [...this.#streams].filter(({ carries }) => carries(method))
    for (const { response, listenId } of carriers) {
      const stamped = listenId === undefined ? params : { ...params, _meta: { [META.subscriptionId]: listenId } }
      writeEvent(response, { jsonrpc: '2.0', method, params: stamped })
    }
    return carriers.length
  }

  /** Clients choose the ids, so cancel the newest call with this id. */
  #cancel({ params, headers }: CancellableCall): void {
    const session = headers['mcp-session-id']
    this.calls
      .findLast(
        call => call.id !== undefined && call.id === params?.requestId && call.headers['mcp-session-id'] === session,
      )
      ?.cancel()
  }
}

/** Writes one message as a server-sent event. */
export function writeEvent(response: ServerResponse, message: unknown): void {
  response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
}
