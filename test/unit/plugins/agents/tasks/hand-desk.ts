import { randomUUID } from 'node:crypto'
import type { Page } from '../../../../../plugins/agents/store/task-journal.ts'
import type { AgentRow, TaskService, TaskSummary, TaskView } from '../../../../../plugins/agents/tasks/service.ts'
import type {
  QuestionAnswer,
  RouteDecision,
  TaskCaller,
  TaskEvent,
  TaskQuestion,
  TaskRequest,
} from '../../../../../plugins/agents/types.ts'
import { gatewayError, type JsonObject } from '../../../../../src/plugin.ts'

interface Kept {
  view: TaskView
  readonly owner: string
  readonly caller: TaskCaller
  readonly request: TaskRequest
  readonly events: TaskEvent[]
  text: string
}

const DECISION: RouteDecision = {
  chosen: ['ada'],
  by: 'rule:reviews',
  candidates: [{ agent: 'ada', why: 'it has all that is wanted', fits: true }],
}

/** A desk whose tasks do what the test says. */
export class HandDesk implements TaskService {
  readonly tasks = new Map<string, Kept>()
  readonly answers: { readonly task: string; readonly question: string; readonly answer: QuestionAnswer }[] = []
  readonly cancelled: string[] = []
  refusal: Error | undefined
  readonly #watchers = new Map<string, Set<(view: TaskView) => void>>()
  readonly #begun: ((kept: Kept) => void)[] = []
  #last: Kept | undefined

