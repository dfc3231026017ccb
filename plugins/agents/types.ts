import type { AuditEvent, Clock, JsonObject, Log, Principal } from '../../src/plugin.ts'
import type { AgentSettings, ToolKind } from './settings.ts'

/** Facts that an agent gave in `initialize`. */
export interface AgentFacts {
  readonly name: string | undefined
  readonly version: string | undefined
  readonly protocol: number
  readonly canLoad: boolean
  readonly canResume: boolean
  readonly mcpHttp: boolean
  /** Mode that a session begins in where the settings name none; known after a probe. */
  readonly ownMode?: string
  readonly authMethods: readonly { readonly id: string; readonly name: string; readonly type: string }[]
}

/** Health of an agent, by the last probe or start of a process. */
export interface AgentHealth {
  readonly state: 'unknown' | 'ready' | 'needs_auth' | 'unavailable'
  readonly why?: string
  /** Last lines that it wrote to stderr, for the owner alone. */
  readonly lastWords?: string
  readonly facts?: AgentFacts
}

/** Request to open a session. */
export interface SessionRequest {
  /** The real path of the directory of the task. */
  readonly cwd: string
  readonly mcpServers: readonly JsonObject[]
  /** The id that the agent gave to a session before: resumed, else loaded. Without that ability, or when it fails, `open` rejects with kind `lost`. */
  readonly resume?: string
  /** Instead of the model of the settings. */
  readonly model?: string | undefined
  readonly side: SessionHandler
  /** Gives up waiting for a place or a phase. */
  readonly signal?: AbortSignal
}

/** End of a turn. */
export interface TurnEnd {
  readonly stopReason: 'end_turn' | 'max_tokens' | 'max_turn_requests' | 'refusal' | 'cancelled'
  /** As the agent said it. */
  readonly usage: JsonObject | undefined
}

/** Owner of a session: hears what the agent does, and answers what it asks. */
export interface SessionHandler {
  /** Every `session/update`, in order, with variants that we do not know as they came. */
  update(update: SessionUpdate): void
  /** Never rejects. */
  permission(request: PermissionRequest): Promise<PermissionOutcome>
  /** Result of `elicitation/create`. `signal` is aborted when the answer is not needed any more. */
  elicit(params: JsonObject, signal: AbortSignal): Promise<JsonObject>
}

/** One `session/update`. What updates a tool call is merged into the call it belongs to. */
export type SessionUpdate =
  | { readonly is: 'text'; readonly text: string }
  | { readonly is: 'thought'; readonly text: string }
  | { readonly is: 'content'; readonly content: JsonObject }
  | { readonly is: 'tool'; readonly call: AgentToolCall; readonly isNew: boolean }
  | { readonly is: 'plan'; readonly entries: readonly JsonObject[] }
  | { readonly is: 'usage'; readonly usage: JsonObject }
  | { readonly is: 'health'; readonly isBroken: boolean }
  | { readonly is: 'other'; readonly name: string; readonly update: JsonObject }

/** A tool call of the agent's own, with all that was said of it so far. Its words are the model's: untrusted. */
export interface AgentToolCall {
  readonly id: string
  readonly title: string
  readonly kind: ToolKind | undefined
  readonly status: 'pending' | 'in_progress' | 'completed' | 'failed'
  readonly paths: readonly string[]
  readonly rawInput: JsonObject | undefined
  readonly content: readonly JsonObject[]
}

/** Action that the agent wants to take; `call` is merged with what it announced before. */
export interface PermissionRequest {
  readonly call: AgentToolCall
  readonly options: readonly {
    readonly optionId: string
    readonly name: string
    readonly kind: 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always'
  }[]
  /** Aborted when nobody waits for the answer any more: the agent took it back, the turn was cancelled, or the process ended. */
  readonly signal?: AbortSignal
}

export type PermissionOutcome = { readonly optionId: string } | 'cancelled'

/** Why an agent could not do what was asked of it. `kind` is from structured signs only, never from prose. */
export type FailureKind =
  | 'spawn'
  | 'auth'
  | 'limit'
  | 'empty'
  | 'timeout'
  | 'crash'
  | 'protocol'
  | 'refused'
  | 'lost'
  | 'busy'
  | 'stopped'

/** Outcome of a task, for counting: one of few words. */
export type TaskOutcome = 'completed' | 'denied' | 'gateway' | FailureKind

/** Failure of an agent, or of the way to it, to do what was requested. */
export class AgentFailure extends Error {
  override readonly name = 'AgentFailure'
  readonly kind: FailureKind
  /** The phase it happened in: `spawn`, `initialize`, `session`, `prompt` …. */
  readonly phase: string
  /** The last words of its process, which may be about other callers: for logs alone. */
  lastWords: string | undefined = undefined

  constructor(kind: FailureKind, phase: string, message: string) {
    super(message)
    this.kind = kind
    this.phase = phase
  }
}

export interface PermissionVerdict {
  readonly do: 'allow' | 'deny' | 'ask'
  /** Name of the rule, for people. */
  readonly by: string
}

/** `interrupted`: the gateway ended in the middle; its owner may let it go on. The last four are final. */
export type TaskState =
  'queued' | 'starting' | 'running' | 'input_required' | 'interrupted' | 'completed' | 'failed' | 'cancelled'

/** Task as a caller wants it. Checked: paths are real and below the roots. */
export interface TaskRequest {
  readonly prompt: string
  readonly agent: string | undefined
  readonly taskType: string | undefined
  readonly capabilities: readonly string[]
  readonly cwd: string | undefined
  readonly files: readonly string[]
  /** Goes on in the session of this task of the same owner. */
  readonly continues: string | undefined
  readonly mode: string | undefined
  readonly model: string | undefined
  /** At most `timeouts.turn`. */
  readonly timeoutMs: number | undefined
  readonly isolation: 'none' | 'worktree' | undefined
  readonly idempotencyKey: string | undefined
  /** Lives on when the call that began it ends. */
  readonly background: boolean
}

