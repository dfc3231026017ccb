import { basename } from 'node:path'
import { reasonOf } from '../../../src/plugin.ts'
import type { Office } from './context.ts'
import { hasEnded } from '../store/record.ts'
import { recover } from './recovery.ts'
import { stop } from './runner.ts'

const LOOK_MS = 500
const TIDY_MS = 30_000

/** Another gateway with the same file may have cancelled or answered what runs here, or run what is watched here. */
export function lookAround(office: Office): () => void {
  if (office.environment.file === undefined) return () => undefined
  let version = office.database.version()
  return everyNow(office, LOOK_MS, () => {
    const current = office.database.version()
    if (current === version) return
    version = current
    for (const live of office.live.values()) hearOthers(office, live.record.id, live.record.owner)
    for (const task of office.watchers.tasks) if (!office.live.has(task)) office.watchers.tell(task)
  })
}

function hearOthers(office: Office, id: string, owner: string): void {
  const live = office.live.get(id)
  const record = office.tasks.find(id, owner)
  if (live === undefined) return
  if (record === undefined || hasEnded(record.state)) stop(live, 'it was ended elsewhere')
  for (const [question, settle] of [...live.asks]) {
    const answer = office.output.question(id, owner, question)?.answer
    if (answer !== undefined) settle(answer)
  }
}

/** Signs of life, tasks of gateways that are gone, and what has been kept for its time. */
export function tidyUp(office: Office): () => void {
  return everyNow(office, TIDY_MS, () => {
    office.runners.beat()
    recover(office)
    office.tasks.sweep(office.parts.tasks.ttlMs)
    if (office.tasks.dropped === 0) return
    office.tasks.dropped = 0
    void prune(office)
  })
}

/** The worktrees of tasks that are kept no more go. Never rejects. */
export async function prune(office: Office): Promise<void> {
  const { log } = office.environment
  let kept: ReadonlySet<string> | undefined
  const keptNow = (): ReadonlySet<string> =>
    new Set([...office.tasks.grounds(), ...office.tasks.directories().map(cwd => basename(cwd))])
  // Looked up when the worktrees have been listed: what begins later is not among them.
  const isKept = (name: string): boolean => (kept ??= keptNow()).has(name)
  try {
    const pruned = await office.parts.containment.prune(isKept)
    if (pruned.length > 0) log.info('worktrees of forgotten tasks are removed', { tasks: pruned.length })
  } catch (error) {
    if (office.database.isOpen) log.warn('worktrees could not be looked after', { why: reasonOf(error) })
  }
}

function everyNow({ environment }: Office, ms: number, work: () => void): () => void {
  let takeBack = (): void => undefined
  const again = (): void => {
    takeBack = environment.clock.after(ms, () => {
      try {
        work()
      } catch (error) {
        environment.log.warn('the tasks could not be looked after', { why: reasonOf(error) })
      }
      again()
    })
  }
  again()
  return () => takeBack()
}
