import type { TaskState } from '../protocol/era/tasks.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import type { Payload } from '../protocol/payload.ts'
import type { RpcError } from '../protocol/rpc-error.ts'
import type { Era, Kind } from '../protocol/methods.ts'
import type { CatalogEntry } from './catalog-entry.ts'

/** Answer of an exchange: refusing is a value, and so are a server's wish for input and a task that goes on. */
export type Answer =
  | { result: Payload }
  | {
      error: RpcError
      readonly http?: HttpErrorResponse
      /** Plugin that refused it on the way to a server, as `dispatch` taps may; a refusal in `request` needs no mark. */
      readonly refusedBy?: string
    }
  | { input: Payload }
  | { task: Payload }

/** The caller, verified. `anonymous` on a local pipe or an unauthenticated listener. */
export interface Principal {
  readonly issuer: string
  readonly client: string
  readonly subject: string
  readonly scopes: readonly string[]
  /** Groups that its token names, and all claims of it; only where rules may read them. */
  readonly groups?: readonly string[]
  readonly claims?: JsonObject
  /**
   * Party that acts for it, if somebody else, such as an agent with a task of its own: a delegate shares what its
   * principal may do, and finds none of the tasks that the principal has.
   */
  readonly delegate?: string
}

/** A client's description of itself: in `initialize` (legacy) or in each request's `_meta` (modern). */
export interface ClientDescription {
  readonly info: { readonly name: string; readonly version: string; readonly [key: string]: unknown }
  readonly capabilities: JsonObject
  readonly version: string
  readonly era: Era
  /** The least severe log level the client wants; undefined means none was asked for. */
  logLevel: string | undefined
}

/** Choices of a client, by the names of the parameters of its URL: those that a plugin knows, and has let pass. */
export type Choices = Readonly<Record<string, string>>

/** One client's conversation. A modern HTTP request is a conversation of its own. */
export interface Session {
  readonly id: string
  readonly listener: string
  /** Its caller, with the scopes of the request that opened it or, on an exchange, of that request. */
  readonly principal: Principal
  readonly client: ClientDescription
  /** Its caller's name for it: conversations of one principal with one label are one to stateful servers. Never an identity. */
  readonly label?: string | undefined
  /** The directory that its client works in, where a program on this machine has told it. */
  readonly directory?: string | undefined
  /** The profile it was opened for, by path or listener; part of the key of every view. */
  readonly profile?: string | undefined
  /** Choices that its client has made by parameters of its URL (`choice`): hints, and no right to anything. */
  readonly choices?: Choices | undefined
  readonly slots: unknown[]
  /** Sends a notification to the client outside any request; false when nothing could carry it. */
  notify(notification: Notification): boolean
  /** Asks the client outside any request; absent where it cannot be asked so. */
  ask?: ((ask: Ask) => Promise<AskReply>) | undefined
}

/** Way of a request to the gateway: by an HTTP request of its own, as MCP or as REST, over a connection that stays, or from within the process. */
export type Via = 'http' | 'rest' | 'sse' | 'ws' | 'stdio' | 'in-process'

/** A JSON-RPC notification in neutral form. */
export interface Notification {
  readonly method: string
  readonly params: JsonObject | undefined
  /** True for news of lists that only some sessions are shown, as a process that is not for all says them. */
  readonly isForOwnLists?: boolean
}

/** A client request, which a server makes in the middle of a call: elicitation, sampling or roots. */
export interface Ask {
  readonly method: string
  /** May be replaced by a `clientRequest` tap; never mutated in place. */
  params: JsonObject | undefined
  /** True if the server no longer wants to know; absent where that cannot happen. */
  readonly isCancelled?: boolean
  /** Runs `listener` when the server no longer wants to know: its reply is of no use then. */
  onCancel?(listener: (reason: string) => void): void
}

/** A client's reply to what a server asked of it: the result, or the error that it answered with. */
export type AskReply = { result: JsonObject } | { error: RpcError }

/** Receives client requests of an exchange and, optionally, progress of its server. */
export interface AskWatcher {
  /** The client begins to be asked: whatever takes its part in the request waits for it. */
  onAskStart(): void
  /**
   * The client is asked nothing any more. Its last reply goes on once this resolves, or at once where it is undefined; false keeps the
   * reply back, as what asked has ended.
   */
  onAskEnd(): Promise<boolean> | undefined
  /** The server reports progress. */
  onProgress?(): void
}

/** Destination of an exchange. `params` are the parameters as that upstream knows them. */
export type Route =
  | { readonly to: 'one'; readonly upstream: string; readonly params: JsonObject | undefined }
  | { readonly to: 'many'; readonly upstreams: readonly string[] }

