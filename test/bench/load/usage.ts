import { readdirSync, readFileSync } from 'node:fs'

const PAGE_KB = 4
const TICK_MICROS = 10_000

/** All that a process has used so far: microseconds of processor time, and its memory in MB. */
export interface Usage {
  readonly micros: number
  readonly rss: number
}

/** Reads it from /proc; undefined where that is not. */
export function usageOf(pid: number): Usage | undefined {
  try {
    const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1])
    return { micros: scheduled(pid) ?? ticked(pid), rss: (pages * PAGE_KB) / 1024 }
  } catch {
    return undefined
  }
}

/** The scheduler's own account: nanoseconds of each thread. */
function scheduled(pid: number): number | undefined {
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    const nanos = threads.map(thread =>
      Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]),
    )
    return nanos.reduce((sum, value) => sum + value, 0) / 1000
  } catch {
    return undefined
  }
}

/** utime and stime, in ticks of 10 ms. */
function ticked(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name in the second field may hold anything but its last parenthesis.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MICROS
}
