import type { TaskState } from '../protocol/era/convert.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import type { Payload } from '../protocol/payload.ts'
import type { RpcError } from '../protocol/rpc-error.ts'
import type { EntryKind, Era, Kind } from '../protocol/methods.ts'
import type { CatalogEntry } from './catalog-entry.ts'

/** Exchange answer: result, error, input request or task. */
export type Answer =
  | { result: Payload }
  | {
      error: RpcError
      readonly http?: HttpErrorResponse
      /** Plugin that refused the call in a `dispatch` tap; refusals in `request` set `decidedBy` instead. */
      readonly refusedBy?: string
    }
  | { input: Payload }
  | { task: Payload }

/** The verified caller; `anonymous` on a local pipe or an unauthenticated listener. */
export interface Principal {
  readonly issuer: string
  readonly client: string
  readonly subject: string
  readonly scopes: readonly string[]
  /** Groups and claims of its token; set only if rules may read them. */
  readonly groups?: readonly string[]
  readonly claims?: JsonObject
  /**
   * Party that acts for the principal, such as an agent with a task. It has the same permissions, but its own tasks.
   */
  readonly delegate?: string
}

/** A client's self-description: in `initialize` (legacy) or in each request's `_meta` (modern). */
export interface ClientDescription {
  readonly info: { readonly name: string; readonly version: string; readonly [key: string]: unknown }
  readonly capabilities: JsonObject
  readonly version: string
  readonly era: Era
  /** Minimum log level that the client requested; undefined if none. */
  logLevel: string | undefined
}

/** A client's URL parameters, by name: hints, not permissions. */
export type Choices = Readonly<Record<string, string>>

/** One client's conversation. A modern HTTP request is a session of its own. */
export interface Session {
  readonly id: string
  readonly listener: string
  /** Principal with the scopes of the opening request or, on an exchange, of that request. */
  readonly principal: Principal
  readonly client: ClientDescription
  /**
   * The caller's label for the conversation: stateful servers see one conversation per principal and label. Not an
   * identity.
   */
  readonly label?: string | undefined
  /** The client's working directory, if a local program reported it. */
  readonly directory?: string | undefined
  /** Profile selected by path or listener; part of every view key. */
  readonly profile?: string | undefined
  /** Parameters in the URL that opened the session. Anyone with the URL can set them, so they must not grant access. */
  readonly choices?: Choices | undefined
  readonly slots: unknown[]
  /** Runs `listener` when the session has ended. */
  onEnd(listener: (reason: string) => void): void
  /** Sends a notification outside any request; false if it cannot be delivered. */
  notify(notification: Notification): boolean
  /** Sends a client request outside any call; absent if the client cannot receive one. */
  ask?: ((ask: Ask) => Promise<AskReply>) | undefined
}

/** Request transport: MCP or REST over HTTP, a permanent connection, or in-process. */
export type Via = 'http' | 'rest' | 'sse' | 'ws' | 'stdio' | 'in-process'

/** A JSON-RPC notification in neutral form. */
export interface Notification {
  readonly method: string
  readonly params: JsonObject | undefined
}

/** A request of a server to the client during a call: elicitation, sampling or roots. */
export interface Ask {
  readonly method: string
  /** May be replaced by a `clientRequest` tap; never mutated in place. */
  params: JsonObject | undefined
  /** True if the server cancelled the request; absent if it cannot be cancelled. */
  readonly isCancelled?: boolean
  /** Runs `listener` when the server cancels the request. */
  onCancel?(listener: (reason: string) => void): void
}

/** A client's reply to a client request. */
export type AskReply = { result: JsonObject } | { error: RpcError }

/** Receives start and end of client requests and, optionally, progress. */
export interface AskWatcher {
  /** Called when the first open client request starts. */
  onAskStart(): void
  /** Called when no client request is open, before the last reply is delivered. */
  onAskEnd(): void
  /** Called for server progress. */
  onProgress?(): void
}

/** Exchange destination. `params` are in the upstream's terms; `entry` is the target if the catalog does not have it. */
export type Route =
  | {
      readonly to: 'one'
      readonly upstream: string
      readonly params: JsonObject | undefined
      readonly entry?: CatalogEntry
    }
  | { readonly to: 'many'; readonly upstreams: readonly string[] }

