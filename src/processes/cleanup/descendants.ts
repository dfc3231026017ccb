import { readdirSync } from 'node:fs'
import { readProcSync } from '../../util/proc-files.ts'
import { startOf, type ProcessId } from './proc-scan.ts'

/** More than this are not recorded; their marks find them. */
const MAX_RECORDED = 1024

/** What processes have started, and what that has, as far as the chain is whole at this moment. Empty where there is no /proc. */
export function descendantsOf(...pids: readonly number[]): ProcessId[] {
  const found: ProcessId[] = []
  const seen = new Set(pids)
  const queue = [...pids]
  for (let at = 0; at < queue.length && found.length < MAX_RECORDED; at++) {
    for (const child of childrenOf(queue[at] ?? 0)) {
      const start = seen.has(child) ? undefined : startOf(child)
      if (start === undefined) continue
      seen.add(child)
      queue.push(child)
      found.push({ pid: child, start })
    }
  }
  return found
}

/** Children belong to the thread that started them (proc(5)). */
function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap(thread =>
      readProcSync(`/proc/${pid}/task/${thread}/children`).trim().split(' ').filter(Boolean).map(Number),
    )
  } catch {
    return []
  }
}
