import type { TlsConfig, UpstreamConfig } from '../config/config.gen.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import type { Era, Kind } from '../protocol/methods.ts'
import type { Ask, AskReply, Call, Dispatch, Exchange, Notification, Principal, Session } from './exchange.ts'
import type { Clock, Log } from './plugin.ts'
import type { ProcessLimiter, SandboxContext, UpstreamLogs } from './process.ts'

/**
 * `idle` not started, or stopped while unused; the next call starts it · `starting` · `ready` · `needs_auth` until a
 * login · `failed` until the next retry · `stopped` by the owner.
 */
export type UpstreamState = 'idle' | 'starting' | 'ready' | 'needs_auth' | 'failed' | 'stopped'

/** A server's self-description from its handshake, in neutral form. */
export interface ServerDescription {
  readonly era: Era
  readonly version: string
  readonly info: { readonly name: string; readonly version: string; readonly [key: string]: unknown }
  readonly capabilities: JsonObject
  readonly instructions: string | undefined
}

/** Upstream runtime state. Times are milliseconds since 1970. */
export interface UpstreamRuntime {
  /** Live processes or connections; several with isolation. */
  readonly instances: readonly {
    readonly pid?: number
    /** This connection's era, if it differs from the upstream's. */
    readonly era?: Era
    readonly startedAt: number
    readonly inFlight: number
  }[]
  /** Restarts since the gateway started. */
  readonly restarts: number
  /** Running calls over all instances. */
  readonly inFlight: number
  /** Last failure, as one line; retained after recovery. */
  readonly lastError?: string
  readonly lastErrorAt?: number
}

/** A session that has ended: a client's, or a connection to a server. */
export interface EndedSession {
  readonly peer: 'client' | 'server'
  /** Listener or upstream name. */
  readonly name: string
  /** Protocol version. */
  readonly version: string
  /** Duration from the handshake on. */
  readonly ms: number
  readonly reason: string
  /** Error code if the connection was lost. */
  readonly error?: string | undefined
}

/** Configured server status, for people and programs. */
export interface UpstreamStatus {
  readonly name: string
  readonly type: string
  readonly state: UpstreamState
  /** True if the server description was saved by an earlier run, and the server was not contacted since. */
  readonly remembered?: true
  readonly problem?: string
  readonly pid?: number
  readonly era?: string
  readonly version?: string
  readonly server?: { readonly name: string; readonly version: string }
  /** Undeliverable messages by kind; absent if none. */
  readonly dropped?: Readonly<Record<string, number>>
  /** Problem of an upstream that still works: over 1,000 lines or 1 MiB within 10 s that are no messages. */
  readonly degraded?: string
  /** Processes, connections and load; absent if unknown. */
  readonly runtime?: UpstreamRuntime
  /** Entry counts by kind, once listed. */
  readonly offers?: Readonly<Partial<Record<Kind, number>>>
  /** Reason by kind if a list is missing or stale; absent if all are current. */
  readonly lists?: Readonly<Partial<Record<Kind, string>>>
  /** Additions of `status` taps, each under a key of its own. */
  readonly [added: string]: unknown
}