/** One request until its answer. */
export interface Exchange {
  readonly id: number
  /** The session as seen by this request: client, label and scopes may differ per request. */
  readonly session: Session
  /** The session's principal, with the scopes of this request. */
  readonly principal: Principal
  readonly method: string
  /** May be replaced by a `request` tap; never mutated in place. */
  params: JsonObject | undefined
  /** Parameters as received; unchanged parts are forwarded byte for byte. */
  readonly received?: JsonObject | undefined
  /** False if a number, such as 2^53+1, is changed by JavaScript. Absent: exact. */
  readonly hasExactNumbers?: boolean
  route: Route | undefined
  /** Target as the rules show it to this caller; set once it is routed. A `call` tap may replace it, also by a refused one. */
  entry: CatalogEntry | undefined
  answer: Answer | undefined
  /** The request that was answered with a task, if this exchange continues it. */
  readonly origin?: Exchange | undefined
  readonly slots: unknown[]
  /** HTTP headers of the request, lower case; empty on a pipe. Not an identity. */
  readonly headers: Readonly<Record<string, string>>
  readonly via: Via
  /** Peer address of the connection, possibly of a proxy. Absent without a network connection. */
  readonly remoteAddress?: string | undefined
  /** Received message length; 0 for in-process requests. */
  readonly bytes: number
  /** Plugin whose `request` tap answered or refused the request. */
  readonly decidedBy: string | undefined
  /** Arrival time on the performance clock, in milliseconds. */
  readonly startedAt: number
  /** Set only if a `settled` tap is `timed`. */
  readonly times?: CallTimes | undefined
  /** Facts for logs and statistics, without secrets; final in a `settled` tap. */
  readonly record: CallRecord
  readonly cancelled: boolean
  /** Created on first use, as an AbortSignal is expensive. */
  readonly signal: AbortSignal
  /** Runs `listener` when the client cancels or disconnects; returns a function that unregisters it. */
  onCancel(listener: (reason: string) => void): () => void
  /** True if the request was unwrapped from another call; HTTP headers then describe the outer call. */
  readonly isUnwrapped?: boolean
  /**
   * Calls a tool for this request, with the caller's rules, limits and audit. `name` is the name shown to the caller.
   * The client gets no requests or notifications. The call ends with this request. Never rejects.
   */
  callTool(name: string, args: JsonObject): Promise<Answer>
  /** Returns the list that this client sees; may be a few seconds old under load. */
  listShownEntries(kind: Kind): Promise<readonly CatalogEntry[]>
  /** Checks whether rules let this caller use an upstream's entry, in a list or not; an empty name checks the upstream. */
  mayUse(kind: EntryKind, upstream: string, original: string): boolean
  /** Applies the `catalog` taps to an entry, described by `value` if it is known; a hidden one gets a refusal. */
  judgeEntry(kind: EntryKind, upstream: string, original: string, value?: JsonObject): CatalogEntry
  /** Sends this request's notification before its answer. */
  emit(notification: Notification): void
  /** Open client request count. */
  readonly openAsks: number
  /** Notifies `watcher` of client requests and progress until `unwatchAsks`. */
  watchAsks(watcher: AskWatcher): void
  unwatchAsks(watcher: AskWatcher): void
  /** True if the client already got a request or notification for it, so that it must not be retried. */
  readonly hasReachedClient: boolean
  /** True if the client can receive client requests during this request. */
  readonly canAsk: boolean
  /** Sends a client request; resolves with the reply, or an error if the client cannot receive it. */
  ask(ask: Ask): Promise<AskReply>
}

/** A tool call unwrapped from the arguments of another call. */
export interface WrappedCall {
  readonly name: string
  /** The inner call's arguments; objects taken from the outer arguments are forwarded byte for byte. */
  readonly arguments: JsonObject
}

/** A request of another method, unwrapped from the arguments of a call. */
export interface WrappedRequest {
  readonly method:
    'resources/list' | 'resources/templates/list' | 'resources/read' | 'prompts/list' | 'prompts/get' | 'skills/list'
  readonly params: JsonObject
  /** Converts its answer to a tool result, after all `response` taps. */
  readonly convertAnswer: (answer: Answer) => Answer
}

/** One request to one upstream. `call` taps may change `params`, `headers` and `patience`. */
export interface Call {
  readonly upstream: string
  readonly method: string
  params: JsonObject | undefined
  /** Additional HTTP headers for the upstream, lower case. */
  readonly headers: Record<string, string>
  readonly exchange: Exchange
  /** How long the client waits; a `call` tap may set it. */
  patience?: PatienceLimit | undefined
  /** True if the server may answer with a task. */
  readonly mayBeTask?: boolean
  /**
   * Returns the reason if the current configuration would not make this call any more: the caller lost access, or the
   * server or name changed. Absent without reloads.
   */
  findOutdatedReason?(): Promise<string | undefined>
  /** Runs `listener` once when the client or `cancel` cancels the call; returns a function that unregisters it. */
  onCancel(listener: (reason: string) => void): () => void
  /** Cancels this call only, as a deadline does; the exchange continues. */
  cancel(reason: string): void
}

/** How long the client of a call waits, and how a slower call continues. */
export type PatienceLimit = BackgroundCall | UpstreamHeldCall

/** A call that continues in the gateway after its client was answered. */
export interface BackgroundCall {
  readonly ms: number
  /** Retention of the call and its answer, in milliseconds. */
  readonly retainMs?: number
  /** Creates the answer for a client without task support; `running` controls the call from then on. */
  createAnswer(running: RunningCall): Answer
}

/** A call whose upstream stores its work, as agents do. */
interface UpstreamHeldCall {
  readonly ms: number
  /** Called when the client has waited `ms`: the upstream must answer now and explain how to get the result. */
  onTimeout(): void
}

