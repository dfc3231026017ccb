import { readFileSync } from 'node:fs'
import { processesWith, type Found } from '../../fixtures/processes.ts'

const POLL_MS = 25

/** Milliseconds until `left` finds nothing, and what it still finds after `limitMs`. */
export async function timeToZero(
  left: () => readonly Found[],
  limitMs: number,
): Promise<{ ms: number; left: readonly Found[] }> {
  const begin = performance.now()
  for (;;) {
    const found = left()
    const ms = performance.now() - begin
    if (found.length === 0 || ms > limitMs) return { ms, left: found }
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
  }
}

/** Processes of servers that are no more: all that carry the cookie, but for the living servers of this gateway and theirs. */
export function strays(cookie: string, gateway: number): Found[] {
  const all = processesWith(cookie).map(found => ({
    ...found,
    mark: markOf(found.pid),
    parent: parentOf(found.pid),
  }))
  const living = new Set(all.filter(({ parent }) => parent === gateway).map(({ mark }) => mark))
  return all.filter(({ mark }) => !living.has(mark))
}

function markOf(pid: number): string {
  return /TAPGATE_RUN=([^\0]*)/.exec(read(`/proc/${pid}/environ`))?.[1] ?? `${pid}`
}

function parentOf(pid: number): number {
  const stat = read(`/proc/${pid}/stat`)
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
