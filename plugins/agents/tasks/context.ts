import type { EventEmitter } from 'node:events'
import type { AuditEvent, Clock, compileCallers, Log, SqlDatabase } from '../../../src/plugin.ts'
import type { AgentHost } from '../acp/agent-host.ts'
import type { AgentSession } from '../acp/session.ts'
import type { Containment } from '../containment.ts'
import type { CallbackTokens } from '../callback.ts'
import type { AgentCounters } from '../metrics.ts'
import type { AgentRouter, SlotQueue } from '../scheduling.ts'
import type { AgentsConfig } from '../settings.ts'
import { TaskJournal } from '../store/task-journal.ts'
import type { TaskRecord, TaskStore } from '../store/task-store.ts'
import type { QuestionAnswer, TaskCaller } from '../types.ts'

const DEFAULT_OUTPUT = { inline: 65_536, keep: 8 * 1024 * 1024, maxLine: 0, events: 500 }

/** Parts that a reload does not replace. */
export interface ServiceEnvironment {
  /** Database path; undefined for in-memory. */
  readonly file: string | undefined
  readonly log: Log
  readonly clock: Clock
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Redacts secrets. */
  hide(text: string): string
  /** Reports permissions to the audit log. */
  record?(event: AuditEvent): void
}

/** Configuration-dependent parts, replaced by a reload. */
export interface ServiceDeps {
  /** In declaration order. */
  readonly agents: ReadonlyMap<string, AgentHost>
  readonly routing: AgentsConfig['routing']
  /** Authentication settings, which map subjects in `routing` rules to issuers. */
  readonly auth?: Parameters<typeof compileCallers>[1]
  readonly tasks: TaskSettings
  readonly containment: Containment
  /** Undefined if no agent may call back. */
  readonly callback: Pick<CallbackTokens, 'open'> | undefined
}

export interface TaskSettings {
  readonly ttlMs: number
  readonly max: number
  readonly maxPerCaller: number
  readonly keepPrompt: boolean
}

/** State shared by the task service modules. */
export interface TaskContext {
  readonly environment: ServiceEnvironment
  readonly database: SqlDatabase
  readonly tasks: TaskStore
  /** Emits a changed task's id. */
  readonly watchers: EventEmitter
  readonly counters: AgentCounters
  /** Active tasks by id. */
  readonly live: Map<string, LiveTask>
  readonly queues: Map<string, SlotQueue>
  parts: ServiceDeps
  route: AgentRouter
  isStopping: boolean
}

/** A task that is active in this gateway. */
export interface LiveTask {
  readonly record: TaskRecord
  /** Unredacted; undefined after a restart if prompts are not stored. */
  readonly prompt: string | undefined
  readonly caller: TaskCaller
  readonly journal: TaskJournal
  /** Aborted when the task is cancelled. */
  readonly controller: AbortController
  /** Answer callbacks by question id. */
  readonly openQuestions: Map<string, (answer: QuestionAnswer | 'late' | 'ended') => void>
  session: AgentSession | undefined
  /** True if the agent showed activity in this turn. */
  hasSigned: boolean
  /** True while the agent reports an internal error. */
  isBroken: boolean
  questionCount: number
  deniedBy: 'policy' | 'owner' | 'time' | undefined
  /** True if the turn timed out. */
  isLate: boolean
}

/** Creates the in-memory state for a task without an agent. */
export function createLiveTask(
  context: TaskContext,
  record: TaskRecord,
  caller: TaskCaller,
  prompt: string | undefined = record.start.prompt,
): LiveTask {
  const agent = record.agent ?? record.start.decision.chosen[0] ?? ''
  const output = context.parts.agents.get(agent)?.settings.output ?? DEFAULT_OUTPUT
  return {
    ...{ record, prompt, caller },
    journal: new TaskJournal(context, record, output),
    controller: new AbortController(),
    openQuestions: new Map(),
    session: undefined,
    ...{ hasSigned: false, isBroken: false, questionCount: 0, deniedBy: undefined, isLate: false },
  }
}