/** A call that continues after its client was answered. Only its caller may access it. */
export interface RunningCall {
  /** Answer; undefined while the call runs. */
  readonly answer: Answer | undefined
  /** The server's last progress message. */
  readonly message: string | undefined
  /** Open client requests as `inputRequests` for this client; undefined if none. */
  getInputRequests(client: ClientDescription): JsonObject | undefined
  /** Submits the client's replies. */
  submitResponses(responses: JsonObject, client: ClientDescription): void
  /** Runs `watcher` after each change; returns a function that unregisters it. */
  watch(watcher: () => void): () => void
  /** Cancels the call; false if it had ended. */
  cancel(reason: string): boolean
}

/** A call that needs a person's approval before it is sent. */
export interface ApprovalRequest {
  readonly call: Call
  /** Rule that requires the approval. */
  readonly rule: string
  /** Digest of the rules that judged the call. */
  readonly rules: string
  /** Exposed tool or resource name. */
  readonly name: string
  /** Arguments as shown to people, if an `approval` tap hides a part; default: the call's arguments. */
  shownArguments?: unknown
  /** Returns the change since the request: the rules or the tool's definition; undefined if none. */
  readonly findChange: () => string | undefined
}

/** Decision on a call. A grant is valid once; `ended` receives the answer, or undefined if there is none. */
export type Approval =
  | { readonly granted: true; readonly ended?: (answer: Answer | undefined) => void }
  | { readonly granted: false; readonly answer: Answer }

/** Calls an upstream. Resolves with the upstream's errors; rejects with a GatewayError if it cannot be called. */
export type Dispatch = (call: Call) => Promise<Answer>

/** HTTP status and headers of an error, used if the response is this answer alone. */
export interface HttpErrorResponse {
  readonly status: number
  /** Lower case names, such as `retry-after`. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * `ok` · `is_error` tool reported a failure · `error` · `refused` by a plugin or the catalog before any server was
 * called · `cancelled` by the client · `input_required` the client must answer first · `task` continues as a task.
 */
export type ExchangeOutcome = 'ok' | 'is_error' | 'error' | 'refused' | 'cancelled' | 'input_required' | 'task'

/** Classifies a settled exchange. */
export function getOutcome({ method, answer, cancelled, route, decidedBy }: Exchange): ExchangeOutcome {
  if (cancelled) return 'cancelled'
  if (answer === undefined) return 'error'
  if ('result' in answer) return method === 'tools/call' && answer.result.isToolError ? 'is_error' : 'ok'
  if ('input' in answer) return 'input_required'
  if ('task' in answer) return 'task'
  return decidedBy !== undefined || route === undefined ? 'refused' : 'error'
}

/** Facts about a settled request: secrets are hidden, and texts of peers truncated. */
export interface CallRecord {
  /** Unique in this generation. */
  readonly id: number
  /** End, in milliseconds since 1970. */
  readonly at: number
  readonly ms: number
  readonly method: string
  /** Name or task id as the client sent it, or a URI without query and credentials; empty if there is none. */
  readonly name: string
  /** The server's name for it; empty without a server. */
  readonly original: string
  readonly upstream: string
  /** Issuer, client and subject. */
  readonly principal: readonly [issuer: string, client: string, subject: string]
  readonly scopes: string
  readonly listener: string
  readonly profile: string
  readonly client: string
  readonly clientVersion: string
  readonly era: string
  readonly via: string
  /** Digest from the session id; empty for modern clients, which have a session per request. */
  readonly session: string
  readonly outcome: ExchangeOutcome
  /** Plugin that refused or answered the request. */
  readonly by: string
  /** JSON-RPC error code; 0 without an error. */
  readonly code: number
  /** Error code of the gateway, or a plugin's message. Empty for a server's error, which may contain secrets. */
  readonly reason: string
  /** Error message, for the owner only. */
  readonly error: string
  readonly bytesIn: number
  /** Result size; 0 without one. */
  readonly bytesOut: number
  /** Argument names, types and lengths of a tool or prompt. */
  readonly shape: unknown
  /** Incoming `traceparent`; empty if there is none. */
  readonly trace: string
  /** Set if a `settled` tap is `timed`. */
  readonly times: CallTimes | undefined
  /** Returns the arguments as JSON; a note if they are too long. Record them only if the owner wants values. */
  writeArguments(): string
  /** Returns the beginning of the result as JSON; empty without one. */
  writeResult(): string
}

/** A hosted task, as its owner sees it. */
export interface HostedCall {
  /** Internal id, not usable by clients. */
  readonly id: string
  readonly tool: string
  readonly upstream: string
  readonly subject: string
  readonly issuer: string
  readonly client: string
  readonly state: TaskState['status']
  readonly message?: string
  /** Open client request count. */
  readonly asks: number
  /** All times: milliseconds since 1970. */
  readonly createdAt: number
  readonly updatedAt: number
  /** When the task is deleted, ended or not. */
  readonly expiresAt: number
  /** Result size; absent without a result. */
  readonly resultBytes?: number
}

/** Time that a call has spent outside the gateway. */
export interface CallTimes {
  /** Milliseconds in servers, without client requests. */
  readonly upstream: number
  /** Milliseconds in client requests. */
  readonly client: number
  /** Upstream calls; 0 if a plugin answered instead. */
  readonly tries: number
}
