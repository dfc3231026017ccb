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

/** One HTTP request that is not MCP: for a path that a plugin serves beside the MCP endpoint. */
export interface HttpRequest extends Credentials {
  readonly query: URLSearchParams
  /** The caller, as `authenticate` identified it. */
  readonly caller: Principal
  /** The profile that the listener gives its clients; undefined for none. */
  readonly profile: string | undefined
  /** The pipeline, for plugins that offer MCP in another form. */
  readonly gate: Gate
  /** The caller's name for its conversation, checked; for `SessionInit.label`. */
  readonly label: string | undefined
  /** The headers that go with a request on its way, lower case; for `Inbound.headers`. */
  readonly forwardHeaders: Readonly<Record<string, string>>
  /**
   * The body, at most `limits.body` bytes.
   * @throws GatewayError GW_TOO_LARGE
   */
  body(): Promise<Buffer>
  /** Runs `listener` when the client goes away before it was answered. */
  onDisconnect(listener: () => void): void
}

/** A request as its listener hands it to the pipeline. */
export interface IncomingRequest {
  readonly method: string
  readonly params: JsonObject | undefined
  /** Parameters that these were made from; absent where they are as they came. */
  readonly received?: JsonObject | undefined
  /** Length of the message that it came in; absent where there was none. */
  readonly bytes?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Default: `in-process`. */
  readonly via?: Via
  /** The address of the other end of the connection that it came over. */
  readonly remoteAddress?: string | undefined
  /** The session's where it is left out, as are the next two. */
  readonly principal?: Principal | undefined
  /** The caller's name for its conversation in this request, checked like `SessionInit.label`. */
  readonly label?: string | undefined
  /** The client's description of itself in this request. */
  readonly client?: ClientDescription | undefined
  /** Credentials that its caller was let in on; absent where it came over a connection that is asked for them again by itself. */
  readonly credentials?: Credentials | undefined
  /** Carries a notification of this request to the client. */
  emit(notification: Notification): void
  ask?(ask: Ask): Promise<AskReply>
}

/** One request in the pipeline, as its listener sees it. */
export interface RunningExchange {
  readonly answer: Promise<Answer>
  cancel(reason: string): void
}

/** Facts of a new session, as the listener that opens it knows them. */
export interface SessionInit {
  readonly id: string
  readonly listener: string
  readonly principal: Principal
  readonly client: ClientDescription
  /** 1 to 128 characters `[A-Za-z0-9._-]`; whoever opens the session has checked that. */
  readonly label?: string | undefined
  readonly profile?: string | undefined
  /** The directory that the client works in, as a program on this machine has told it. */
  readonly directory?: string | undefined
  /** Choices that its client has made by its URL, as the gate has let them pass. */
  readonly choices?: Choices | undefined
  notify(notification: Notification): boolean
  ask?: ((ask: Ask) => Promise<AskReply>) | undefined
}

/** Client that chooses something by its URL. */
export interface ChoiceContext {
  readonly listener: string
  readonly principal: Principal
  /** The profile that it came for. */
  readonly profile: string | undefined
}

/** The core as listeners see it. */
export interface Gate {
  readonly info: { readonly name: string; readonly version: string }
  /** True once clients are to go elsewhere, as the gateway will stop. They are served as ever until then. */
  readonly isDraining: boolean
  /** Rejects with a GatewayError when a plugin refuses the session. */
  openSession(init: SessionInit): Promise<Session>
  closeSession(session: Session, reason: string): void
  /** Never rejects; `answer` resolves exactly once. */
  run(session: Session, inbound: IncomingRequest): RunningExchange
  /** A notification from the client that is not a cancellation. */
  receiveNotification(session: Session, notification: Notification): void
  /** Admits a request at this time, over HTTP for this path, or says why not; `close` where its connection is to end with its answer. */
  admit(listener: string, path?: string): Refusal | 'close' | undefined
  /** Identifies the caller of an HTTP request: `ANONYMOUS` where no plugin asks. Never rejects. */
  authenticate(credentials: Credentials): Principal | Refusal | Promise<Principal | Refusal>
  /** Reads what a client chooses by the query of its URL, or says why it may not. Parameters that no plugin knows are passed over. */
  parseChoices(query: string, by: ChoiceContext): { readonly chosen: Choices | undefined } | Refusal
  /** Tells plugins of a request that the listener itself did not let in. */
  reportRefusal(refusal: Refusal, credentials: Credentials): void
  /** Lets a plugin answer on this path; undefined when none serves it. */
  serve(request: HttpRequest): Promise<HttpReply | undefined> | undefined
  /** Readiness of the gateway, and what is missing, for `/readyz`; of the upstreams those that this caller may know of. */
  readiness(caller?: Principal): Readiness
  /**
   * State of each upstream, with what plugins say of it by the `status` hook; open sessions – one of a modern HTTP request
   * lasts as long as that –, and exchanges in the pipeline.
   */
  status(): Readonly<{ upstreams: readonly UpstreamStatus[]; sessions: number; running: number }>
  /** Health of the gateway, for its owner: it names upstreams, and may hold what servers said. */
  health(): Health
  /** Figures of plugins, by the `metrics` hook. */
  getMetrics(): readonly Metric[]
}

/** State of the gateway as a whole, with that of each upstream. */
export interface Readiness {
  readonly ready: boolean
  readonly upstreams: Readonly<Record<string, { state: UpstreamState; problem?: string }>>
  /** Without what is said of upstreams that this caller may not know of. */
  readonly health: Health
}

/** A request that goes no further: the HTTP status and the error that say why. */
export interface Refusal {
  readonly status: number
  readonly error: RpcError
  readonly headers?: Readonly<Record<string, string>>
}

/** Facts of an HTTP request for the plugin that identifies its caller. A body has not been read yet. */
export interface Credentials {
  readonly listener: string
  /** Upper case, such as `POST`. */
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** Every value of a header, in order; empty when it was not sent. */
  header(name: string): readonly string[]
  /** URL of the listener's MCP endpoint: below its `publicUrl`, else as it is bound, such as `http://127.0.0.1:8080/mcp`. */
  readonly endpoint: string
  /** The certificate by which the client proved who it is (mTLS); undefined without one that the listener trusts. */
  readonly certificate?: ClientCertificate | undefined
  /** The address of the other end of the connection. */
  readonly remoteAddress: string | undefined
  /** Marks credentials that only decide how much is told: a caller without them is not refused. */
  readonly isOptional?: boolean
}

/** A client's certificate that a listener has verified. Names have the form of RFC 2253: `CN=ci,O=Example`. */
export interface ClientCertificate {
  /** Name of the authority that signed it. */
  readonly issuer: string
  readonly subject: string
  /** SHA-256 of it, in hex with colons. */
  readonly fingerprint: string
  /** In milliseconds since 1970. */
  readonly expiresAt: number
}

/** Answer of a plugin to an `HttpRequest`. Header names are lower case. */
export interface HttpReply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** Written as it is; what is iterated over is streamed, no faster than it is read. */
  readonly body?: string | Buffer | AsyncIterable<string | Buffer>
  /**
   * Place of the process that has what the request is about, as `PluginApi.place` names it there: the request is handed on to it as
   * it came, and this reply is sent where there is no such process any more. Nothing is handed on twice.
   */
  readonly replicaId?: string | undefined
}

/** An `HttpReply` whose body is all there. */
export interface TextReply extends HttpReply {
  readonly body: string
}

/** Answers one HTTP request of a listener. */
export type HttpServe = (request: IncomingMessage, response: ServerResponse) => void
