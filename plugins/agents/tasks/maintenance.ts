import { basename } from 'node:path'
import { reasonOf } from '../../../src/plugin.ts'
import { liveOf, type TaskContext } from './context.ts'
import { hasEnded, type TaskRecord } from '../store/record.ts'
import { run, stop } from './runner.ts'
import { absentCaller, askToContinue, beginningOf } from './questions.ts'

/** Tasks that one look takes over. */
const MAX_AT_ONCE = 1000

const LOOK_MS = 500

const TIDY_MS = 30_000

/** Another gateway with the same file may have cancelled or answered what runs here, or run what is watched here. */
export function lookAround(context: TaskContext): () => void {
  if (context.environment.file === undefined) return () => undefined
  let version = context.database.version()
  return everyNow(context, LOOK_MS, () => {
    const current = context.database.version()
    if (current === version) return
    version = current
    for (const live of context.live.values()) hearOthers(context, live.record.id, live.record.owner)
    for (const task of context.watchers.tasks) if (!context.live.has(task)) context.watchers.tell(task)
  })
}

function hearOthers(context: TaskContext, id: string, owner: string): void {
  const live = context.live.get(id)
  const record = context.tasks.find(id, owner)
  if (live === undefined) return
  if (record === undefined || hasEnded(record.state)) stop(live, 'it was ended elsewhere')
  for (const [question, settle] of [...live.asks]) {
    const answer = context.output.question(id, owner, question)?.answer
    if (answer !== undefined) settle(answer)
  }
}

/** Signs of life, tasks of gateways that are gone, and what has been kept for its time. */
export function tidyUp(context: TaskContext): () => void {
  return everyNow(context, TIDY_MS, () => {
    context.runners.beat()
    recover(context)
    context.tasks.sweep(context.parts.tasks.ttlMs)
    if (context.tasks.dropped === 0) return
    context.tasks.dropped = 0
    void prune(context)
  })
}

/** The worktrees of tasks that are kept no more go. Never rejects. */
export async function prune(context: TaskContext): Promise<void> {
  const { log } = context.environment
  let kept: ReadonlySet<string> | undefined
  const keptNow = (): ReadonlySet<string> =>
    new Set([...context.tasks.grounds(), ...context.tasks.directories().map(cwd => basename(cwd))])
  // Looked up when the worktrees have been listed: what begins later is not among them.
  const isKept = (name: string): boolean => (kept ??= keptNow()).has(name)
  try {
    const pruned = await context.parts.containment.prune(isKept)
    if (pruned.length > 0) log.info('worktrees of forgotten tasks are removed', { tasks: pruned.length })
  } catch (error) {
    if (context.database.isOpen) log.warn('worktrees could not be looked after', { why: reasonOf(error) })
  }
}

function everyNow({ environment }: TaskContext, ms: number, work: () => void): () => void {
  let stopTimer = (): void => undefined
  const again = (): void => {
    stopTimer = environment.clock.after(ms, () => {
      try {
        work()
      } catch (error) {
        environment.log.warn('the tasks could not be looked after', { why: reasonOf(error) })
      }
      again()
    })
  }
  again()
  return () => stopTimer()
}

/** Takes over what gateways that are gone have left: what no agent has begun is queued again, the rest is for its owner to say. */
export function recover(context: TaskContext): void {
  const alive = context.runners.alive()
  for (const record of context.tasks.abandoned(alive, MAX_AT_ONCE)) {
    try {
      if (context.tasks.takeOver(record, context.runners.id)) takeUp(context, record)
    } catch (error) {
      context.environment.log.warn('a task could not be taken over', {
        task: record.id,
        why: reasonOf(error),
      })
    }
  }
}

function takeUp(context: TaskContext, record: TaskRecord): void {
  const { start, wasPrompted } = record
  const live = liveOf(context, record, start.prompt, absentCaller(record))
  // Whoever waited in the foreground has gone with the gateway.
  if (wasPrompted || !start.request.background || start.prompt === undefined) {
    askToContinue(context, live, 'the gateway ended while it was at work')
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