/** One request on its way to its answer. */
export interface Exchange {
  readonly id: number
  /** The conversation as this request sees it: its client, its label and its scopes may differ from request to request. */
  readonly session: Session
  /** The caller of this request: the session's principal, with the scopes that came with this one. */
  readonly principal: Principal
  readonly method: string
  /** May be replaced by a `request` tap; never mutated in place. */
  params: JsonObject | undefined
  /** The parameters as they came: what is still the same goes on byte for byte. */
  readonly received?: JsonObject | undefined
  /** True if the numbers among them are the same to every reader: 2^53+1 is another one to JavaScript. Absent: they are. */
  readonly hasExactNumbers?: boolean
  route: Route | undefined
  /** The tool, prompt, resource or template that it is for, as the catalog shows it to this caller; known once it is routed. */
  readonly entry: CatalogEntry | undefined
  answer: Answer | undefined
  /** The request that was answered with a task, where this one goes on in its place. */
  readonly origin?: Exchange | undefined
  readonly slots: unknown[]
  /** Headers of the HTTP request that carried it, lower case; empty on a pipe. Never an identity. */
  readonly headers: Readonly<Record<string, string>>
  readonly via: Via
  /** The address of the other end of its connection: that of a proxy, where one stands before the gateway. Absent where there is none. */
  readonly remoteAddress?: string | undefined
  /** Length of the message that it came in; 0 where there was none, as inside the process. */
  readonly bytes: number
  /** The plugin whose `request` tap answered or refused it; undefined when none did. */
  readonly decidedBy: string | undefined
  /** Performance-clock time of arrival, in milliseconds. */
  readonly startedAt: number
  /** Time in each phase so far; only where a tap of `settled` is `timed`. */
  readonly times?: PhaseTimes | undefined
  readonly cancelled: boolean
  /** Made on first use: an AbortSignal costs more than the rest of the pipeline. */
  readonly signal: AbortSignal
  /** Runs `listener` when the client cancels or goes away; returns the way to take it back. */
  onCancel(listener: (reason: string) => void): () => void
  /** True if another call carried it in its arguments: what its headers say of a tool is about that one. Absent: it came as it is. */
  readonly isUnwrapped?: boolean
  /**
   * Calls a tool for this request: a call of the same caller, by the name that it is shown, on the same way through rules, limits and
   * audit as any other. Its client cannot be asked, and nothing is told to it. It ends with this request. Never rejects.
   */
  callTool(name: string, args: JsonObject): Promise<Answer>
  /** The list as this request's client is shown it: as it was last made, seconds ago at most where it is asked for all the time. */
  listShownEntries(kind: Kind): Promise<readonly CatalogEntry[]>
  /** Sends a notification that belongs to this request ahead of its answer. */
  emit(notification: Notification): void
  /** Asks under way: while there are any, somebody thinks. */
  readonly openAsks: number
  /** Notifies `watcher` of client requests and progress from now on, until `unwatchAsks`. Costs nothing without them. */
  watchAsks(watcher: AskWatcher): void
  unwatchAsks(watcher: AskWatcher): void
  /** True if the client was asked or told anything about it before its answer: then it must not be begun anew. */
  readonly hasReachedClient: boolean
  /** True if this client can be asked at all, on this request. */
  readonly canAsk: boolean
  /** Asks the client; resolves with its reply, or an error where the client cannot be asked. */
  ask(ask: Ask): Promise<AskReply>
}

/** A call of a tool that stood in the arguments of another call. */
export interface WrappedCall {
  readonly name: string
  /** Arguments of that call; an object of the arguments that came goes on byte for byte. */
  readonly arguments: JsonObject
}

/** A request of another method that stood in the arguments of a call, such as for a resource. */
export interface WrappedRequest {
  readonly method:
    'resources/list' | 'resources/templates/list' | 'resources/read' | 'prompts/list' | 'prompts/get'
  readonly params: JsonObject
  /** Makes of its answer, once all have seen that, the answer of the call: a tool's result. */
  readonly convertAnswer: (answer: Answer) => Answer
}

/** One request to one upstream. `params` and `headers` may be changed by `call` taps. */
export interface Call {
  readonly upstream: string
  readonly method: string
  params: JsonObject | undefined
  /** Extra HTTP headers toward the upstream, lower case names. */
  readonly headers: Record<string, string>
  readonly exchange: Exchange
  /** True if the server may answer with a task. */
  readonly mayBeTask?: boolean
  /** Key of the connection whose list is asked for, as `listsOf` of its upstream says; absent for the one that all are shown. */
  readonly listKey?: string | undefined
  /**
   * Says why the configuration that runs by now would not make this call as it was made: its caller is not let in any more, its
   * server or its name is another one. Undefined where it would. Absent where no other configuration can come.
   */
  findOutdatedReason?(): Promise<string | undefined>
  /** Runs `listener` once when the call is given up, by the client or by `cancel`; returns the way to take it back. */
  onCancel(listener: (reason: string) => void): () => void
  /** Gives up this call alone, as a deadline does: its upstream is told, its exchange goes on. */
  cancel(reason: string): void
}

/** Patience of the client of a call, and what becomes of one that takes longer. */
export type PatienceLimit = BackgroundCall | UpstreamHeldCall

