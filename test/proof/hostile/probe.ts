import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks'
import { definePlugin } from '../../../src/plugin.ts'

/** All that the gateway's own process went through since it was asked last. */
export interface Probe {
  /** The longest time that its event loop did not turn, in milliseconds. */
  readonly lag: number
  /** The longest time that it worked without a turn: its lag without what other programs took of the machine. */
  readonly work: number
  /** Bytes of memory. */
  readonly rss: number
  readonly heap: number
  /** Bytes that V8 counts outside of its heap, such as those of messages. */
  readonly external: number
  /** For each call with an id, the work of the event loop from its arrival until it had its answer, whoever it was for. */
  readonly calls: readonly number[]
  /** The longest time that a collection of garbage took, in milliseconds. */
  readonly collection: number
}

const RESOLUTION_MS = 5
const MILLION = 1e6

/** Answers GET /probe with a `Probe`. */
export const plugin = definePlugin({
  name: 'probe',
  setup({ hooks }) {
    const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
    delay.enable()
    let [collection, work, before] = [0, 0, cpuMs()]
    const ticks = setInterval(() => {
      const now = cpuMs()
      work = Math.max(work, now - before - RESOLUTION_MS)
      before = now
    }, RESOLUTION_MS)
    ticks.unref()
    const arrived = new Map<string, number>()
    let calls: number[] = []
    hooks.authenticate.tap({ stage: 'trace' }, ({ header }) => {
      const [id] = header('x-request-id')
      if (id !== undefined) arrived.set(id, cpuMs())
      return undefined
    })
    hooks.settled.tap(({ headers }) => {
      const id = headers['x-request-id'] ?? ''
      const at = arrived.get(id)
      if (at !== undefined) calls.push(cpuMs() - at)
      arrived.delete(id)
    })
    const observer = new PerformanceObserver(list => {
      for (const { duration } of list.getEntries()) collection = Math.max(collection, duration)
    })
    observer.observe({ entryTypes: ['gc'] })
    hooks.close.tap(() => {
      delay.disable()
      observer.disconnect()
      clearInterval(ticks)
    })
    hooks.http.for('/probe').tap(() => {
      const { rss, heapUsed: heap, external } = process.memoryUsage()
      const lag = delay.count === 0 ? 0 : Math.max(0, delay.max / MILLION - RESOLUTION_MS)
      delay.reset()
      const body = JSON.stringify({ lag, work, rss, heap, external, collection, calls } satisfies Probe)
      collection = work = 0
      calls = []
      return { status: 200, headers: { 'content-type': 'application/json' }, body }
    })
  },
})

/** Time of a processor that the thread of the event loop has used. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
