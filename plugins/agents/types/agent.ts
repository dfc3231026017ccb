import { OWNER_ONLY, type JsonObject } from '../../../src/plugin.ts'
import type { AgentSettings, ToolKind } from './settings.ts'

/** What an agent said of itself in `initialize`. */
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
  readonly authMethods: readonly { readonly id: string; readonly name: string; readonly type: string }[]
}

/** How an agent does: what the last probe or start of a process said. */
export interface AgentHealth {
  readonly state: 'unknown' | 'ready' | 'needs_auth' | 'unavailable'
  readonly why?: string
  readonly facts?: AgentFacts
}

/** All processes of one agent. */
export interface AgentHost {
  readonly settings: AgentSettings
  readonly health: AgentHealth
  readonly load: { readonly processes: number; readonly sessions: number }
  /** A session in a process that has room, or in a new one. @throws AgentFailure */
  open(wanted: SessionRequest): Promise<AgentSession>
  /** Starts a process as far as `initialize`, and says what came of it. Never rejects. */
  probe(): Promise<AgentHealth>
  /** Ends every process; what was open fails with kind `stopped`. */
  stop(): Promise<void>
}

/** What a session is opened with. */
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
  /** One turn. `meta` goes along as `_meta`, such as `traceparent`. @throws AgentFailure */
  prompt(content: readonly JsonObject[], meta?: JsonObject): Promise<TurnEnd>
  /** `session/cancel`, then the end of the process after `timeouts.cancelMs`; the prompt resolves with `cancelled`. */
  cancel(): void
  /** The task needs it no more; the process may go on. */
  close(): Promise<void>
}

/** How a turn ended. */
export interface TurnEnd {
  readonly stopReason: 'end_turn' | 'max_tokens' | 'max_turn_requests' | 'refusal' | 'cancelled'
  /** As the agent said it. */
  readonly usage: JsonObject | undefined
}

/** Whoever stands behind a session: hears what the agent does, and answers what it asks. */
export interface SessionSide {
  /** Every `session/update`, in order, with variants that we do not know as they came. */
  update(update: SessionUpdate): void
  /** Never rejects. */
  permission(request: PermissionRequest): Promise<PermissionOutcome>
  /**
   * Requests of the agent that have a handler: `fs/*`, `terminal/*`, `elicitation/create`. What has none gets −32601. A
   * thrown Error with a number as `code` is answered with that code, any other with −32603. `signal` is aborted when nobody
   * waits for the answer any more.
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
  /** What could not be taken of what the agent said, in words, by what it is about; undefined where nothing is missing. */
  readonly unseen?: { readonly title?: string; readonly input?: string; readonly content?: string }
}

/** What the agent wants to do; `call` is merged with what it announced before. */
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

/** What an agent, or the way to it, answers instead of doing what it was asked. */
export class AgentFailure extends Error {
  override readonly name = 'AgentFailure'
  readonly kind: FailureKind
  /** The phase it happened in: `spawn`, `initialize`, `session`, `prompt` …. */
  readonly phase: string
  /** As the agent said it; untrusted. */
  readonly details: JsonObject | undefined

  constructor(kind: FailureKind, phase: string, message: string, details?: JsonObject) {
    super(message)
    this.kind = kind
    this.phase = phase
    this.details = details
  }

  /** What callers may read: without the last words of a process, which may be about other callers. */
  get publicMessage(): string {
    const end = this.message.indexOf(OWNER_ONLY)
    return end < 0 ? this.message : this.message.slice(0, end)
  }
}
