import type { Config, ListenerConfig, UpstreamConfig } from '../config/config.gen.ts'
import type { JsonObject, RpcId } from '../protocol/jsonrpc.ts'
import type { RpcError } from '../protocol/rpc-error.ts'
import type { Payload } from '../protocol/payload.ts'
import type { Kind } from '../protocol/methods.ts'
import type { Era } from '../protocol/versions.ts'
import type { UpstreamMemory } from './upstream-memory.ts'
import type { Figure, Sandboxing } from './plugin.ts'
import type { Credentials, HttpReply, HttpRequest, HttpSide, Neighbours, Refusal } from './http.ts'

/** What came of an exchange: refusing is a value, and so are a server's wish for input and a task that goes on. */
export type Answer =
  { result: Payload } | { error: RpcError; readonly http?: HttpSide } | { input: Payload } | { task: Payload }

/** Who the caller is, verified. `anonymous` on a local pipe or an unauthenticated listener. */
export interface Principal {
  readonly issuer: string
  readonly client: string
  readonly subject: string
  readonly scopes: readonly string[]
  /**
   * Who acts for it, where that is somebody else, such as an agent with a task of its: a delegate shares what its
   * principal may do, and finds none of the tasks that the principal has.
   */
  readonly delegate?: string
}

/** What a client said of itself: in `initialize` (legacy) or in each request's `_meta` (modern). */
export interface ClientSide {
  readonly info: { readonly name: string; readonly version: string; readonly [key: string]: unknown }
  readonly capabilities: JsonObject
  readonly version: string
  readonly era: Era
  /** The least severe log level the client wants; undefined means none was asked for. */
  logLevel: string | undefined
}

/** One client's conversation. A modern HTTP request is a conversation of its own. */
export interface Session {
  readonly id: string
  readonly listener: string
  /** Whose it is. Its scopes are those of the latest request; those of one request are on its exchange. */
  readonly principal: Principal
  readonly client: ClientSide
  /** What its caller calls it: conversations of one principal with one label are one to stateful servers. Never an identity. */
  readonly label?: string | undefined
  /** The profile it was opened for, by path or listener; part of the key of every view. */
  readonly profile?: string | undefined
  readonly slots: unknown[]
  /** Sends a notification to the client outside any request; false when nothing could carry it. */
  notify(notification: Notification): boolean
  /** Asks the client outside any request; absent where it cannot be asked so. */
  ask?: ((ask: Ask) => Promise<AskReply>) | undefined
}

/** A JSON-RPC notification in neutral form. */
export interface Notification {
  readonly method: string
  readonly params: JsonObject | undefined
}

/** What a server needs from the client in the middle of a call: elicitation, sampling or roots. */
export interface Ask {
  readonly method: string
  readonly params: JsonObject | undefined
  /** Whether the server no longer wants to know; absent where that cannot happen. */
  readonly isTakenBack?: boolean
  /** Runs `listener` when the server no longer wants to know: its reply is of no use then. */
  onTakeBack?(listener: (reason: string) => void): void
}
export type AskReply = { result: JsonObject } | { error: RpcError }

/** What a client said of its roots, outside any call. */
export interface ListedRoots {
  readonly of: Session
  readonly reply: AskReply
}

/** The roots of clients for one upstream, outside any call. `isOn` says which sessions use a link; absent where all may. */
export interface RootsOfClients {
  /** Asks the one client of a link; undefined where there is none, or no telling which it is. */
  list(ask: Ask, isOn?: (session: Session) => boolean): Promise<ListedRoots | undefined>
  /** Whether the client of a call is that one, so that it does not matter which of its calls asks. */
  isOnly(session: Session, isOn?: (session: Session) => boolean): boolean
  /** The client that would be asked. */
  clientOf(isOn?: (session: Session) => boolean): Promise<Session | undefined>
}

/** Where an exchange goes. `params` are the parameters as that upstream knows them. */
export type Route =
  | { readonly to: 'one'; readonly upstream: string; readonly params: JsonObject | undefined }
  | { readonly to: 'many'; readonly upstreams: readonly string[] }

/** One request on its way to its answer. */
export interface Exchange {
  readonly id: number
  readonly session: Session
  /** Who sent this request: the session's principal, with the scopes that came with this one. */
  readonly principal: Principal
  readonly method: string
  /** May be replaced by a `request` tap; never mutated in place. */
  params: JsonObject | undefined
  /** The parameters as they came: what is still the same goes on byte for byte. */
  readonly received?: JsonObject | undefined
  /** Whether the numbers among them are the same to every reader: 2^53+1 is another one to JavaScript. Absent: they are. */
  readonly hasExactNumbers?: boolean
  route: Route | undefined
  answer: Answer | undefined
  readonly slots: unknown[]
  /** Headers of the HTTP request that carried it, lower case; empty on a pipe. Never an identity. */
  readonly headers: Readonly<Record<string, string>>
  /** Length of the message that it came in; 0 where there was none, as inside the process. */
  readonly bytes: number
  /** The plugin whose `request` tap answered or refused it; undefined when none did. */
  readonly decidedBy: string | undefined
  /** Performance-clock time of arrival, in milliseconds. */
  readonly startedAt: number
  readonly cancelled: boolean
  /** Made on first use: an AbortSignal costs more than the rest of the road. */
  readonly signal: AbortSignal
  /** Runs `listener` when the client cancels or goes away; returns the way to take it back. */
  onCancel(listener: (reason: string) => void): () => void
  /** Sends a notification that belongs to this request ahead of its answer. */
  emit(notification: Notification): void
  /** Asks under way: while there are any, somebody thinks. */
  readonly asking: number
  /** Whether the client was asked or told anything about it before its answer: then it must not be begun anew. */
  readonly touched: boolean
  /** Whether this client can be asked at all, on this request. */
  readonly canAsk: boolean
  /** Asks the client; resolves with its reply, or an error where the client cannot be asked. */
  ask(ask: Ask): Promise<AskReply>
}

