import type { TaskView } from '../types/tasks.ts'
import type { TaskContext } from './context.ts'
import { hasEnded } from '../store/record.ts'

/** Longest that one call waits. */
const MAX_MS = 10 * 60_000

/** What somebody waits for. */
interface Until {
  readonly ms: number
  readonly since?: number
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
      takeBack()
      leave()
      signal?.removeEventListener('abort', onAbort)
      resolve(view)
    }
    const onAbort = (): void => done(look())
    const takeBack = environment.clock.after(Math.min(ms, MAX_MS), () => done(look()))
    const leave = watchers.add(id, () => {
      const view = look()
      if (view === undefined || isOver(view, since)) done(view)
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** Who has seen all events up to `since` has seen its questions too, and waits for what comes next. */
function isOver({ state, seq, questions }: TaskView, since: number | undefined): boolean {
  if (hasEnded(state)) return true
  if (since !== undefined) return seq > since
  return state === 'interrupted' || (state === 'input_required' && questions.length > 0)
}
