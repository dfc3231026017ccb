import type { JsonObject, Principal } from '../../src/plugin.ts'
import type { ToolKind } from './settings.ts'

/** The agent's `initialize` result. */
export interface AgentFacts {
  readonly name: string | undefined
  readonly version: string | undefined
  readonly protocol: number
  readonly canLoad: boolean
  readonly canResume: boolean
  readonly mcpHttp: boolean
  /** Default session mode; known after a probe. */
  readonly ownMode?: string
  readonly authMethods: readonly { readonly id: string; readonly name: string; readonly type: string }[]
}

/** Health from the last probe or start. */
export interface AgentHealth {
  readonly state: 'unknown' | 'ready' | 'needs_auth' | 'unavailable'
  readonly why?: string
  /** Last stderr lines, visible to the owner only. */
  readonly lastWords?: string
  readonly facts?: AgentFacts
}

export interface SessionRequest {
  /** Task directory as a real path. */
  readonly cwd: string
  readonly mcpServers: readonly JsonObject[]
  /** Session id to resume or load. `openSession` rejects with kind `lost` if that is unsupported or fails. */
  readonly resume?: string
  /** Overrides the model in the settings. */
  readonly model?: string | undefined
  readonly handler: SessionHandler
  /** Aborts waiting for a slot or phase. */
  readonly signal?: AbortSignal
}

export interface TurnEnd {
  readonly stopReason: 'end_turn' | 'max_tokens' | 'max_turn_requests' | 'refusal' | 'cancelled'
  /** As reported by the agent. */
  readonly usage: JsonObject | undefined
}

/** Receives a session's updates and answers the agent's requests. */
export interface SessionHandler {
  /** Called for every `session/update`, in order; unknown variants are passed through. */
  update(update: SessionUpdate): void
  /** Never rejects. */
  permission(request: PermissionRequest): Promise<PermissionOutcome>
  /** Returns the `elicitation/create` result. `signal` is aborted when the answer is no longer needed. */
  elicit(params: JsonObject, signal: AbortSignal): Promise<JsonObject>
}

/** A parsed `session/update`. Tool call updates contain the merged call. */
export type SessionUpdate =
  | { readonly is: 'text'; readonly text: string }
  | { readonly is: 'thought' }
  | { readonly is: 'content'; readonly content: JsonObject }
  | { readonly is: 'tool'; readonly call: AgentToolCall; readonly isNew: boolean }
  | { readonly is: 'plan'; readonly entries: readonly JsonObject[] }
  | { readonly is: 'usage'; readonly usage: JsonObject }
  | { readonly is: 'health'; readonly isBroken: boolean }
  | { readonly is: 'other'; readonly name: string; readonly update: JsonObject }

/** A tool call by the agent, merged from all updates. Its text comes from a model and is untrusted. */
export interface AgentToolCall {
  readonly id: string
  readonly title: string
  readonly kind: ToolKind | undefined
  readonly status: 'pending' | 'in_progress' | 'completed' | 'failed'
  readonly paths: readonly string[]
  readonly rawInput: JsonObject | undefined
  readonly content: readonly JsonObject[]
}

/** An action that the agent requests; `call` includes earlier updates. */
export interface PermissionRequest {
  readonly call: AgentToolCall
  readonly options: readonly {
    readonly optionId: string
    readonly name: string
    readonly kind: 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always'
  }[]
  /** Aborted if the agent withdraws the request, the turn is cancelled, or the process exits. */
  readonly signal?: AbortSignal
}

export type PermissionOutcome = { readonly optionId: string } | 'cancelled'

/** Why an agent failed. `kind` is derived from structured data, never from prose. */
export type FailureKind =
  'spawn' | 'auth' | 'limit' | 'empty' | 'timeout' | 'crash' | 'protocol' | 'refused' | 'lost' | 'busy' | 'stopped'

/** Task outcome, as a metric label. */
export type TaskOutcome = 'completed' | 'denied' | 'gateway' | FailureKind

/** Agent or connection failure. */
export class AgentFailure extends Error {
  override readonly name = 'AgentFailure'
  readonly kind: FailureKind
  /** Phase: `spawn`, `initialize`, `session`, `prompt` and others. */
  readonly phase: string
  /** Last stderr lines, which may concern other callers: for logs only. */
  lastWords: string | undefined = undefined

  constructor(kind: FailureKind, phase: string, message: string) {
    super(message)
    this.kind = kind
    this.phase = phase
  }
}

export interface PermissionVerdict {
  readonly do: 'allow' | 'deny' | 'ask'
  /** Rule display name. */
  readonly by: string
}

/** `interrupted`: the gateway stopped; the owner may resume. The last four are final. */
export type TaskState =
  'queued' | 'starting' | 'running' | 'input_required' | 'interrupted' | 'completed' | 'failed' | 'cancelled'

/** A validated task request: paths are real and below the roots. */
export interface TaskRequest {
  readonly prompt: string
  readonly agent: string | undefined
  readonly taskType: string | undefined
  readonly capabilities: readonly string[]
  readonly cwd: string | undefined
  readonly files: readonly string[]
  /** Continues this task's session; the owner must be the same. */
  readonly continues: string | undefined
  readonly model: string | undefined
  /** At most `timeouts.turn`. */
  readonly timeoutMs: number | undefined
  readonly isolation: 'none' | 'worktree' | undefined
  readonly idempotencyKey: string | undefined
  /** True if the task outlives its call. */
  readonly background: boolean
}

/** The caller. `owner` is the principal's key and part of every query. */
export interface TaskCaller {
  readonly owner: string
  readonly issuer: string
  readonly subject: string
  /** Task whose agent called back; undefined for clients. */
  readonly parent: { readonly task: string; readonly root: string; readonly depth: number } | undefined
  /** Identity for agent callbacks; undefined after a restart, which disables callbacks. */
  readonly identity?: CallerIdentity | undefined
  /** Trace context (`traceparent`, `tracestate`, `baggage`), forwarded to the agent in `_meta`. */
  readonly trace?: Readonly<Record<string, string>> | undefined
}

/** A principal and its profile. */
export interface CallerIdentity {
  readonly principal: Principal
  readonly profile: string | undefined
}

/** A question for the owner, answered once with `agent_reply`. */
export interface TaskQuestion {
  readonly id: string
  readonly kind: 'permission' | 'elicitation' | 'continue'
  readonly message: string
  /** Flat JSON Schema for the answer, as in elicitation forms. */
  readonly schema: JsonObject
}

/** A task event. The agent's output text is stored separately. */
export interface TaskEvent {
  readonly seq: number
  readonly at: number
  readonly kind: 'state' | 'tool' | 'plan' | 'permission' | 'warning' | 'usage'
  readonly text: string
}

/** Chosen agents and the reasons; deterministic. */
export interface RouteDecision {
  /** Agents in order, the first one being tried first. Empty if none is available. */
  readonly chosen: readonly string[]
  /** `explicit`, `rule:<id>`, `default`, `order`. */
  readonly by: string
  readonly candidates: readonly { readonly agent: string; readonly why: string; readonly fits: boolean }[]
}

export type QuestionAnswer =
  { readonly action: 'accept'; readonly content: JsonObject } | { readonly action: 'decline' | 'cancel' }