/** A configured server. */
export interface Upstream {
  readonly name: string
  readonly spec: UpstreamConfig
  readonly state: UpstreamState
  /** Reason that it is not ready, as one line that callers may read. */
  readonly problem: string | undefined
  /** The server's own message, for logs and the owner only: it may contain secrets. */
  readonly problemDetail?: string | undefined
  readonly server: ServerDescription | undefined
  /** Local server process id. */
  readonly pid: number | undefined
  /** Undeliverable messages by kind. */
  readonly dropped?: Readonly<Record<string, number>> | undefined
  /** Problem of an upstream that still works, as one line. */
  readonly degraded?: string | undefined
  /** Its stderr; absent if it has none. */
  readonly logs?: UpstreamLogs | undefined
  /** Processes, connections and load, as far as known. */
  readonly runtime?: UpstreamRuntime | undefined
  /** State that is saved across runs; absent without a state directory. */
  readonly memory?: UpstreamMemory | undefined
  /** True if `server` was saved by an earlier run and not confirmed since. */
  readonly isRemembered?: boolean
  /** True if it belongs to every profile, as its entries are per caller. */
  readonly isInAllProfiles?: boolean
  /** True if files it was created from, such as certificates, have changed: a reload recreates it. */
  readonly isOutdated?: boolean
  dispatch: Dispatch
  /** A session ended: its state can be released. */
  onSessionEnd?(session: Session): void
  /** These clients changed their roots, or clients connected or disconnected: request roots again. */
  onRootsChange?(changed: readonly Session[]): void
  /** Resolves when the first attempt has succeeded or failed; never rejects. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** A client's roots, requested outside any call. */
export interface ListedRoots {
  readonly session: Session
  readonly reply: AskReply
}

/**
 * Roots of clients for one upstream, outside any call. `isOn` selects the sessions that use a connection; absent:
 * all.
 */
export interface ClientRootsProvider {
  /** Requests the roots of a connection's only client; undefined if there is none, or more than one. */
  list(ask: Ask, isOn?: (session: Session) => boolean): Promise<ListedRoots | undefined>
  /** True if the session is the connection's only client. */
  isOnly(session: Session, isOn?: (session: Session) => boolean): boolean
  /** Finds the client whose roots would be requested. */
  findClient(isOn?: (session: Session) => boolean): Promise<Session | undefined>
}

/** Upstream dependencies. */
export interface UpstreamContext {
  readonly name: string
  readonly log: Log
  readonly clock: Clock
  /** Base for relative paths. */
  readonly directory: string
  readonly gateway: { readonly name: string; readonly version: string }
  /** The gateway's environment, of which children inherit an allow-list. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Process limit for all local upstreams; absent if unlimited. */
  readonly processLimiter?: ProcessLimiter
  /** State saved across runs; absent without a state directory. */
  readonly memory?: UpstreamMemory | undefined
  /** Hides every secret in a text. Call it before cutting the text. */
  hide(text: string): string
  /** Sandbox dependencies for its processes. */
  readonly sandboxContext?: SandboxContext
  /**
   * Sends a notification of no request. `isMeant` selects sessions for a changed resource; absent: all subscribers.
   */
  notify(notification: Notification, isMeant?: (session: Session) => boolean): void
  /** Handles a legacy server's request; `exchange` is its call, if known. */
  ask(ask: Ask, exchange: Exchange | undefined): Promise<AskReply>
  /** Client roots for requests outside any call; absent if no client can be asked. */
  readonly roots?: ClientRootsProvider
  reportState(state: UpstreamState, problem?: string): void
  /** Reports that a connection with a finished handshake has ended. */
  reportSessionEnd?(session: EndedSession): void
  /**
   * Opens HTTP to a server without MCP: with the gateway's proxies, certificates and the authorizer's credentials.
   * Absent without a network.
   */
  readonly http?: ((reach: UpstreamEndpoint) => Promise<UpstreamHttp>) | undefined
  /** Adds credentials to HTTP requests; absent if the configuration has all of them. */
  readonly authorizer?: Authorizer | undefined
  /** Connection account, if the authorizer separates accounts. */
  readonly account?: string | undefined
  /** The account's caller with the latest call. */
  readonly caller?: (() => Principal) | undefined
}

/**
 * Upstream state that is saved across runs: plain JSON by part. Every caller may see it, so store nothing that is
 * specific to a caller.
 */
export interface UpstreamMemory {
  /** Reads a saved value; undefined if there is none, or the upstream's configuration has changed. */
  read(part: string): unknown
  /** Replaces a value. It is written to disk soon, or on shutdown. Never throws. */
  write(part: string, value: unknown): void
  /** Deletes all parts. */
  forget(): void
}

/** HTTP methods for requests to servers. */
export type HttpMethod = 'GET' | 'HEAD' | 'OPTIONS' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Server HTTP endpoint and connection settings, as configured. */
export interface UpstreamEndpoint {
  /** Only the origin is used. */
  readonly url: string
  readonly proxy?: string | false | undefined
  readonly tls?: TlsConfig | undefined
  readonly http2?: boolean | undefined
}

/** One request to an HTTP server without MCP. */
export interface UpstreamHttpRequest {
  readonly method: HttpMethod
  /** Path and query, encoded. */
  readonly path: string
  /** Lower case names; `host`, `connection` and `content-length` are set by the client. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Maximum bytes in a successful reply. */
  readonly maxBytes: number
  /** The call that it serves: it adds its headers, and cancels the request with itself. */
  readonly call: Call
}

/** A reply with any status. At most 64 KiB of an error reply are read. */
export interface UpstreamHttpReply {
  readonly status: number
  readonly contentType: string | undefined
  readonly retryAfterMs: number | undefined
  readonly body: Buffer
}

/** HTTP client for one origin. Redirects are not followed; only an authorizer can resend a request. */
export interface UpstreamHttp {
  /** @throws GatewayError if there is no whole reply */
  request(request: UpstreamHttpRequest): Promise<UpstreamHttpReply>
  /** Refuses new requests; resolves when the running ones have ended. */
  close(): Promise<void>
}

/** One HTTP request to an upstream, as its authorizer sees it. */
export interface OutgoingRequest {
  readonly upstream: string
  readonly method: HttpMethod
  /** Connection account, from `getAccount`; undefined if callers share connections. */
  readonly account: string | undefined
  /** The call; undefined for the gateway's own requests, such as a handshake. */
  readonly exchange: Exchange | undefined
  /** The caller; for an account's handshake, its latest caller. Undefined if there is none. */
  readonly principal: Principal | undefined
}

/** A server's 401 or 403. */
export interface UpstreamRefusal {
  readonly status: 401 | 403
  /** The whole `WWW-Authenticate` header. */
  readonly challenge: string | undefined
  /** The refused credentials. */
  readonly sent: CredentialHeaders
  /** 1 for the first refusal of this request, then counts the resends. */
  readonly attempt: number
}

/** Credential headers, lower case names. */
export type CredentialHeaders = Readonly<Record<string, string>>

/**
 * Adds credentials to the HTTP requests of one upstream: Streamable HTTP, HTTP+SSE, and WebSocket handshakes. A
 * thrown error of the plugin's own table is the caller's answer.
 */
export interface Authorizer {
  /** Request credential headers; they override configured ones. */
  headers(request: OutgoingRequest): CredentialHeaders | Promise<CredentialHeaders>
  /** URL parameters for all requests of an account; they override configured ones. */
  query?(account: string | undefined): Readonly<Record<string, string>>
  /**
   * Called when the server refused the credentials. Returns new ones to resend the request, three times at most, or
   * undefined to accept the refusal.
   */
  refused(request: OutgoingRequest, refusal: UpstreamRefusal): Promise<CredentialHeaders | undefined>
  /**
   * Returns the caller's account at this upstream. Different accounts share no connection, session or notification;
   * without this method all callers share them. A throw refuses the call.
   */
  getAccount?(principal: Principal): string
}
