import type { TlsConfig, UpstreamConfig } from '../config/config.gen.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import type { Era, Kind } from '../protocol/methods.ts'
import type { Ask, AskReply, Call, Dispatch, Exchange, Notification, Principal, Session } from './exchange.ts'
import type { Clock, Log } from './plugin.ts'
import type { ProcessLimiter, SandboxContext, UpstreamLogs } from './process.ts'

/** Connections of this process that were found to have lists of their own, of whichever upstream. */
let count = 0

/** Notes one more; no two of them have one number. */
export function countOwnLists(): number {
  return ++count
}

/** False while there has been none: then nobody need look for any, of which each call would have to ask every upstream. */
export function hasOwnLists(): boolean {
  return count > 0
}

/**
 * `idle` not started, or ended for want of calls; the next one starts it · `starting` · `ready` · `needs_auth` until somebody logs
 * in · `failed` waiting for its next try · `stopped` for good.
 */
export type UpstreamState = 'idle' | 'starting' | 'ready' | 'needs_auth' | 'failed' | 'stopped'

/** A server's description of itself in its handshake, in neutral form. */
export interface ServerDescription {
  readonly era: Era
  readonly version: string
  readonly info: { readonly name: string; readonly version: string; readonly [key: string]: unknown }
  readonly capabilities: JsonObject
  readonly instructions: string | undefined
}

/** State of an upstream at this moment. Times are milliseconds since 1970. */
export interface UpstreamRuntime {
  /** Its live processes or connections; more than one where it has a pool, replicas, or isolation. */
  readonly instances: readonly {
    readonly pid?: number
    /** The era that it is spoken to in, where that is not the upstream's. */
    readonly era?: Era
    readonly startedAt: number
    readonly inFlight: number
  }[]
  /** Count of restarts since the gateway began. */
  readonly restarts: number
  /** Calls under way, over all instances. */
  readonly inFlight: number
  /** The last failure, as one line for people; kept after recovery. */
  readonly lastError?: string
  readonly lastErrorAt?: number
}

/** A configured server, as people see it. */
export interface UpstreamStatus {
  readonly name: string
  readonly type: string
  readonly state: UpstreamState
  /** True if the description of the server was saved by an earlier run; it has not been spoken to in this one. */
  readonly remembered?: true
  readonly problem?: string
  readonly pid?: number
  readonly era?: string
  readonly version?: string
  readonly server?: { readonly name: string; readonly version: string }
  /** Counts of messages that could be given to nobody, by kind; absent when there were none. */
  readonly dropped?: Readonly<Record<string, number>>
  /** Problem of an upstream that works all the same: over 1,000 lines or 1 MiB within 10 s that are no messages. */
  readonly degraded?: string
  /** Its processes or connections and its load; absent where they are not known. */
  readonly runtime?: UpstreamRuntime
  /** Count of the things of each kind that it offers, once listed. */
  readonly offers?: Readonly<Partial<Record<Kind, number>>>
  /** Why a list of it is left out or not the newest, by kind; absent when all are as they should be. */
  readonly lists?: Readonly<Partial<Record<Kind, string>>>
  /** Additions of plugins by the `status` hook, each under a key of its own. */
  readonly [added: string]: unknown
}