/** The caller of a task. `owner` is the key of the principal: it is part of every query. */
export interface TaskCaller {
  readonly owner: string
  readonly issuer: string
  readonly subject: string
  /** The task whose agent called back; undefined for a client. */
  readonly parent: { readonly task: string; readonly root: string; readonly depth: number } | undefined
  /** Identity that an agent may call back as; undefined where nobody is there any more, as after a restart: then it calls nothing back. */
  readonly identity?: CallerIdentity | undefined
  /** Trace context of the call – `traceparent`, `tracestate`, `baggage` –, passed on to the agent in `_meta`. */
  readonly trace?: Readonly<Record<string, string>> | undefined
}

/** A principal in the profile that it came through. */
export interface CallerIdentity {
  readonly principal: Principal
  readonly profile: string | undefined
}

/** The gateway as an MCP server of the agents that work for it. */
export interface Callback {
  /** Makes a callback token for one session of a task; undefined where the agent may not call back, or nobody could be let in. */
  open(visit: {
    readonly task: string
    /** The first task of the chain, and how many stand between: 0 for one that a client began. */
    readonly root: string
    readonly depth: number
    readonly caller: TaskCaller
    readonly agent: AgentSettings
  }): CallbackToken | undefined
}

/** Open until it is closed; whoever uses it is the owner of the task, and sees no more than he does. */
export interface CallbackToken {
  /** An entry of `mcpServers`; it holds a secret. */
  readonly server: JsonObject
  /** True once any request came with its token. */
  readonly wasUsed: boolean
  close(): void
}

/** One task as its owner sees it. Times are milliseconds since 1970. */
export interface TaskView {
  readonly id: string
  readonly state: TaskState
  /** Why it is in this state, as one line. */
  readonly why: string | undefined
  readonly agent: string | undefined
  readonly decision: RouteDecision
  /** The agent's own id of the session, once there is one. */
  readonly sessionId: string | undefined
  readonly cwd: string
  readonly stopReason: string | undefined
  /** The first `output.inline` bytes of what the agent said. */
  readonly text: string
  readonly truncated: boolean
  readonly bytesTotal: number
  readonly filesChanged: readonly string[]
  readonly hasDiff: boolean
  /** Actions that were not allowed, one line each. */
  readonly denied: readonly string[]
  readonly warnings: readonly string[]
  readonly usage: JsonObject | undefined
  readonly attempts: readonly { readonly agent: string; readonly failure: string | undefined }[]
  readonly questions: readonly TaskQuestion[]
  readonly isError: boolean
  readonly createdAt: number
  readonly updatedAt: number
  readonly endedAt: number | undefined
  readonly ttlMs: number
  /** Number of the last event. */
  readonly seq: number
  readonly progress: string | undefined
}

/** One task in a list of the tasks of all callers, without anything that was said in it. */
export interface TaskSummary {
  readonly id: string
  readonly owner: string
  readonly issuer: string
  readonly subject: string
  readonly state: TaskState
  readonly why: string | undefined
  readonly agent: string | undefined
  readonly parent: string | undefined
  readonly progress: string | undefined
  readonly isError: boolean
  readonly hasDiff: boolean
  readonly createdAt: number
  readonly updatedAt: number
  readonly endedAt: number | undefined
}

/** Question that the task waits for. Answered by `reply`, once. */
export interface TaskQuestion {
  readonly id: string
  readonly kind: 'permission' | 'elicitation' | 'continue'
  readonly message: string
  /** JSON Schema of the answer's content, flat, as elicitation forms have it. */
  readonly schema: JsonObject
}

/** One thing that happened. Text of the agent is in the text, not here. */
export interface TaskEvent {
  readonly seq: number
  readonly at: number
  readonly kind: 'state' | 'tool' | 'plan' | 'permission' | 'thought' | 'warning' | 'usage'
  readonly text: string
}

/** Choice of the agent of a task, and why; the same for the same facts. */
export interface RouteDecision {
  /** In order: the first one gets it, the others are for fallback. Empty when nobody can. */
  readonly chosen: readonly string[]
  /** `explicit`, `rule:<id>`, `default`, `order`. */
  readonly by: string
  readonly candidates: readonly { readonly agent: string; readonly why: string; readonly fits: boolean }[]
  /** Agents that would have had it, and are not well. */
  readonly passedOver?: readonly { readonly agent: string; readonly why: string }[]
}

/** One agent as callers see it. */
export interface AgentRow {
  readonly id: string
  readonly title: string | undefined
  readonly description: string | undefined
  readonly capabilities: readonly string[]
  readonly health: AgentHealth
  readonly running: number
  readonly queued: number
  readonly load: { readonly processes: number; readonly sessions: number }
}

/** A piece of something long. `next` is undefined at the end. */
export interface Page {
  readonly text: string
  readonly next: number | undefined
  /** Offset behind it: what comes later begins there. */
  readonly end: number
  readonly total: number
  /** True if something is missing because it was too much to keep. */
  readonly cut: boolean
}

export type QuestionAnswer =
  { readonly action: 'accept'; readonly content: JsonObject } | { readonly action: 'decline' | 'cancel' }

/** Dependencies of the task service. */
export interface ServiceEnvironment {
  /** The database; undefined for memory. */
  readonly file: string | undefined
  readonly log: Log
  readonly clock: Clock
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Without secrets. */
  hide(text: string): string
  /** Gives an audit what was permitted and denied. */
  record?(event: AuditEvent): void
}
