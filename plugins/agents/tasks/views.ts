import type { Page, TaskEvent, TaskSummary, TaskView } from '../types.ts'
import type { TaskContext } from './context.ts'
import { hasEnded, type TaskRecord } from '../store/task-store.ts'
import { pageOf } from '../text.ts'

const USUAL_INLINE = 64 * 1024

/** Shorter pages could hold no character at all. */
const MIN_PAGE = 16

const MAX_PAGE = 4 * 1024 * 1024

/** Longest that one call waits. */
const MAX_MS = 10 * 60_000

/** End of a wait. */
export interface Until {
  readonly ms: number
  readonly since?: number | undefined
  readonly signal?: AbortSignal
}

/** The task when it has ended, needs somebody, has an event after `since`, or the time is over. */
export function waitFor(
  { watchers, environment }: TaskContext,
  look: () => TaskView | undefined,
  id: string,
  { ms, since, signal }: Until,
): Promise<TaskView | undefined> {
  const first = look()
  if (first === undefined || isOver(first, since) || ms <= 0 || signal?.aborted === true)
    return Promise.resolve(first)
  return new Promise(resolve => {
    const done = (view: TaskView | undefined): void => {
      stopTimer()
      leave()
      signal?.removeEventListener('abort', onAbort)
      resolve(view)
    }
    const onAbort = (): void => done(look())
    const stopTimer = environment.clock.after(Math.min(ms, MAX_MS), () => done(look()))
    const leave = watchers.add(id, () => {
      const view = look()
      if (view === undefined || isOver(view, since)) done(view)
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** True if the wait is over. A caller that has seen all events up to `since` has seen the questions too, and waits for what comes next. */
function isOver({ state, seq, questions }: TaskView, since: number | undefined): boolean {
  if (hasEnded(state)) return true
  if (since !== undefined) return seq > since
  return state === 'interrupted' || (state === 'input_required' && questions.length > 0)
}

/** A task as its owner sees it, with what has been said up to now. */
export function viewOf(context: TaskContext, record: TaskRecord): TaskView {
  const { id, owner, state, why, agent, start, data, createdAt, updatedAt, endedAt } = record
  const inline = inlineOf(context, agent)
  const piece = context.tasks.bytes(id, owner, 'text', 0, inline)
  const { text } = pageOf(piece, { offset: 0, kept: data.kept, total: data.said })
  return {
    ...{ id, state, why, agent, createdAt, updatedAt, endedAt, text },
    ...{ decision: start.decision, cwd: start.cwd, sessionId: data.sessionId, stopReason: data.stopReason },
    truncated: data.said > Math.min(inline, data.kept),
    bytesTotal: data.said,
    filesChanged: data.files,
    hasDiff: data.diff > 0,
    ...{ denied: data.denied, warnings: data.warnings, usage: data.usage, isError: data.isError },
    attempts: data.attempts.map(({ agent: tried, failure }) => ({ agent: tried, failure })),
    questions: data.questions,
    ttlMs: context.parts.tasks.ttlMs,
    ...{ seq: data.seq, progress: data.progress },
  }
}

/** A task without anything that was said in it. */
export function summaryOf(record: TaskRecord): TaskSummary {
  const { id, owner, state, why, agent, start, data, createdAt, updatedAt, endedAt } = record
  const { issuer = '', subject, parent } = start
  const { progress, isError, diff } = data
  return {
    ...{ id, owner, issuer, subject, state, why, agent, parent, progress, isError },
    ...{ hasDiff: diff > 0, createdAt, updatedAt, endedAt },
  }
}

/** A piece of what a task has said, changed or done. */
export function pieceOf(
  context: TaskContext,
  { id, owner, data }: TaskRecord,
  what: 'text' | 'diff' | 'log',
  from: number,
  wanted: number,
): Page {
  const offset = Number.isSafeInteger(from) ? Math.max(0, from) : 0
  const length = Math.min(Math.max(Math.trunc(wanted), MIN_PAGE), MAX_PAGE)
  if (what === 'log') {
    const log = Buffer.from(logOf(context, id, owner))
    const total = log.length
    return pageOf(log.subarray(offset, offset + length), { offset, kept: total, total })
  }
  const bytes = context.tasks.bytes(id, owner, what, offset, length)
  const [kept, total] = what === 'text' ? [data.kept, data.said] : [data.diffKept, data.diff]
  return pageOf(bytes, { offset, kept, total })
}

/** The events as text, one line each. */
function logOf(context: TaskContext, id: string, owner: string): string {
  const events = context.tasks.events(id, owner, 0, 100_000)
  return events.map(lineOfEvent).join('')
}

function lineOfEvent({ at, kind, text }: TaskEvent): string {
  return `${new Date(at).toISOString()} ${kind} ${text}\n`
}

function inlineOf({ parts }: TaskContext, agent: string | undefined): number {
  const settings = agent === undefined ? undefined : parts.agents.get(agent)?.settings
  return Math.max(settings?.output.inline ?? USUAL_INLINE, MIN_PAGE)
}