/** One request to one upstream. `params` and `headers` may be changed by `call` taps. */
export interface Call {
  readonly upstream: string
  readonly method: string
  params: JsonObject | undefined
  /** Extra HTTP headers toward the upstream, lower case names. */
  readonly headers: Record<string, string>
  readonly exchange: Exchange
  /** Whether the server may answer with a task. */
  readonly mayBeTask?: boolean
  /** Runs `listener` once when the call is given up, by the client or by `cancel`; returns the way to take it back. */
  onCancel(listener: (reason: string) => void): () => void
  /** Gives up this call alone, as a deadline does: its upstream is told, its exchange goes on. */
  cancel(reason: string): void
}

/** Calls an upstream. Never rejects for what the upstream said; rejects with a GatewayError when it could not be asked. */
export type Dispatch = (call: Call) => Promise<Answer>

/** `idle` not started, or ended for want of calls; the next one starts it · `starting` · `ready` · `failed` waiting for its next try · `stopped` for good. */
export type UpstreamState = 'idle' | 'starting' | 'ready' | 'failed' | 'stopped'

/** What a server said of itself in its handshake, in neutral form. */
export interface ServerSide {
  readonly era: Era
  readonly version: string
  readonly info: { readonly name: string; readonly version: string; readonly [key: string]: unknown }
  readonly capabilities: JsonObject
  readonly instructions: string | undefined
}

/** How an upstream does at this moment. Times are milliseconds since 1970. */
export interface UpstreamRuntime {
  /** Its live processes or connections; more than one where it has a pool, replicas, or isolation. */
  readonly instances: readonly {
    readonly pid?: number
    readonly startedAt: number
    readonly inFlight: number
  }[]
  /** How often it was started again since the gateway began. */
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
  /** What is said of the server was saved by an earlier run; it has not been spoken to in this one. */
  readonly remembered?: true
  readonly problem?: string
  readonly pid?: number
  readonly era?: string
  readonly version?: string
  readonly server?: { readonly name: string; readonly version: string }
  /** How often it sent what could not be given to anybody, by what it was; absent when it never did. */
  readonly dropped?: Readonly<Record<string, number>>
  /** What is wrong with it although it works: over 1,000 lines or 1 MiB within 10 s that are no messages. */
  readonly degraded?: string
  /** What is known of its processes or connections and its load; absent where that is not known. */
  readonly runtime?: UpstreamRuntime
  /** How many things of each kind it offers, once listed. */
  readonly offers?: Readonly<Partial<Record<Kind, number>>>
  /** Why a list of it is left out or not the newest, by kind; absent when all are as they should be. */
  readonly lists?: Readonly<Partial<Record<Kind, string>>>
  /** What plugins add by the `status` hook, each under a key of its own. */
  readonly [added: string]: unknown
}

/** One line that a server wrote beside the protocol; without what its configuration keeps secret, control characters escaped. */
export interface LogLine {
  /** When it came, in milliseconds since 1970. */
  readonly at: number
  readonly stream: 'stderr'
  /** The process that wrote it. */
  readonly pid?: number
  readonly text: string
}

/** What a server wrote beside the protocol. */
export interface UpstreamLogs {
  /** The last 64 KiB, oldest first, over all its processes. */
  recent(): readonly LogLine[]
  /** Hears each line from now on; returns the way to take it back. A hearer that throws hears no more. */
  follow(hear: (line: LogLine) => void): () => void
}

