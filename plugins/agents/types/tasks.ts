import type { AuditEvent, Clock, Figure, JsonObject, Log, PluginApi, Principal } from '../../../src/plugin.ts'
import type { AgentHealth, AgentHost } from './agent.ts'
import type { AgentSettings, AgentsConfig } from './settings.ts'

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
export interface Caller {
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
    readonly caller: Caller
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
  readonly questions: readonly Question[]
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
export interface Question {
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
  readonly load: AgentHost['load']
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

/** All that callers can do, whatever face they see: tools, tasks of either era, resources, commands. Owner in every call. */
export interface TaskService {
  /**
   * Resolves when the task is on disk, and goes on by itself. The same key of the same owner is the same task.
   * @throws GatewayError GW_AGENT_* for what cannot be done
   */
  delegate(request: TaskRequest, caller: Caller): Promise<TaskView>
  view(id: string, owner: string): TaskView | undefined
  list(
    owner: string,
    page: { readonly after: string | undefined; readonly limit: number },
  ): readonly TaskView[]
  /** Resolves when it has ended, the time is over, or: with `since`, has an event after that; without, waits for its owner. */
  wait(
    id: string,
    owner: string,
    until: { readonly ms: number; readonly since?: number; readonly signal?: AbortSignal },
  ): Promise<TaskView | undefined>
  events(id: string, owner: string, since: number, limit: number): readonly TaskEvent[]
  page(
    id: string,
    owner: string,
    what: 'text' | 'diff' | 'log',
    offset: number,
    bytes: number,
  ): Page | undefined
  /** Answers a question: the content of a form, or a refusal. @throws GatewayError when it is not open */
  answer(id: string, owner: string, question: string, answer: QuestionAnswer): TaskView
  /** False when it had ended. */
  cancel(id: string, owner: string, why: string): boolean
  /** Listens to each change; returns the way to stop. */
  watch(id: string, owner: string, listener: (view: TaskView) => void): () => void
  agents(): readonly AgentRow[]
  /** The tasks of all callers, the newest first: for whoever owns the gateway, and nobody else. */
  all(page: { readonly after: string | undefined; readonly limit: number }): readonly TaskSummary[]
  /** The owner of a task, for the same. */
  ownerOf(id: string): string | undefined
  /** Routes it without doing it. */
  route(request: TaskRequest, caller: Caller): RouteDecision
  probe(agents: readonly string[] | undefined): Promise<readonly AgentRow[]>
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

/** Task service and agents, over all generations. */
export interface AgentRuntime {
  readonly service: TaskService
  /** Opens what is kept, and ends what a gateway that died has left; `version` is this gateway’s. May follow a `stop`. */
  start(version: string): Promise<void>
  /** Ends every process; what goes on in the background is kept, and can go on when its owner wants it to. */
  stop(): Promise<void>
  /** Another configuration is in force: tasks go on, agents that are others now are begun anew. */
  adopt(api: PluginApi<AgentsConfig>, agents: readonly AgentSettings[]): void
  figures(): readonly Figure[]
}

export type OpenRuntime = (
  api: PluginApi<AgentsConfig>,
  agents: readonly AgentSettings[],
  callback: Callback,
) => AgentRuntime
