import type {
  ListedRoots,
  Session,
  Ask,
  AskReply,
  Call,
  Clock,
  Exchange,
  Log,
  Notification,
  ServerSide,
} from '../api/index.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import type { RpcId, RpcResponse } from '../protocol/jsonrpc.ts'
import type { Drops } from '../transport/unexpected-messages.ts'
import type { ProgressLimit } from './connection/progress-limit.ts'
import { type Behaviour, type Behaviours } from './serialization/tool-behaviour.ts'

/** What carries the messages of a link: the pipes of a process, or POSTs to a server. */
export interface Wire {
  readonly pid: number | undefined
  /** Whether each request has a stream of its own (HTTP), or all share one pipe. */
  readonly streams: boolean
  /** What the server said last on stderr, for error texts; empty where there is none. */
  readonly lastWords: string
  /** Sends a request; throws a GatewayError when it cannot even be queued. */
  request(pending: Pending, params: JsonObject | undefined): void
  /** Sends a notification or a reply of ours; resolves when it is out or lost, never rejects. */
  send(text: string): Promise<void>
  /** Nobody waits for this request any more. True when the server has not heard of it, and will not. */
  abandon(pending: Pending): boolean
  /** The server has introduced itself. */
  opened(server: ServerSide): void
  /** Opens what is needed to hear notifications that belong to no request. */
  listen(): void
  /** Takes no more requests; resolves when the last one has ended. */
  retire(): Promise<void>
  close(): Promise<void>
}

/** What a wire tells its link. */
export interface WireEvents {
  /** One message, and the request on whose stream it came, where streams tell. */
  received(bytes: Buffer, of: Pending | undefined): void
  /** One request failed on its way; the others live on. */
  failed(pending: Pending, error: Error): void
  /** The stream of what belongs to no request has been away, and may have missed something. */
  reopened(): void
  /** The wire is gone for good. */
  closed(why: string): void
}

/** A request that stays open, and is answered with notifications. */
export interface Subscription {
  readonly ended: Promise<RpcResponse>
  end(): void
}

/** One request of ours that waits for its answer. */
export class Pending {
  readonly id: RpcId
  readonly method: string
  /** The client's call; undefined for requests of our own. */
  readonly call: Call | undefined
  readonly resolve: (response: RpcResponse) => void
  readonly reject: (error: Error) => void
  open = true
  /** Takes back the wish to hear of the client's cancellation. */
  takeBack: (() => void) | undefined = undefined
  /** The HTTP request that carries it. */
  carrier: { abort(): void } | undefined = undefined
  /** The observed behaviour of what it calls, where calls are scheduled. */
  behaviour: Behaviour | undefined = undefined
  /** Bounds its progress; made with the first one. */
  progress: ProgressLimit | undefined = undefined
  /** Hears the notifications of a subscription. */
  hear: ((notification: Notification) => void) | undefined = undefined

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

/** What a link needs from its upstream. */
export interface LinkHost<Link = unknown> {
  readonly name: string
  readonly log: Log
  readonly clock: Clock
  readonly drops: Drops
  /** The observed behaviour of the server, over all its links. */
  readonly behaviours: Behaviours
  notify(notification: Notification): void
  ask(ask: Ask, exchange: Exchange): Promise<AskReply>
  /** Whether a client is the only one of the link, and can be asked outside its calls; absent where nobody can. */
  isOnlyClient?: ((session: Session) => boolean) | undefined
  /** Asks a client for its roots outside any call; absent where nobody can be asked. */
  listRoots?: ((ask: Ask) => Promise<ListedRoots | undefined>) | undefined
  /** What the server said meanwhile is lost. */
  missed(link: Link): void
  /** The link is of no more use. Calls that are under way over HTTP still end by themselves. */
  closed(link: Link, why: string): void
}
