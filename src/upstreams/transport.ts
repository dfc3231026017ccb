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
import type { DroppedMessages } from '../transport/unexpected-messages.ts'

/** Carries the messages of a connection: the pipes of a process, or POSTs to a server. */
export interface Transport {
  readonly pid: number | undefined
  /** True where each request has a stream of its own (HTTP); false where all share one pipe. */
  readonly streams: boolean
  /** The session that the server has given the connection. */
  readonly session?: string | undefined
  /** The last lines of the server's stderr, for the detail of errors. */
  readonly lastStderr?: string | undefined
  /** Sends a request; throws a GatewayError when it cannot even be queued. */
  request(pending: PendingRequest, params: JsonObject | undefined): void
  /** Sends a notification or a reply of ours; resolves when it is out or lost, never rejects. */
  send(text: string): Promise<void>
  /** Abandons a request. True if the server never received it. */
  abandon(pending: PendingRequest): boolean
  opened(server: ServerDescription): void
  /** Opens what is needed to hear notifications that belong to no request. */
  listen(): void
  /** Takes no more requests; resolves when the last one has ended. */
  retire(): Promise<void>
  close(): Promise<void>
}

/** Both ends of a message that was longer than a key of its upstream allows. */
export interface SkippedMessage {
  readonly head: Buffer
  readonly tail: Buffer
  readonly limit: number
  readonly key: string
}

/** Events of a transport, for its connection. */
export interface TransportEvents {
  /** One message, whose bytes are the connection's from then on, and the request on whose stream it came, where streams tell. */
  received(bytes: Buffer, of: PendingRequest | undefined): void
  /** A message was too long to be read, and the next one can be. */
  skipped?(message: SkippedMessage): void
  /** One request failed on its way; the others live on. */
  failed(pending: PendingRequest, error: Error): void
  /** The stream of what belongs to no request has been away, and may have missed something. */
  reopened(): void
  /** Called when the transport has closed. */
  closed(reason: Reason): void
}

/** Events of a transport that has not found out yet how the server is spoken to. */
export interface ConnectionEvents extends TransportEvents {
  /** Another transport carries the connection from now on. */
  attachTransport(transport: Transport): void
}

/** A request that stays open, and is answered with notifications. */
export interface Subscription {
  readonly ended: Promise<RpcResponse>
  end(): void
}

/** One request of ours that waits for its answer. */
export class PendingRequest {
  readonly id: RpcId
  readonly method: string
  /** The client's call; undefined for requests of our own. */
  readonly call: Call | undefined
  readonly resolve: (response: RpcResponse) => void
  readonly reject: (error: Error) => void
  open = true
  /** Stops watching for the cancellation by its client. */
  stopWatching: (() => void) | undefined = undefined
  /** The HTTP request that carries it. */
  carrier: { abort(): void } | undefined = undefined
  /** Bounds its progress; made with the first one. */
  progress: { add(params: JsonObject): void; flush(): void } | undefined = undefined
  /** Bounds its log messages; made with the first one. */
  messages: { add(notification: Notification): void; flush(): void } | undefined = undefined
  /** Takes the notifications of a subscription. */
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

/** Dependencies of a connection: the upstream that it belongs to. */
export interface ConnectionDeps<Connection = unknown> {
  readonly name: string
  readonly log: Log
  readonly clock: Clock
  readonly drops: DroppedMessages
  notify(notification: Notification): void
  /** Takes a server's requests to clients. */
  readonly clients: Pick<UpstreamContext, 'ask'>
  /** True where a client is the only one of the connection, and can be asked outside its calls; absent where nobody can. */
  isOnlyClient?: ((session: Session) => boolean) | undefined
  /** Asks a client for its roots outside any call; absent where nobody can be asked. */
  listRoots?: ((ask: Ask) => Promise<ListedRoots | undefined>) | undefined
  /** Notifications of the server may have been lost meanwhile. */
  missed(connection: Connection): void
  /** The connection is of no more use. Calls that are under way over HTTP still end by themselves. */
  closed(connection: Connection, reason: Reason): void
}

/** A server that speaks MCP, over whatever carries its messages. */
export type McpUpstreamConfig = Extract<UpstreamConfig, { readonly era: unknown }>