/** A configured server. */
export interface Upstream {
  readonly name: string
  readonly spec: UpstreamConfig
  readonly state: UpstreamState
  /** Why it is not ready, as one line for people: callers read it too. */
  readonly problem: string | undefined
  /** The server's own words on that, for logs and the owner alone: they may hold secrets. */
  readonly problemDetail?: string | undefined
  readonly server: ServerDescription | undefined
  /** Process id of a local server, for inspect. */
  readonly pid: number | undefined
  /** Counts of messages that could be given to nobody, by kind. */
  readonly dropped?: Readonly<Record<string, number>> | undefined
  /** Problem of an upstream that works all the same, as one line for people. */
  readonly degraded?: string | undefined
  /** Output on its stderr; absent where there is none. */
  readonly logs?: UpstreamLogs | undefined
  /** Its processes or connections and its load, as far as they are known. */
  readonly runtime?: UpstreamRuntime | undefined
  /** Memory that outlives this process; absent where nothing does. */
  readonly memory?: UpstreamMemory | undefined
  /** True if `server` was saved by an earlier run and nobody has asked since. */
  readonly isRemembered?: boolean
  /** True if it is part of every profile, as all that it offers is each caller's own. */
  readonly isInAllProfiles?: boolean
  /** True if files that it was made with, such as certificates, hold something else now: a reload makes it anew. */
  readonly isOutdated?: boolean
  dispatch: Dispatch
  /**
   * Key of the connection whose lists a session is shown; undefined for those that all are shown. Sessions of one key are
   * shown the same. A process that one session has to itself may list something else once its tools were used: it says so by
   * a notification `isOfOwnLists` before the first key.
   */
  getListKey?(session: Session): string | undefined
  /** A client's conversation is over: what was kept for it may go. */
  onSessionEnd?(session: Session): void
  /** These clients have other roots now, or there are other clients: who was told of roots may have to ask again. */
  onRootsChange?(changed: readonly Session[]): void
  /** Resolves when the first attempt has ended, well or badly; never rejects. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** Reply of a client on its roots, outside any call. */
export interface ListedRoots {
  readonly session: Session
  readonly reply: AskReply
}

/** The roots of clients for one upstream, outside any call. `isOn` says which sessions use a connection; absent where all may. */
export interface ClientRootsProvider {
  /** Asks the one client of a connection; undefined where there is none, or no telling which it is. */
  list(ask: Ask, isOn?: (session: Session) => boolean): Promise<ListedRoots | undefined>
  /** True if the client of a call is that one, so that it does not matter which of its calls asks. */
  isOnly(session: Session, isOn?: (session: Session) => boolean): boolean
  /** The client that would be asked. */
  findClient(isOn?: (session: Session) => boolean): Promise<Session | undefined>
}

/** Means of the core for an upstream. */
export interface UpstreamContext {
  readonly name: string
  readonly log: Log
  readonly clock: Clock
  /** Directory that relative paths of the config are relative to. */
  readonly directory: string
  readonly gateway: { readonly name: string; readonly version: string }
  /** Variables of the gateway's own environment that a child may inherit by allow-list. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Shared by all upstreams that are processes; absent where nothing bounds them. */
  readonly processLimiter?: ProcessLimiter
  /** Memory from runs before, and for later ones; absent where nothing outlives this process. */
  readonly memory?: UpstreamMemory | undefined
  /** Takes every secret out of a text, before it is cut or kept. */
  hide(text: string): string
  /** Facts for making a sandbox around its processes. */
  readonly sandboxContext?: SandboxContext
  /** A notification that belongs to no request. `isMeant` says who hears of a changed resource; everybody who wants it when absent. */
  notify(notification: Notification, isMeant?: (session: Session) => boolean): void
  /** A legacy server's own request; `exchange` is the call it came with, where that is known. */
  ask(ask: Ask, exchange: Exchange | undefined): Promise<AskReply>
  /** Roots of clients for servers that ask outside any call; absent where nobody can be asked. */
  readonly roots?: ClientRootsProvider
  reportState(state: UpstreamState, problem?: string): void
  /** Says before each process of it why none may be started; undefined where one may. */
  readonly getStartRefusal?: () => string | undefined
  /**
   * Opens HTTP to the place that it is reached at, for a server that speaks no MCP: the gateway's own client, with proxies,
   * certificates, and the credentials of the authorizer. Absent where nothing is reached over a network.
   */
  readonly http?: ((reach: UpstreamEndpoint) => Promise<UpstreamHttp>) | undefined
  /** Puts credentials on its HTTP requests; absent where only the configuration says what they carry. */
  readonly authorizer?: Authorizer | undefined
  /** The account whose connections these are, where the authorizer keeps accounts apart. */
  readonly account?: string | undefined
  /** The caller of that account who called last. */
  readonly caller?: (() => Principal) | undefined
}

/**
 * Memory of one upstream from one run of the gateway to the next: plain JSON, each part under the name of its
 * keeper. What is kept here may be shown to every caller, so nothing goes in that was meant for some of them.
 */
export interface UpstreamMemory {
  /** Reads the value that was kept last; undefined when there is none, or when the upstream is configured in another way now. */
  read(part: string): unknown
  /** Keeps a value in the place of the one before. It is on the disk soon, or at the end. Never throws. */
  write(part: string, value: unknown): void
  /** Drops all parts. */
  forget(): void
}

/** Methods of HTTP that are sent toward servers. */
export type HttpMethod = 'GET' | 'HEAD' | 'OPTIONS' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The place that a server is reached at over HTTP, and the way there, in the words of the configuration. */
export interface UpstreamEndpoint {
  /** Only its origin counts. */
  readonly url: string
  readonly proxy?: string | false | undefined
  readonly tls?: TlsConfig | undefined
  readonly http2?: boolean | undefined
}

/** One request to a server that speaks HTTP and no MCP. */
export interface UpstreamHttpRequest {
  readonly method: HttpMethod
  /** Path and parameters, written for a URL. */
  readonly path: string
  /** Lower case names; `host`, `connection` and `content-length` are the client's own. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Most bytes of a reply that is no error. */
  readonly maxBytes: number
  /** The call that it carries: its headers go along, and it is given up with it. */
  readonly call: Call
}

/** A reply, whatever its status is. Of one that is an error no more than 64 KiB are kept. */
export interface UpstreamHttpReply {
  readonly status: number
  readonly contentType: string | undefined
  readonly retryAfterMs: number | undefined
  readonly body: Buffer
}

/** HTTP to one origin. Redirects are not followed, and nothing is sent twice but what an authorizer sends again. */
export interface UpstreamHttp {
  /** @throws GatewayError where there is no whole reply */
  request(request: UpstreamHttpRequest): Promise<UpstreamHttpReply>
  /** Takes no more requests; resolves when the last one has ended. */
  close(): Promise<void>
}

/** One HTTP request toward an upstream, as whoever puts credentials on it sees it. */
export interface OutgoingRequest {
  readonly upstream: string
  readonly method: HttpMethod
  /** The account of its connection, as `getAccount` said; undefined where all callers share connections. */
  readonly account: string | undefined
  /** The call that it carries; undefined for what the gateway asks by itself, such as a handshake. */
  readonly exchange: Exchange | undefined
  /** The caller; for a handshake of an account the one who called last. Undefined where no caller is meant. */
  readonly principal: Principal | undefined
}

/** A server's 401 or 403. */
export interface UpstreamRefusal {
  readonly status: 401 | 403
  /** The whole of `WWW-Authenticate`. */
  readonly challenge: string | undefined
  /** The credentials that it refused. */
  readonly sent: CredentialHeaders
  /** 1 for the first refusal of this request, and one more for each time that it was sent again. */
  readonly attempt: number
}

/** Headers that carry credentials, lower case names. */
export type CredentialHeaders = Readonly<Record<string, string>>

/**
 * Puts credentials on the HTTP requests of one upstream: POST, GET and DELETE of Streamable HTTP and of HTTP+SSE, and the
 * handshake of a WebSocket. An error of a plugin's own table that it throws is the caller's answer.
 */
export interface Authorizer {
  /** The headers of a request; they win over those that are configured. */
  headers(request: OutgoingRequest): CredentialHeaders | Promise<CredentialHeaders>
  /** Parameters of the URL of all requests of an account, which win over those that are configured. */
  query?(account: string | undefined): Readonly<Record<string, string>>
  /** The server refused them. Others: the request is sent once more, three times at most. Undefined: the refusal stands. */
  refused(request: OutgoingRequest, refusal: UpstreamRefusal): Promise<CredentialHeaders | undefined>
  /**
   * The account of a caller at this upstream. With it, callers of different accounts share no connection, no session and no
   * notification; without it, all share them. A throw refuses the call.
   */
  getAccount?(principal: Principal): string
}
