import { EventEmitter } from 'node:events'
import type { JsonObject, Metric } from '../../../src/plugin.ts'
import { gatewayError, parseDuration, SqlDatabase } from '../../../src/plugin.ts'
import { AgentCounters } from '../metrics.ts'
import { SlotQueue, createRouter } from '../scheduling.ts'
import type { AgentsConfig } from '../settings.ts'
import type { TaskRecord } from '../store/task-store.ts'
import { ACTIVE, TaskStore, hasEnded, openTaskDatabase } from '../store/task-store.ts'
import type { Page } from '../store/task-journal.ts'
import { decodeOutputPage } from '../store/task-journal.ts'
import type { CallerIdentity, QuestionAnswer, TaskCaller, TaskEvent, TaskRequest } from '../types.ts'
import type { ServiceDeps, ServiceEnvironment, TaskContext, TaskSettings } from './context.ts'
import { LiveTask } from './context.ts'
import { delegate, getRecord, buildAgentRow } from './create-task.ts'
import { answerQuestion, pruneWorkspaces, recoverTasks, startSweeping } from './maintenance.ts'
import { askToContinue, buildAbsentCaller } from './questions.ts'

const USUAL_INLINE = 64 * 1024

/** A page must fit at least one character. */
const MIN_PAGE = 16

const MAX_PAGE = 4 * 1024 * 1024

/** Maximum wait per call. */
const MAX_MS = 10 * 60_000

interface WaitCondition {
  readonly ms: number
  readonly since?: number | undefined
  readonly signal?: AbortSignal
}

