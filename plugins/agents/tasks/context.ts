import type { compileCallers, SqlDatabase } from '../../../src/plugin.ts'
import type { AgentCounters } from '../metrics.ts'
import type { SlotQueue, AgentRouter } from '../scheduling.ts'
import { TaskJournal } from '../store/task-journal.ts'
import type { TaskRecord, TaskStore } from '../store/task-store.ts'
import type { AgentHost } from '../acp/agent-host.ts'
import type { AgentSession } from '../acp/session.ts'
import type { Containment } from '../containment.ts'
import type { Callback, TaskCaller, QuestionAnswer, ServiceEnvironment } from '../types.ts'
import type { AgentsConfig } from '../settings.ts'

const USUAL_OUTPUT = { inline: 65_536, keep: 8 * 1024 * 1024, maxLine: 0, events: 500, thoughts: false }

/** Parts of the task service that come from a configuration; a reload brings others. */
export interface ServiceDeps {
  /** In declared order. */
  readonly agents: ReadonlyMap<string, AgentHost>
  readonly routing: AgentsConfig['routing']
  /** Settings of authentication: they say to which issuer a subject in a rule of `routing` belongs. */
  readonly auth?: Parameters<typeof compileCallers>[1]
  readonly tasks: TaskSettings
  readonly containment: Containment
  /** Undefined where no agent may call back. */
  readonly callback: Callback | undefined
}

export interface TaskSettings {
  readonly ttlMs: number
  readonly max: number
  readonly maxPerCaller: number
  readonly keepPrompt: boolean
}

/** All that the pieces of the task service share. */
export interface TaskContext {
  readonly environment: ServiceEnvironment
  readonly database: SqlDatabase
  readonly tasks: TaskStore
  readonly watchers: TaskWatchers
  readonly counters: AgentCounters
  /** Tasks that this gateway runs, by id. */
  readonly live: Map<string, LiveTask>
  readonly queues: Map<string, SlotQueue>
  /** When an agent that was not well was last tried, by id. */
  readonly probed: Map<string, number>
  parts: ServiceDeps
  route: AgentRouter
  isStopping: boolean
}

/** A task in the hands of this gateway. */
export interface LiveTask {
  readonly record: TaskRecord
  /** As it was asked, secrets and all; undefined after a restart without kept prompts. */
  readonly prompt: string | undefined
  readonly caller: TaskCaller
  readonly journal: TaskJournal
  /** Aborted when nobody wants it any more. */
  readonly controller: AbortController
  /** Callbacks that wait for an answer, by question. */
  readonly asks: Map<string, (answer: QuestionAnswer | 'late' | 'ended') => void>
  /** The agent that has the task now, and holds a place for it. */
  agent: string | undefined
  session: AgentSession | undefined
  hadEffect: boolean
  /** True once the agent has said or done anything in this turn. */
  hasSigned: boolean
  /** True while the agent says that it is in an error of its own. */
  isBroken: boolean
  /** Questions so far. */
  asked: number
  /** Author of the last denial. */
  deniedBy: 'policy' | 'owner' | 'time' | undefined
  /** Its time was over. */
  isLate: boolean
}

/** Watchers of one task at a time. */
const MAX_PER_TASK = 256

/** Listeners to changes of tasks. */
export class TaskWatchers {
  readonly #listeners = new Map<string, Set<() => void>>()

  /** Returns the way to stop. A listener too many is never called. */
  add(task: string, listener: () => void): () => void {
    const all = this.#listeners.get(task) ?? new Set()
    if (all.size >= MAX_PER_TASK) return () => undefined
    this.#listeners.set(task, all.add(listener))
    return () => {
      all.delete(listener)
      if (all.size === 0 && this.#listeners.get(task) === all) this.#listeners.delete(task)
    }
  }

  notify(task: string): void {
    for (const listener of [...(this.#listeners.get(task) ?? [])]) listener()
  }

  get tasks(): readonly string[] {
    return [...this.#listeners.keys()]
  }
}

/** A task in the hands of this gateway, with nobody at work on it yet. */
export function createLiveTask(
  context: TaskContext,
  record: TaskRecord,
  prompt: string | undefined,
  caller: TaskCaller,
): LiveTask {
  const agent = record.agent ?? record.start.decision.chosen[0] ?? ''
  const output = context.parts.agents.get(agent)?.settings.output ?? USUAL_OUTPUT
  return {
    ...{ record, prompt, caller },
    journal: new TaskJournal(context, record, output),
    controller: new AbortController(),
    asks: new Map(),
    agent: undefined,
    session: undefined,
    hadEffect: record.hadEffect,
    hasSigned: false,
    isBroken: false,
    asked: 0,
    deniedBy: undefined,
    isLate: false,
  }
}
