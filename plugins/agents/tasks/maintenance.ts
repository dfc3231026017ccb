import { reasonOf } from '../../../src/plugin.ts'
import { liveOf, type TaskContext } from './context.ts'
import type { TaskRecord } from '../store/task-store.ts'
import { run } from './runner.ts'
import { absentCaller, askToContinue, beginningOf } from './questions.ts'

const TIDY_MS = 30_000

/** Drops what has been kept for its time, now and then; returns the way to stop. */
export function tidyUp(context: TaskContext): () => void {
  const { clock, log } = context.environment
  let stopTimer = (): void => undefined
  const again = (): void => {
    stopTimer = clock.after(TIDY_MS, () => {
      try {
        context.tasks.sweep(context.parts.tasks.ttlMs)
        if (context.tasks.dropped > 0) void prune(context)
        context.tasks.dropped = 0
      } catch (error) {
        log.warn('the tasks could not be looked after', { why: reasonOf(error) })
      }
      again()
    })
  }
  again()
  return () => stopTimer()
}

/** The worktrees of tasks that are kept no more go. Never rejects. */
export async function prune(context: TaskContext): Promise<void> {
  const { log } = context.environment
  let kept: ReadonlySet<string> | undefined
  // Looked up when the worktrees have been listed: what begins later is not among them.
  const isKept = (name: string): boolean => (kept ??= context.tasks.grounds()).has(name)
  try {
    const pruned = await context.parts.containment.prune(isKept)
    if (pruned.length > 0) log.info('worktrees of forgotten tasks are removed', { tasks: pruned.length })
  } catch (error) {
    if (context.database.isOpen) log.warn('worktrees could not be looked after', { why: reasonOf(error) })
  }
}

/** Takes over what a gateway that is gone has left: what no agent has begun is queued again, the rest is for its owner to say. */
export function recover(context: TaskContext): void {
  for (const record of context.tasks.unfinished()) {
    try {
      takeUp(context, record)
    } catch (error) {
      const why = reasonOf(error)
      context.environment.log.warn('a task could not be taken over', { task: record.id, why })
    }
  }
}

function takeUp(context: TaskContext, record: TaskRecord): void {
  const { start, wasPrompted } = record
  const live = liveOf(context, record, start.prompt, absentCaller(record))
  // Whoever waited in the foreground has gone with the gateway.
  if (wasPrompted || !start.request.background || start.prompt === undefined) {
    askToContinue(live, 'the gateway ended while it was at work')
    return
  }
  if (!live.journal.move(['queued', 'starting'], 'queued', { why: 'the gateway was started again' })) return
  const course = {
    agents: start.decision.chosen,
    beginning: beginningOf(record, start.prompt),
    wasAdmitted: true,
  }
  void run(context, live, course)
}
