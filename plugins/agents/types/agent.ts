import type { JsonObject } from '../../../src/plugin.ts'
import type { AgentSettings, PermissionPolicy, ToolKind } from './settings.ts'

/** Facts that an agent gave in `initialize`. */
export interface AgentFacts {
  readonly name: string | undefined
  readonly version: string | undefined
  readonly protocol: number
  readonly canLoad: boolean
  readonly canResume: boolean
  readonly canClose: boolean
  readonly mcpHttp: boolean
  readonly images: boolean
  readonly audio: boolean
  readonly embedded: boolean
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

/** One agent, with a process for each session. */
export interface AgentHost {
  readonly settings: AgentSettings
  readonly health: AgentHealth
  readonly load: { readonly processes: number; readonly sessions: number }
  /** A session in a process of its own. @throws AgentFailure */
  open(wanted: SessionRequest): Promise<AgentSession>
  /** Starts a process as far as `initialize`, and says what came of it. Never rejects. */
  probe(): Promise<AgentHealth>
  /** Ends every process; what was open fails with kind `stopped`. */
  stop(): Promise<void>
}

/** Request to open a session. */
export interface SessionRequest {
  /** The real path of the directory of the task. */
  readonly cwd: string
  readonly mcpServers: readonly JsonObject[]
  /** The id that the agent gave to a session before: resumed, else loaded. Without that ability, or when it fails, `open` rejects with kind `lost`. */
  readonly resume?: string
  /** Instead of the mode and model of the settings. */
  readonly mode?: string | undefined
  readonly model?: string | undefined
  readonly side: SessionSide
  /** Gives up waiting for a place or a phase. */
  readonly signal?: AbortSignal
}

/** An open session; one prompt at a time. */
export interface AgentSession {
  /** The agent's own id for it. */
  readonly id: string
  readonly how: 'new' | 'resumed' | 'loaded'
  readonly pid: number | undefined
  /** Mode that the agent chose itself; undefined where it has none or the settings say which. */
  readonly ownMode?: string | undefined
  /** One turn. `meta` goes along as `_meta`, such as `traceparent`. @throws AgentFailure */
  prompt(content: readonly JsonObject[], meta?: JsonObject): Promise<TurnEnd>
  /** `session/cancel`, then the end of the process after `timeouts.cancelMs`; the prompt resolves with `cancelled`. */
  cancel(): void
  /** The task needs it no more: its process ends. */
  close(): Promise<void>
}

/** End of a turn. */
export interface TurnEnd {
  readonly stopReason: 'end_turn' | 'max_tokens' | 'max_turn_requests' | 'refusal' | 'cancelled'
  /** As the agent said it. */
  readonly usage: JsonObject | undefined
}

/** Owner of a session: hears what the agent does, and answers what it asks. */
export interface SessionSide {
  /** Every `session/update`, in order, with variants that we do not know as they came. */
  update(update: SessionUpdate): void
  /** Never rejects. */
  permission(request: PermissionRequest): Promise<PermissionOutcome>
  /**
   * Requests of the agent that have a handler: `elicitation/create`. What has none gets −32601. `signal` is aborted when
   * nobody waits for the answer any more.
   */
  readonly handlers: ReadonlyMap<string, (params: JsonObject, signal?: AbortSignal) => Promise<JsonObject>>
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

/** Failure of an agent, or of the way to it, to do what was requested. */
export class AgentFailure extends Error {
  override readonly name = 'AgentFailure'
  readonly kind: FailureKind
  /** The phase it happened in: `spawn`, `initialize`, `session`, `prompt` …. */
  readonly phase: string
  /** As the agent said it; untrusted. */
  readonly details: JsonObject | undefined
  /** The last words of its process, which may be about other callers: for logs alone. */
  lastWords: string | undefined = undefined

  constructor(kind: FailureKind, phase: string, message: string, details?: JsonObject) {
    super(message)
    this.kind = kind
    this.phase = phase
    this.details = details
  }
}

/** Bounds on the work of an agent, as the task service needs them. */
export interface Containment {
  /**
   * The directory of a task, and the files it is given, as real paths below the roots; the first root where none is named.
   * Without roots, a task has an empty directory of its own, and may name nothing else.
   * @throws GatewayError that says which of them is outside, or not there
   */
  resolve(wanted: {
    readonly cwd: string | undefined
    readonly files: readonly string[]
  }): Promise<{ readonly cwd: string; readonly files: readonly string[] }>
  /** Decides by policy on a tool call of an agent that works in `cwd`. */
  decide(call: AgentToolCall, policy: PermissionPolicy, cwd: string): Verdict
  /** A worktree for a task; the one it had before where that is still there. @throws Error that says why there can be none */
  worktree(task: string, cwd: string): Promise<Worktree>
  /** Removes the worktrees and own directories, by name, of tasks that are kept no more; changes of a worktree stay on its branch. Says of which tasks. */
  prune(isKept: (task: string) => boolean): Promise<readonly string[]>
}

export interface Verdict {
  readonly do: 'allow' | 'deny' | 'ask'
  /** Name of the rule, for people. */
  readonly by: string
}

/** A git worktree in which one task works. */
export interface Worktree {
  /** Directory in it that the task works in. */
  readonly cwd: string
  /** Parts of the directory that it does not have. */
  readonly warnings: readonly string[]
  /** Differences from where it began: a unified diff, and the paths inside the repository. Without any it is removed. */
  changes(): Promise<{ readonly diff: string; readonly files: readonly string[] }>
}