/** A call that goes on in the gateway after its client was answered. */
export interface BackgroundCall {
  readonly ms: number
  /** Time for which the call and its answer are kept. */
  readonly retainMs?: number
  /** The answer for a client that does not know tasks. The call goes on, and is looked at and ended by what it is given. */
  createAnswer(running: RunningCall): Answer
}

/** A call whose work its server keeps by itself, as agents do: nothing of it is kept here. */
interface UpstreamHeldCall {
  readonly ms: number
  /** The patience is over: its server answers the call now, and says in the answer where its work can be asked about. */
  onTimeout(): void
}

/** A call that goes on after its client was answered. It is the caller's: who keeps it keeps it for nobody else. */
export interface RunningCall {
  /** Outcome of the call; undefined until it has ended. */
  readonly answer: Answer | undefined
  /** The last that its server said of it. */
  readonly message: string | undefined
  /** Its open asks, as `inputRequests` of this client; undefined where it asks nothing. */
  getInputRequests(client: ClientDescription): JsonObject | undefined
  /** Gives it the client's replies to them. */
  submitResponses(responses: JsonObject, client: ClientDescription): void
  /** Runs `watcher` after each change; returns the way to take it back. */
  watch(watcher: () => void): () => void
  /** Ends it. False when it had ended already. */
  cancel(reason: string): boolean
}

/** A call that a person is to decide about, before its server hears of it. */
export interface ApprovalRequest {
  readonly call: Call
  /** Rule that wants it. */
  readonly rule: string
  /** Digest of the rules that judged the call. */
  readonly rules: string
  /** Name by which the client knows the thing that is called. */
  readonly name: string
  /** The arguments as people are shown them, where a tap of `approval` hides a part: by default those of the call. */
  shownArguments?: unknown
  /** Says what became another one meanwhile: the rules, or the definition of the tool; undefined for nothing. */
  readonly findChange: () => string | undefined
}

/** Decision on a call. One that was granted is good for this call, once; `ended` hears of its answer, or of none. */
export type Approval =
  | { readonly granted: true; readonly ended?: (answer: Answer | undefined) => void }
  | { readonly granted: false; readonly answer: Answer }

/** Calls an upstream. Never rejects for what the upstream said; rejects with a GatewayError when it could not be asked. */
export type Dispatch = (call: Call) => Promise<Answer>

/** HTTP's words for an error, where the whole response is this one answer; everywhere else the error alone is sent. */
export interface HttpErrorResponse {
  readonly status: number
  /** Such as `retry-after`; lower case names. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Outcomes of an exchange, in short. */
export const OUTCOMES = ['ok', 'is_error', 'error', 'refused', 'cancelled', 'input_required', 'task'] as const

/**
 * `ok` · `is_error` a tool said that it failed · `error` · `refused` by a plugin or the catalog, before any server was
 * asked · `cancelled` by the client · `input_required` the client is asked first · `task` goes on after this answer.
 */
export type ExchangeOutcome = (typeof OUTCOMES)[number]

/** Says what came of an exchange that is settled. */
export function getOutcome({ method, answer, cancelled, route, decidedBy }: Exchange): ExchangeOutcome {
  if (cancelled) return 'cancelled'
  if (answer === undefined) return 'error'
  if ('result' in answer) return method === 'tools/call' && hasFailed(answer.result) ? 'is_error' : 'ok'
  if ('input' in answer) return 'input_required'
  if ('task' in answer) return 'task'
  return decidedBy !== undefined || route === undefined ? 'refused' : 'error'
}

/** True if a tool said of its result that it failed (`isError`). A result is read only where it says something of the kind. */
export function hasFailed(result: Payload): boolean {
  return result.isToolError
}

/** A call that goes on as a task of the gateway, as its owner sees it. */
export interface HostedCall {
  /** Our own id of it, which is of no use to clients. */
  readonly id: string
  readonly tool: string
  readonly upstream: string
  readonly subject: string
  readonly issuer: string
  readonly client: string
  readonly state: TaskState['status']
  readonly message?: string
  /** Number of questions that it waits for its client to answer. */
  readonly asks: number
  /** Milliseconds since 1970, as all times of it. */
  readonly createdAt: number
  readonly updatedAt: number
  /** Moment in which it is forgotten, ended or not. */
  readonly expiresAt: number
  /** Size of what came of it; absent where that is no result, or none yet. */
  readonly resultBytes?: number
}

/**
 * Part of the way of a call: `before` it leaves for a server, rules (`policy`), what is kept (`cache`), the wait for a turn (`queue`),
 * the server itself (`upstream`), the client while it is asked something, plugins that do not say what they do (`other`), and what
 * comes after the server's answer.
 */
export type CallPhase = 'before' | 'policy' | 'cache' | 'queue' | 'upstream' | 'client' | 'other' | 'after'

/** Milliseconds of an exchange in each phase so far. Each moment belongs to one phase: the sum is its age. */
export interface PhaseTimes extends Readonly<Record<CallPhase, number>> {
  /** Times that a server was asked; 0 where a plugin answered in its place. */
  readonly tries: number
  /** True once it had left for a server, whether that was asked or not. */
  readonly isDispatched: boolean
}
