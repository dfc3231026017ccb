import { totalmem } from 'node:os'
import v8 from 'node:v8'
import { runInNewContext } from 'node:vm'

const MIB = 1024 * 1024
/** V8 from 13 on has a young generation of up to 192 MiB beside what `--max-old-space-size` says, older ones of 48 MiB. */
const YOUNG = Number(process.versions.v8.split('.', 1)[0]) >= 13 ? 192 * MIB : 48 * MIB

/** What is under way when the last request was let in needs room too, and a collection near the end takes seconds. */
const RESERVE = 24 * MIB

/** How full the process is: parts of one. */
export interface Measure {
  heap(): number
  memory(): number
  /** Frees what nothing refers to; false where that is not possible. */
  collect(): boolean
}

/** Measures of this process. The end of the old generation is what ends a process, and V8 tells only of old and young together. */
export function measure(): Measure {
  const heapLimit = v8.getHeapStatistics().heap_size_limit - YOUNG - RESERVE
  const there = process.constrainedMemory()
  const memoryLimit = there > 0 ? Math.min(there, totalmem()) : totalmem()
  let gc: (() => void) | undefined
  return {
    heap: () => oldBytes() / heapLimit,
    memory: () => process.memoryUsage.rss() / memoryLimit,
    collect: () => {
      gc ??= collector()
      gc?.()
      return gc !== undefined
    },
  }
}

function oldBytes(): number {
  let bytes = 0
  for (const { space_name: name, space_used_size: used } of v8.getHeapSpaceStatistics())
    if (name !== 'new_space') bytes += used
  return bytes
}

/** V8 collects as it allocates: who refuses all work allocates nothing, and would stay full of garbage. */
function collector(): (() => void) | undefined {
  v8.setFlagsFromString('--expose-gc')
  const gc: unknown = runInNewContext('globalThis.gc')
  v8.setFlagsFromString('--no-expose-gc')
  return typeof gc === 'function' ? (gc as () => void) : undefined
}
