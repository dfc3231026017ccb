import type {
  Ask,
  Call,
  Clock,
  ListedRoots,
  Log,
  Notification,
  ServerDescription,
  Session,
  UpstreamConfig,
  UpstreamContext,
} from '../api/index.ts'
import type { Reason } from '../errors/errors.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import type { RpcId, RpcResponse } from '../protocol/jsonrpc.ts'
import type { DroppedMessages } from '../net/unexpected-messages.ts'
import { gatewayError } from '../errors/errors.ts'
import { encodeRequest } from '../protocol/jsonrpc.ts'
import type { EncodedMessage } from '../util/messages.ts'
import { getByteLength } from '../util/messages.ts'

/** Carries a connection's messages: through process pipes, or POSTs to a server. */
export interface Transport {
  readonly pid: number | undefined
  /** True if each request has its own stream (HTTP); false for a shared pipe. */
  readonly streams: boolean
  /** Session id from the server. */
  readonly session?: string | undefined
  /** Last stderr lines from the server, for error details. */
  readonly lastStderr?: string | undefined
  /** Sends a request; throws a GatewayError if it cannot be queued. */
  request(pending: PendingRequest, params: JsonObject | undefined): void
  /** Sends a notification or a response; resolves when it is sent or lost, never rejects. */
  send(text: string): Promise<void>
  /** Abandons a request. Returns true if the server never received it. */
  abandon(pending: PendingRequest): boolean
  opened(server: ServerDescription): void
  /** Opens the stream for notifications outside requests. */
  listen(): void
  /** Accepts no more requests; resolves after the last one. */
  retire(): Promise<void>
  close(): Promise<void>
}

/** Both ends of a message that exceeded a configured limit. */
export interface SkippedMessage {
  readonly head: Buffer
  readonly tail: Buffer
  readonly limit: number
  readonly key: string
}

/** Transport events, for its connection. */
export interface TransportEvents {
  /** One message, whose buffer the connection now owns, and its stream's request, if known. */
  received(bytes: Buffer, of: PendingRequest | undefined): void
  /** A message was too long; the next one is readable. */
  skipped?(message: SkippedMessage): void
  /** One request failed; the others continue. */
  failed(pending: PendingRequest, error: Error): void
  /** The stream for messages outside requests was interrupted; messages may be lost. */
  reopened(): void
  closed(reason: Reason): void
}

/** Transport events before the server's transport type is known. */
export interface ConnectionEvents extends TransportEvents {
  /** Replaces the connection's transport. */
  attachTransport(transport: Transport): void
}

/** A request that stays open and receives notifications. */
export interface Subscription {
  readonly response: Promise<RpcResponse>
  end(): void
}

/** A pending request to the server. */
export class PendingRequest {
  readonly id: RpcId
  readonly method: string
  /** The client's call; undefined for gateway requests. */
  readonly call: Call | undefined
  readonly resolve: (response: RpcResponse) => void
  readonly reject: (error: Error) => void
  open = true
  /** Stops watching for cancellation by the client. */
  stopWatching: (() => void) | undefined = undefined
  /** The HTTP request. */
  httpRequest: { abort(): void } | undefined = undefined
  /** Rate limit for its progress, created on demand. */
  progress: { add(params: JsonObject): void; flush(): void } | undefined = undefined
  /** Rate limit for its log messages, created on demand. */
  messages: { countMessage(): boolean } | undefined = undefined
  /** Handles a subscription's notifications. */
  onNotification: ((notification: Notification) => void) | undefined = undefined

  constructor(
    id: RpcId,
    method: string,
    call: Call | undefined,
    resolve: (response: RpcResponse) => void,
    reject: (error: Error) => void,
  ) {
    this.id = id
    this.method = method
    this.call = call
    this.resolve = resolve
    this.reject = reject
  }
}

/** Connection dependencies, from its upstream. */
export interface ConnectionDeps<Connection = unknown> {
  readonly name: string
  readonly log: Log
  readonly clock: Clock
  readonly drops: DroppedMessages
  notify(notification: Notification): void
  /** Sends server requests to clients, and reports ended sessions. */
  readonly clients: Pick<UpstreamContext, 'ask' | 'reportSessionEnd'>
  /** True if the client is alone on the connection and can get requests outside calls; absent if no client can. */
  isOnlyClient?: ((session: Session) => boolean) | undefined
  /** Requests a client's roots outside calls; absent if no client can be asked. */
  listRoots?: ((ask: Ask) => Promise<ListedRoots | undefined>) | undefined
  /** Finds the client whose roots would be requested; absent if no client can be asked. */
  findRootsClient?: (() => Promise<Session | undefined>) | undefined
  /** Server notifications may have been lost. */
  missed(connection: Connection): void
  /** The connection is no longer usable. Pending HTTP calls may finish. */
  closed(connection: Connection, reason: Reason): void
}

/** An MCP server over any transport. */
export type McpUpstreamConfig = Extract<UpstreamConfig, { readonly era: unknown }>

/** Limit for unread bytes: requests; and replies and notifications, whose loss is not reported. */
const MAX_UNREAD = 8 * 1024 * 1024
const MAX_UNREAD_REPLIES = 16 * 1024 * 1024
const RETRY_MS = 1000

/** A pipe or socket for whole messages. */
export interface MessageOutput {
  /** Bytes that the server has not read. */
  readonly unread: number
  write(text: EncodedMessage, bytes: number): void
}

/** Sends messages over one stream that all clients share and that always listens. */
export abstract class SharedTransport implements Transport {
  readonly streams = false
  abstract readonly pid: number | undefined
  /** Receives one message. */
  protected readonly receive: (bytes: Buffer) => void
  readonly #context: UpstreamContext
  #hasDropped = false

  constructor(context: UpstreamContext, events: TransportEvents) {
    this.#context = context
    this.receive = bytes => events.received(bytes, undefined)
  }

  protected abstract readonly output: MessageOutput

  request(pending: PendingRequest, params: JsonObject | undefined): void {
    const text = encodeRequest(pending.id, pending.method, params, pending.call?.exchange.received)
    const bytes = getByteLength(text)
    const { unread } = this.output
    if (unread > 0 && unread + bytes > MAX_UNREAD)
      throw gatewayError('GW_UPSTREAM_BUSY', {
        upstream: this.#context.name,
        why: 'server reads too slowly: over 8 MiB queued',
        retryAfterMs: RETRY_MS,
      })
    this.output.write(text, bytes)
  }

  send(text: string): Promise<void> {
    const bytes = Buffer.byteLength(text)
    const { unread } = this.output
    const isFull = unread > 0 && unread + bytes > MAX_UNREAD_REPLIES
    if (!isFull) this.output.write(text, bytes)
    if (isFull && !this.#hasDropped) {
      const why = 'server reads too slowly: over 16 MiB queued'
      this.#context.log.warn('dropping messages to the server until it reads again', { bytes, why })
    }
    this.#hasDropped = isFull
    return Promise.resolve()
  }

  abandon(): boolean {
    // Written bytes cannot be withdrawn.
    return false
  }

  opened(): void {}

  listen(): void {}

  retire(): Promise<void> {
    return this.close()
  }

  abstract close(): Promise<void>
}
