import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Health } from '../errors/health.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import type {
  Answer,
  Ask,
  AskReply,
  Choices,
  ClientDescription,
  Notification,
  Principal,
  Session,
  Via,
} from './exchange.ts'
import type { Metric } from './plugin.ts'
import type { UpstreamState, UpstreamStatus } from './upstream.ts'
import type { RpcError } from '../protocol/rpc-error.ts'

/** An HTTP request to a plugin's path, not MCP. */
export interface HttpRequest extends Credentials {
  readonly query: URLSearchParams
  readonly caller: Principal
  /** Profile that the listener assigns; undefined for none. */
  readonly profile: string | undefined
  /** The pipeline, for plugins that expose MCP in another form. */
  readonly gate: Gate
  /** The caller's conversation label, validated; for `SessionInit.label`. */
  readonly label: string | undefined
  /** Headers that are forwarded with a request, lower case; for `IncomingRequest.headers`. */
  readonly forwardHeaders: Readonly<Record<string, string>>
  /**
   * Reads the body, at most `limits.body` bytes.
   * @throws GatewayError GW_TOO_LARGE
   */
  body(): Promise<Buffer>
  /** Runs `listener` if the client disconnects before the answer. */
  onDisconnect(listener: () => void): void
}

/** A request as its listener passes it to the pipeline. */
export interface IncomingRequest {
  readonly method: string
  readonly params: JsonObject | undefined
  /** Original parameters, if `params` were derived from them. */
  readonly received?: JsonObject | undefined
  /** Received message length; absent if there was none. */
  readonly bytes?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Default: `in-process`. */
  readonly via?: Via
  /** Connection peer address. */
  readonly remoteAddress?: string | undefined
  /** Default for this and the next two: the session's. */
  readonly principal?: Principal | undefined
  /** This request's conversation label, validated like `SessionInit.label`. */
  readonly label?: string | undefined
  /** The client's self-description in this request. */
  readonly client?: ClientDescription | undefined
  /** Request credentials; absent on connections that are rechecked themselves. */
  readonly credentials?: Credentials | undefined
  /** Sends a notification of this request to the client. */
  emit(notification: Notification): void
  ask?(ask: Ask): Promise<AskReply>
}

/** A request in the pipeline, as its listener sees it. */
export interface RunningExchange {
  readonly answer: Promise<Answer>
  cancel(reason: string): void
}

/** A new session, as its listener describes it. */
export interface SessionInit {
  readonly id: string
  readonly listener: string
  readonly principal: Principal
  readonly client: ClientDescription
  /** 1 to 128 characters `[A-Za-z0-9._-]`, validated by the listener. */
  readonly label?: string | undefined
  readonly profile?: string | undefined
  /** The client's working directory, reported by a local program. */
  readonly directory?: string | undefined
  /** Parameters in the client's URL. */
  readonly choices?: Choices | undefined
  notify(notification: Notification): boolean
  ask?: ((ask: Ask) => Promise<AskReply>) | undefined
}

/** The core as listeners see it. */
export interface Gate {
  readonly info: { readonly name: string; readonly version: string }
  /** True while draining: the gateway will stop, and new clients should connect to another gateway. */
  readonly isDraining: boolean
  /** Rejects with a GatewayError if a plugin refuses the session. */
  openSession(init: SessionInit): Promise<Session>
  closeSession(session: Session, reason: string): void
  /** Never rejects; `answer` resolves exactly once. */
  run(session: Session, inbound: IncomingRequest): RunningExchange
  /** Handles a client notification other than a cancellation. */
  receiveNotification(session: Session, notification: Notification): void
  /** Admits a request, or returns the refusal; `close` to close the connection after the answer. */
  admit(listener: string, path?: string): Refusal | 'close' | undefined
  /** Identifies an HTTP request's caller; `ANONYMOUS` if no plugin authenticates. Never rejects. */
  authenticate(credentials: Credentials): Principal | Refusal | Promise<Principal | Refusal>
  /** Reports a request that the listener refused. */
  reportRefusal(refusal: Refusal, credentials: Credentials): void
  /** Lets a plugin answer on this path; undefined if none serves it. */
  serve(request: HttpRequest): Promise<HttpReply | undefined> | undefined
  /** Readiness for `/readyz`, limited to upstreams that this caller may see. */
  readiness(caller?: Principal): Readiness
  /**
   * State of upstreams with additions of `status` taps, open session count (a modern HTTP request counts while it
   * runs), and running exchanges.
   */
  status(): Readonly<{ upstreams: readonly UpstreamStatus[]; sessions: number; running: number }>
  /** Health for the owner: names upstreams and may quote servers. */
  health(): Health
  /** Plugin metrics, from the `metrics` hook. */
  getMetrics(): readonly Metric[]
}

/** Gateway and upstream state. */
export interface Readiness {
  readonly ready: boolean
  readonly upstreams: Readonly<Record<string, { state: UpstreamState; problem?: string }>>
  /** Limited to upstreams that this caller may see. */
  readonly health: Health
}

/** A refused request: HTTP status and error. */
export interface Refusal {
  readonly status: number
  readonly error: RpcError
  readonly headers?: Readonly<Record<string, string>>
}

/** An HTTP request to be authenticated, before its body is read. */
export interface Credentials {
  readonly listener: string
  /** Upper case, such as `POST`. */
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** All values of a header, in order; empty if absent. */
  header(name: string): readonly string[]
  /** MCP endpoint URL, below `publicUrl` or the bound address, such as `http://127.0.0.1:8080/mcp`. */
  readonly endpoint: string
  /** Client certificate (mTLS) that the listener verified; undefined if none. */
  readonly certificate?: ClientCertificate | undefined
  /** Connection peer address. */
  readonly remoteAddress: string | undefined
  /** True if credentials only decide the amount of detail: a caller without them is not refused. */
  readonly isOptional?: boolean
}

/** A verified client certificate. Names in RFC 2253 form: `CN=ci,O=Example`. */
export interface ClientCertificate {
  /** The signing authority's name. */
  readonly issuer: string
  readonly subject: string
  /** SHA-256, hex with colons. */
  readonly fingerprint: string
  /** In milliseconds since 1970. */
  readonly expiresAt: number
}

/** A plugin's answer to an `HttpRequest`. Header names are lower case. 404 without a body is sent as for unknown paths. */
export interface HttpReply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** Iterables are streamed with backpressure. */
  readonly body?: string | Buffer | AsyncIterable<string | Buffer>
  /**
   * Replica that owns the request, from `PluginApi.getReplicaId`: the request is forwarded there unchanged, and this
   * reply is sent if that replica is gone. A request is forwarded once.
   */
  readonly replicaId?: string | undefined
}

/** An `HttpReply` with a complete text body. */
export interface TextReply extends HttpReply {
  readonly body: string
}

/** Answers one HTTP request of a listener. */
export type HttpServe = (request: IncomingMessage, response: ServerResponse) => void