  /** Resolves with the next task that is delegated. */
  next(): Promise<Kept> {
    return new Promise(resolve => this.#begun.push(resolve))
  }

  get last(): Kept {
    if (this.#last === undefined) throw new Error('nothing was delegated')
    return this.#last
  }

  delegate(request: TaskRequest, caller: TaskCaller): Promise<TaskView> {
    if (this.refusal !== undefined) return Promise.reject(this.refusal)
    const known = [...this.tasks.values()].find(
      kept =>
        kept.owner === caller.owner &&
        kept.request.idempotencyKey !== undefined &&
        kept.request.idempotencyKey === request.idempotencyKey,
    )
    if (known !== undefined) return Promise.resolve(known.view)
    const view = viewOf(`t_${randomUUID()}`, caller.parent?.task)
    const kept: Kept = { view, owner: caller.owner, caller, request, events: [], text: '' }
    this.tasks.set(view.id, kept)
    this.#last = kept
    this.#begun.shift()?.(kept)
    return Promise.resolve(view)
  }

  /** Something becomes of a task. */
  change(id: string, change: Partial<TaskView>): void {
    const kept = this.tasks.get(id)
    if (kept === undefined) throw new Error(`no task ${id}`)
    const seq = kept.view.seq + 1
    kept.view = { ...kept.view, ...change, seq, updatedAt: kept.view.updatedAt + 1 }
    kept.events.push({ seq, at: kept.view.updatedAt, kind: 'state', text: kept.view.state })
    for (const watcher of [...(this.#watchers.get(id) ?? [])]) watcher(kept.view)
  }

  complete(id: string, text: string, more: Partial<TaskView> = {}): void {
    const kept = this.tasks.get(id)
    if (kept !== undefined) kept.text = text
    this.change(id, { state: 'completed', text, stopReason: 'end_turn', endedAt: 5, ...more })
  }

  ask(id: string, question: Partial<TaskQuestion> = {}): void {
    const whole: TaskQuestion = {
      id: 'q1',
      kind: 'permission',
      message: 'May it?',
      schema: FORM,
      ...question,
    }
    this.change(id, { state: 'input_required', questions: [whole] })
  }

  view(id: string, owner: string): TaskView | undefined {
    const kept = this.tasks.get(id)
    return kept?.owner === owner ? kept.view : undefined
  }

  list(owner: string, { limit }: { readonly limit: number }): readonly TaskView[] {
    const own = [...this.tasks.values()].filter(kept => kept.owner === owner)
    return own
      .map(({ view }) => view)
      .reverse()
      .slice(0, limit)
  }

  listAll({ limit }: { readonly limit: number }): readonly TaskSummary[] {
    const rows = [...this.tasks.values()].map(({ view, owner, caller: { issuer, subject } }) => {
      const { id, state, why, agent, progress, isError, hasDiff, createdAt, updatedAt, endedAt } = view
      const about = { issuer, subject, parent: undefined, state, why, agent, progress, isError, hasDiff }
      return { id, owner, ...about, createdAt, updatedAt, endedAt }
    })
    return rows.reverse().slice(0, limit)
  }

  findOwner(id: string): string | undefined {
    return this.tasks.get(id)?.owner
  }

  wait(
    id: string,
    owner: string,
    { ms, since, signal }: { readonly ms: number; readonly since?: number | undefined; readonly signal?: AbortSignal },
  ): Promise<TaskView | undefined> {
    return new Promise(resolve => {
      const done = (): void => {
        clearTimeout(timer)
        unwatch()
        resolve(this.view(id, owner))
      }
      const isNews = (view: TaskView): boolean =>
        ['completed', 'failed', 'cancelled', 'input_required'].includes(view.state) ||
        (since !== undefined && view.seq > since)
      const timer = setTimeout(done, ms)
      const unwatch = this.watch(id, owner, view => isNews(view) && done())
      signal?.addEventListener('abort', done)
      const now = this.view(id, owner)
      if (now === undefined || isNews(now)) done()
    })
  }

  events(id: string, _owner: string, since: number, limit: number): readonly TaskEvent[] {
    return (this.tasks.get(id)?.events ?? []).filter(({ seq }) => seq > since).slice(0, limit)
  }

  readPage(id: string, owner: string, what: 'text' | 'diff' | 'log', offset: number, bytes: number): Page | undefined {
    if (this.view(id, owner) === undefined || what === 'diff') return undefined
    const text = what === 'log' ? 'state: running' : (this.tasks.get(id)?.text ?? '')
    const end = offset + bytes
    return {
      text: text.slice(offset, end),
      next: end < text.length ? end : undefined,
      end: Math.min(end, text.length),
      total: text.length,
      cut: false,
    }
  }

  answerQuestion(id: string, owner: string, question: string, answer: QuestionAnswer): TaskView {
    const view = this.view(id, owner)
    if (!view?.questions.some(open => open.id === question))
      throw gatewayError('GW_USAGE', { what: 'the question is not open' })
    this.answers.push({ task: id, question, answer })
    this.change(id, { state: 'running', questions: [] })
    return this.view(id, owner) ?? view
  }

  cancel(id: string, owner: string, why: string): boolean {
    const view = this.view(id, owner)
    if (view === undefined || view.endedAt !== undefined) return false
    this.cancelled.push(id)
    this.change(id, { state: 'cancelled', why, endedAt: 9 })
    return true
  }

  watch(id: string, _owner: string, listener: (view: TaskView) => void): () => void {
    const watchers = this.#watchers.get(id) ?? new Set()
    this.#watchers.set(id, watchers.add(listener))
    return () => void watchers.delete(listener)
  }

  agents(): readonly AgentRow[] {
    return [ROW]
  }

  route(): RouteDecision {
    return DECISION
  }

  probe(): Promise<readonly AgentRow[]> {
    return Promise.resolve([ROW])
  }
}

export const FORM: JsonObject = {
  type: 'object',
  properties: { decision: { type: 'string', enum: ['allow', 'deny'] } },
  required: ['decision'],
}

const ROW: AgentRow = {
  id: 'ada',
  title: 'Ada',
  description: 'reviews',
  capabilities: ['review'],
  health: { state: 'ready' },
  running: 1,
  queued: 0,
}

function viewOf(id: string, parent: string | undefined): TaskView {
  return {
    ...{ id, parent, state: 'running', why: undefined, agent: 'ada', decision: DECISION, sessionId: 's1' },
    ...{ cwd: '/srv/work', stopReason: undefined, text: '', truncated: false, bytesTotal: 0 },
    ...{ filesChanged: [], hasDiff: false, denied: [], warnings: [], usage: undefined, attempts: [] },
    ...{ questions: [], isError: false, createdAt: 1, updatedAt: 1, endedAt: undefined, ttlMs: 60_000 },
    ...{ seq: 0, progress: undefined },
  }
}