/** Resolves when the task ends, needs input, has an event after `since`, or the time is over. */
function waitForTask(
  { watchers, environment }: TaskContext,
  look: () => TaskView | undefined,
  id: string,
  { ms, since, signal }: WaitCondition,
): Promise<TaskView | undefined> {
  const first = look()
  if (first === undefined || isWaitOver(first, since) || ms <= 0 || signal?.aborted === true)
    return Promise.resolve(first)
  return new Promise(resolve => {
    const finish = (view: TaskView | undefined): void => {
      stopTimer()
      watchers.off(id, onChange)
      signal?.removeEventListener('abort', onAbort)
      resolve(view)
    }
    const onAbort = (): void => finish(look())
    const stopTimer = environment.clock.after(Math.min(ms, MAX_MS), () => finish(look()))
    const onChange = (): void => {
      const view = look()
      if (view === undefined || isWaitOver(view, since)) finish(view)
    }
    watchers.on(id, onChange)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** True if the wait is over. With `since`, the caller already knows earlier questions and waits for new events. */
export function isWaitOver({ state, seq, questions }: TaskView, since?: number): boolean {
  if (hasEnded(state)) return true
  if (since !== undefined) return seq > since
  return state === 'interrupted' || (state === 'input_required' && questions.length > 0)
}

/** A task for its owner. */
export type TaskView = ReturnType<typeof buildView>

/** Builds the owner's view with the output so far. */
function buildView(context: TaskContext, record: TaskRecord) {
  const { owner, root: _, start, said, kept, diff, diffKept: __, hadEffect: ___, wasPrompted: ____, ...shown } = record
  const inline = getInlineLimit(context, record.agent)
  const piece = context.tasks.bytes(record.id, owner, 'text', 0, inline)
  return {
    ...shown,
    ...{ parent: start.parent, decision: start.decision, cwd: start.cwd },
    /** The first `output.inline` bytes of the agent's text. */
    text: decodeOutputPage(piece, { offset: 0, stored: kept, total: said }).text,
    truncated: said > Math.min(inline, kept),
    bytesTotal: said,
    hasDiff: diff > 0,
    ttlMs: context.parts.tasks.ttlMs,
  }
}

/** Builds a row of the list for the gateway's owner, without task content. */
function buildSummary(record: TaskRecord): JsonObject {
  const { id, state, why, agent, start, progress, isError, diff, createdAt, updatedAt, endedAt } = record
  const { issuer, subject, parent } = start
  return {
    ...{ id, issuer, subject, state, why, agent, parent, progress, isError },
    ...{ hasDiff: diff > 0, createdAt, updatedAt, endedAt },
  }
}

/** Reads a page from the task's text, diff or log. */
function readPiece(
  context: TaskContext,
  { id, owner, said, kept, diff, diffKept }: TaskRecord,
  part: 'text' | 'diff' | 'log',
  from: number,
  requestedLength: number,
): Page {
  const offset = Number.isSafeInteger(from) ? Math.max(0, from) : 0
  const length = Math.min(Math.max(Math.trunc(requestedLength), MIN_PAGE), MAX_PAGE)
  if (part === 'log') {
    const log = Buffer.from(formatLog(context, id, owner))
    const total = log.length
    return decodeOutputPage(log.subarray(offset, offset + length), { offset, stored: total, total })
  }
  const bytes = context.tasks.bytes(id, owner, part, offset, length)
  const [stored, total] = part === 'text' ? [kept, said] : [diffKept, diff]
  return decodeOutputPage(bytes, { offset, stored, total })
}

/** Formats events as text, one line each. */
function formatLog(context: TaskContext, id: string, owner: string): string {
  const events = context.tasks.events(id, owner, 0, 100_000)
  return events.map(({ at, kind, text }) => `${new Date(at).toISOString()} ${kind} ${text}\n`).join('')
}

function getInlineLimit({ parts }: TaskContext, agent: string | undefined): number {
  const settings = agent === undefined ? undefined : parts.agents.get(agent)?.settings
  return Math.max(settings?.output.inline ?? USUAL_INLINE, MIN_PAGE)
}

const MAX_LISTED = 200
const USUAL: TaskSettings = { ttlMs: 7 * 86_400_000, max: 10_000, maxPerCaller: 64, keepPrompt: true }

/** Parses `agents.tasks`; times in milliseconds. */
export function parseTaskSettings(config: AgentsConfig['tasks']): TaskSettings {
  const { ttl, max, maxPerCaller, keepPrompt } = { ...USUAL, ...config }
  return { ttlMs: ttl === undefined ? USUAL.ttlMs : parseDuration(ttl), max, maxPerCaller, keepPrompt }
}

/**
 * Task operations for all interfaces: tools, tasks in both eras, resources and commands. Every call names the owner.
 */
export type TaskService = Omit<LocalTaskService, 'renew' | 'stop' | 'figures'>

/** The task service on a database. Lives as long as the gateway; a reload replaces its parts. */
export class LocalTaskService {
  readonly #context: TaskContext
  readonly #stopTidying: () => void

  /** @throws Error if the database cannot be opened */
  constructor(environment: ServiceEnvironment, parts: ServiceDeps) {
    const { file, log, now } = environment
    const route = createRouter(parts.routing, parts.auth)
    if (file === undefined) log.warn('tasks are kept in memory only: no state directory and agents.tasks.file not set')
    const database = new SqlDatabase(openTaskDatabase(file, log))
    this.#context = {
      ...{ environment, database, parts, route, isStopping: false },
      tasks: new TaskStore(database, now),
      watchers: new EventEmitter().setMaxListeners(0),
      counters: new AgentCounters(),
      live: new Map(),
      queues: new Map(),
    }
    this.renew(parts)
    recoverTasks(this.#context)
    void pruneWorkspaces(this.#context)
    this.#stopTidying = startSweeping(this.#context)
  }

  /** Replaces the parts; running tasks keep the old ones. */
  renew(parts: ServiceDeps): void {
    const route = createRouter(parts.routing, parts.auth)
    const context = this.#context
    Object.assign(context, { parts, route })
    for (const [id, { settings }] of parts.agents) {
      const queue = context.queues.get(id)
      if (queue === undefined) context.queues.set(id, new SlotQueue(context.environment.clock, settings.limits))
      else queue.resize(settings.limits)
    }
  }

  /** Interrupts running tasks, which can be resumed after a restart; queued tasks are requeued then. */
  stop(): void {
    const context = this.#context
    if (context.isStopping) return
    context.isStopping = true
    this.#stopTidying()
    for (const live of context.live.values()) {
      if (live.journal.data.wasPrompted) askToContinue(live, 'the gateway was stopped')
      live.journal.writeLast()
      live.stop('the gateway is stopping')
    }
    context.database.close()
    for (const task of context.watchers.eventNames()) context.watchers.emit(task)
  }

  /**
   * Resolves when the task is on disk; it then runs in the background. A repeated idempotency key returns the same
   * task.
   * @throws GatewayError GW_AGENT_*
   */
  async delegate(request: TaskRequest, caller: TaskCaller): Promise<TaskView> {
    if (this.#context.isStopping) throw gatewayError('GW_STOPPING')
    return buildView(this.#context, await delegate(this.#context, request, caller))
  }

  view(id: string, owner: string): TaskView | undefined {
    if (!this.#context.database.isOpen) return undefined
    this.#context.live.get(id)?.journal.flush()
    const record = this.#context.tasks.find(id, owner)
    return record === undefined ? undefined : buildView(this.#context, record)
  }

  list(
    owner: string,
    { after, limit }: { readonly after: string | undefined; readonly limit: number },
  ): readonly TaskView[] {
    const bounded = Math.min(Math.max(Math.trunc(limit), 1), MAX_LISTED)
    return this.#context.tasks.list(owner, after, bounded).map(record => buildView(this.#context, record))
  }

  /** Lists all callers' tasks, newest first; for control verbs only. */
  listAll({ after, limit }: { readonly after: string | undefined; readonly limit: number }): readonly JsonObject[] {
    if (!this.#context.database.isOpen) return []
    const bounded = Math.min(Math.max(Math.trunc(limit), 1), MAX_LISTED)
    return this.#context.tasks.list(undefined, after, bounded).map(buildSummary)
  }

  findOwner(id: string): string | undefined {
    return this.#context.database.isOpen ? this.#context.tasks.findAny(id)?.owner : undefined
  }

  /**
   * Resolves when the task ends or the time is over; with `since`, on a later event; otherwise, when it needs input.
   */
  wait(id: string, owner: string, until: WaitCondition): Promise<TaskView | undefined> {
    return waitForTask(this.#context, () => this.view(id, owner), id, until)
  }

  events(id: string, owner: string, since: number, limit: number): readonly TaskEvent[] {
    if (this.view(id, owner) === undefined) return []
    return this.#context.tasks.events(id, owner, since, Math.max(1, limit))
  }

  readPage(id: string, owner: string, part: 'text' | 'diff' | 'log', offset: number, bytes: number): Page | undefined {
    this.#context.live.get(id)?.journal.flush()
    const record = this.#context.tasks.find(id, owner)
    return record === undefined ? undefined : readPiece(this.#context, record, part, offset, bytes)
  }

  /** Answers a question with form content or a refusal. @throws GatewayError if it is not open */
  answerQuestion(
    id: string,
    owner: string,
    question: string,
    answer: QuestionAnswer,
    identity?: CallerIdentity,
  ): TaskView {
    this.#context.live.get(id)?.journal.flush()
    answerQuestion(this.#context, getRecord(this.#context, id, owner), { id: question, answer, identity })
    this.#context.live.get(id)?.journal.flush()
    return buildView(this.#context, getRecord(this.#context, id, owner))
  }

  /** Returns false if the task had ended. */
  cancel(id: string, owner: string, reason: string): boolean {
    const context = this.#context
    const record = context.tasks.find(id, owner)
    if (record === undefined || hasEnded(record.state)) return false
    const live = context.live.get(id)
    const { journal } = live ?? new LiveTask(context, record, buildAbsentCaller(record))
    journal.closeQuestions()
    if (!journal.transition([...ACTIVE, 'interrupted'], 'cancelled', { why: reason })) return false
    if (live === undefined) context.counters.countTask(record.agent ?? 'none', 'cancelled', 'stopped')
    else live.stop(reason)
    // A cancelled task's children have no remaining waiter.
    for (const { record: child } of context.live.values())
      if (child.start.parent === id) this.cancel(child.id, child.owner, `the parent task was cancelled`)
    return true
  }

  agents(): readonly JsonObject[] {
    return [...this.#context.parts.agents.values()].map(host => buildAgentRow(this.#context, host, false))
  }

  async probe(agents: readonly string[] | undefined): Promise<readonly JsonObject[]> {
    const all = [...this.#context.parts.agents.values()]
    const hosts = all.filter(({ settings }) => agents === undefined || agents.includes(settings.id))
    await Promise.all(hosts.map(host => host.probe()))
    return hosts.map(host => buildAgentRow(this.#context, host, true))
  }

  figures(): Metric[] {
    return this.#context.counters.figures(this.#context.parts.agents, this.#context.queues)
  }
}
