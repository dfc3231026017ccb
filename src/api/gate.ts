import { type JsonObject } from '../protocol/json/json.ts'
import type { Answer, Ask, AskReply, ClientSide, Notification, Principal, Session } from './exchange.ts'
import type { Credentials, HttpReply, Refusal } from './http.ts'
import type { Figure } from './plugin.ts'
import type { UpstreamState, UpstreamStatus } from './upstream.ts'

/** One HTTP request that is not MCP: for a path that a plugin serves beside the MCP endpoint. */
export interface HttpRequest extends Credentials {
  readonly query: URLSearchParams
  /** Who sent it, as `authenticate` found out. */
  readonly caller: Principal
  /** The profile that the listener gives its clients; undefined for none. */
  readonly profile: string | undefined
  /** The pipeline, for plugins that offer MCP in another form. */
  readonly gate: Gate
  /** What the caller calls its conversation, checked; for `SessionInit.label`. */
  readonly label: string | undefined
  /** The headers that go with a request on its way, lower case; for `Inbound.headers`. */
  readonly passed: Readonly<Record<string, string>>
  /**
   * The body, at most `limits.body` bytes.
   * @throws GatewayError GW_TOO_LARGE
   */
  body(): Promise<Buffer>
  /** Runs `listener` when the client goes away before it was answered. */
  onGone(listener: () => void): void
}

/** What a listener hands to the pipeline with each request. */
export interface Inbound {
  readonly method: string
  readonly params: JsonObject | undefined
  /** What the parameters were made from; absent where they are as they came. */
  readonly received?: JsonObject | undefined
  /** Length of the message that it came in; absent where there was none. */
  readonly bytes?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Default: the session's. */
  readonly principal?: Principal
  /** Carries a notification of this request to the client. */
  emit(notification: Notification): void
  ask?(ask: Ask): Promise<AskReply>
}

/** One request in the pipeline, as its listener sees it. */
export interface Running {
  readonly answer: Promise<Answer>
  cancel(reason: string): void
}

export interface SessionInit {
  readonly id: string
  readonly listener: string
  readonly principal: Principal
  readonly client: ClientSide
  /** 1 to 128 characters `[A-Za-z0-9._-]`; whoever opens the session has checked that. */
  readonly label?: string | undefined
  readonly profile?: string | undefined
  notify(notification: Notification): boolean
  ask?: ((ask: Ask) => Promise<AskReply>) | undefined
}

/** The core as listeners see it. */
export interface Gate {
  readonly info: { readonly name: string; readonly version: string }
  /** Rejects with a GatewayError when a plugin refuses the session. */
  openSession(init: SessionInit): Promise<Session>
  closeSession(session: Session, reason: string): void
  /** Never rejects; `answer` resolves exactly once. */
  run(session: Session, inbound: Inbound): Running
  /** A notification from the client that is not a cancellation. */
  notified(session: Session, notification: Notification): void
  /** Whether a request may come in at all now: a refusal, or that its connection is to end with its answer. */
  admit(listener: string): Refusal | 'close' | undefined
  /** Whose an HTTP request is: `ANONYMOUS` where no plugin asks. Never rejects. */
  authenticate(credentials: Credentials): Principal | Refusal | Promise<Principal | Refusal>
  /** Tells plugins of a request that the listener itself did not let in. */
  refused(refusal: Refusal, credentials: Credentials): void
  /** What a plugin answers on this path; undefined when none serves it. */
  serve(request: HttpRequest): Promise<HttpReply | undefined> | undefined
  /** Whether the gateway can serve, and what is missing, for `/readyz`; of the upstreams those that this caller may know of. */
  readiness(caller?: Principal): Readiness
  /**
   * How each upstream does, with what plugins say of it by the `status` hook; open sessions – one of a modern HTTP request
   * lasts as long as that –, and exchanges in the pipeline.
   */
  status(): Readonly<{ upstreams: readonly UpstreamStatus[]; sessions: number; running: number }>
  /** What plugins count, by the `figures` hook. */
  figures(): readonly Figure[]
}

export interface Readiness {
  readonly ready: boolean
  readonly upstreams: Readonly<Record<string, { state: UpstreamState; problem?: string }>>
}
