import type { EventEmitter } from 'node:events'
import type { AuditEvent, Clock, compileCallers, Log, SqlDatabase } from '../../../src/plugin.ts'
import type { AgentHost } from '../acp/agent-host.ts'
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
export class LiveTask {
  readonly record: TaskRecord
  readonly caller: TaskCaller
  /** Unredacted; undefined after a restart if prompts are not stored. */
  readonly prompt: string | undefined
  readonly journal: TaskJournal
  /** Aborted when the task is cancelled. */
  readonly controller = new AbortController()
  /** Answer callbacks by question id. */
  readonly openQuestions = new Map<string, (answer: QuestionAnswer | 'late' | 'ended') => void>()
  /** True if the agent showed activity in this turn. */
  hasSigned = false
  /** True while the agent reports an internal error. */
  isBroken = false
  questionCount = 0
  deniedBy: 'policy' | 'owner' | 'time' | undefined
  /** True if the turn timed out. */
  isLate = false

  constructor(context: TaskContext, record: TaskRecord, caller: TaskCaller, prompt = record.start.prompt) {
    const agent = record.agent ?? record.start.decision.chosen[0] ?? ''
    const output = context.parts.agents.get(agent)?.settings.output ?? DEFAULT_OUTPUT
    this.record = record
    this.caller = caller
    this.prompt = prompt
    this.journal = new TaskJournal(context, record, output)
  }

  get hasText(): boolean {
    return this.journal.hasText
  }

  /** Aborts the turn and everything that it waits for. */
  stop(reason: string): void {
    this.controller.abort(reason)
    this.endQuestions()
  }

  endQuestions(): void {
    for (const settle of [...this.openQuestions.values()]) settle('ended')
  }
}