/** A configured server. */
export interface Upstream {
  readonly name: string
  readonly spec: UpstreamConfig
  readonly state: UpstreamState
  /** Why it is not ready, as one line for people. */
  readonly problem: string | undefined
  readonly server: ServerSide | undefined
  /** Process id of a local server, for inspect. */
  readonly pid: number | undefined
  /** How often it sent what could not be given to anybody, by what it was. */
  readonly dropped?: Readonly<Record<string, number>> | undefined
  /** What is wrong with it although it works, as one line for people. */
  readonly degraded?: string | undefined
  /** What it wrote on its stderr; absent where there is none. */
  readonly logs?: UpstreamLogs | undefined
  /** What is known of its processes or connections and its load. */
  readonly runtime?: UpstreamRuntime | undefined
  /** What outlives this process; absent where nothing does. */
  readonly memory?: UpstreamMemory | undefined
  /** Whether `server` was saved by an earlier run and nobody has asked since. */
  readonly isRemembered?: boolean
  dispatch: Dispatch
  /** A client's conversation is over: what was kept for it may go. */
  sessionEnded?(session: Session): void
  /** These clients have other roots now, or there are other clients: who was told of roots may have to ask again. */
  rootsChanged?(changed: readonly Session[]): void
  /** Resolves when the first attempt has ended, well or badly; never rejects. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** The right to run one process, from before it starts. Each may be said more than once. */
export interface ProcessPermit {
  /** It is up, or never will be: the next may start. */
  started(): void
  /** It is being ended: who wants its place may wait for that. */
  leaving(): void
  /** It has ended. */
  ended(): void
}

/** Processes that can be ended to make room for others. */
export interface YieldingProcesses {
  /** Since when one of them has had nothing to do, by the clock; undefined while there is none. */
  readonly idleSince: number | undefined
  /** Ends that one. */
  yield(): void
}

/** A place in the queue of those who want to start a process. */
export interface ProcessTurn {
  /** Rejects when there is no room, and none can be made. */
  readonly permit: Promise<ProcessPermit>
  /** Waits no longer: `permit` rejects, unless it was given already. */
  leave(): void
}

/** How many processes the upstreams of a gateway may start at a time, and have. */
export interface ProcessRoom {
  enter(): ProcessTurn
  /** Names what may be ended when there is no room; returns the way to take it back. */
  offer(from: YieldingProcesses): () => void
}

/** What the core offers to an upstream. */
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
  readonly room?: ProcessRoom
  /** What is known of it from before, and will be known later; absent where nothing outlives this process. */
  readonly memory?: UpstreamMemory | undefined
  /** Takes every secret out of a text, before it is cut or kept. */
  hide(text: string): string
  /** What a sandbox around its processes is made with. */
  readonly sandboxing?: Sandboxing
  /** A notification that belongs to no request. `isMeant` says who hears of a changed resource; everybody who wants it when absent. */
  notify(notification: Notification, isMeant?: (session: Session) => boolean): void
  /** A legacy server's own request; `exchange` is the call it came with, where that is known. */
  ask(ask: Ask, exchange: Exchange | undefined): Promise<AskReply>
  /** What clients say of their roots when no call asks; absent where nobody can be asked. */
  readonly roots?: RootsOfClients
  stateChanged(state: UpstreamState, problem?: string): void
}

/** Where clients arrive. */
export interface Listener {
  readonly name: string
  readonly type: string
  /** Where it can be reached, after `start`; undefined for a pipe. */
  readonly url: string | undefined
  /** Bytes that are held for its clients now. */
  readonly held?: number
  /** Resolves when a listener that has only one client has lost it. */
  readonly ended?: Promise<void>
  start(): Promise<void>
  /**
   * Takes over another spec while it listens, with all who are connected; false when another one must take its place.
   * @throws GatewayError when the spec is not fit for it; nothing has changed then.
   */
  adapt?(spec: ListenerConfig, config: Config, authenticates: boolean): boolean
  /** Stops accepting, lets what is open end within `graceMs`, then cuts it. */
  stop(graceMs: number): Promise<void>
  /** Asks again whose the open conversations are, and ends those that are nobody's any more. */
  recheck?(): void
}

/** What a listener hands to the road with each request. */
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

/** One request on the road, as its listener sees it. */
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
   * lasts as long as that –, and exchanges on the road.
   */
  status(): Readonly<{ upstreams: readonly UpstreamStatus[]; sessions: number; running: number }>
  /** What plugins count, by the `figures` hook. */
  figures(): readonly Figure[]
}

export interface Readiness {
  readonly ready: boolean
  readonly upstreams: Readonly<Record<string, { state: UpstreamState; problem?: string }>>
}

export interface ListenerContext {
  readonly name: string
  readonly log: Log
  readonly clock: Clock
  readonly gate: Gate
  /** Whether a plugin finds out who its clients are. */
  readonly authenticates: boolean
  /** The other processes that listen here; absent where there are none. */
  readonly neighbours?: Neighbours | undefined
}

/** Structured log to stderr; the protocol owns stdout. */
export interface Log {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
  child(fields: Record<string, unknown>): Log
}

/** Time as an argument, so that tests need no mocks. */
export interface Clock {
  /**
   * Milliseconds on a monotonic clock with an origin of its own: for differences, not for dates. It does not jump when the
   * system clock is set; `Date.now()` says what time it is.
   */
  now(): number
  /** Runs `callback` once after `ms`; returns the way to take it back. The timer never keeps the process alive. */
  after(ms: number, callback: () => void): () => void
}

export type { Config, ListenerConfig, UpstreamConfig, JsonObject, RpcId, RpcError, Payload, Era }
export type { UpstreamMemory }
export type * from './http.ts'
export type * from './plugin.ts'
