import type { Clock } from '../api/index.ts'
import { systemClock } from '../util/clock.ts'

/** V8 makes the heap smaller where little was allocated in the last seconds. */
const QUIET_MS = 10_000
/** What is in use of a larger heap may be so much that to look through it would hold up calls; its traffic has it collected. */
const MOST_BYTES = 192 * 1024 * 1024

interface Reloading {
  on(event: 'reloaded', listener: () => void): () => void
}

/**
 * Gives back what reloads leave. Generations die too old for V8's small collections, which it answers with more room for
 * young objects, and keeps that: only a full collection makes the heap smaller, and who does nothing else waits for one for ever.
 */
export function collectAfterReloads(
  gateway: Reloading,
  clock: Clock = systemClock,
  collect: () => void = collectSmall,
): void {
  let takeBack: (() => void) | undefined
  gateway.on('reloaded', () => {
    takeBack?.()
    takeBack = clock.after(QUIET_MS, collect)
  })
}

/** V8 has a flag for it, but no function. */
function collectSmall(): void {
  if (process.memoryUsage().heapUsed > MOST_BYTES) return
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  setFlagsFromString('--expose-gc')
  const gc = process.getBuiltinModule('node:vm').runInNewContext('globalThis.gc') as () => void
  setFlagsFromString('--no-expose-gc')
  gc()
}
