import type { KilledTask, LogLine } from './world.ts'

/** Outcome of the tasks, and of their side effects. */
export function summary(
  tasks: ReadonlyMap<string, KilledTask>,
  log: readonly LogLine[],
): { rows: Record<string, string | number>; isFine: boolean } {
  const all = [...tasks.values()]
  const lost = all.filter(({ state }) => state === 'lost' || state === 'unanswered')
  const open = all.filter(({ state }) => !['completed', 'failed', 'cancelled'].includes(state))
  const runs = all.map(task => runsOf(task, log))
  const count = (isSo: (run: Runs) => boolean): number => runs.filter(isSo).length
  const twice = count(({ again }) => again === 'known')
  for (const task of [...new Set([...lost, ...open])])
    console.log(`  ${task.name} ${task.id ?? ''} ${task.state}: ${task.why ?? ''}`)
  const rows = {
    'tasks lost': lost.length,
    'tasks that did not end': open.length,
    'tasks that were completed': all.filter(({ state }) => state === 'completed').length,
    'tasks that failed, as their effect was known': all.filter(({ state }) => state === 'failed').length,
    'tasks whose side effect happened': count(({ marks }) => marks > 0),
    'tasks begun anew, without an effect before': count(({ again }) => again === 'clean'),
    'begun anew after an effect that was recorded': twice,
    'begun anew after an effect nobody was asked for': count(({ again }) => again === 'unknown'),
    'side effects that happened twice': count(({ marks }) => marks > 1),
  }
  return { rows, isFine: lost.length + open.length + twice === 0 }
}

interface Runs {
  readonly marks: number
  /** All that was known when its prompt was executed once more. */
  readonly again: 'never' | 'clean' | 'known' | 'unknown'
}

/** An effect that an agent asked for is recorded before it may happen. */
function runsOf({ name, prompt }: KilledTask, log: readonly LogLine[]): Runs {
  const at = (isSo: (line: LogLine) => boolean): number => (log.findIndex(isSo) + 1 || Infinity) - 1
  const known = at(({ mark }) => mark === `known ${name}`)
  const marked = at(({ mark }) => mark === name)
  const marks = log.filter(({ mark }) => mark === name).length
  const last = log.findLastIndex(line => line.prompt === prompt)
  const first = log.findIndex(line => line.prompt === prompt)
  const isRecorded = known < last || (prompt.includes('[[ask ') && marked < last)
  if (first === last) return { marks, again: 'never' }
  if (isRecorded) return { marks, again: 'known' }
  return { marks, again: marked < last ? 'unknown' : 'clean' }
}
