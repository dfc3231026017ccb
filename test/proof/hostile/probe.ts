import { monitorEventLoopDelay } from 'node:perf_hooks'
import { definePlugin } from '../../../src/plugin.ts'

/** All that the gateway's own process went through since it was asked last. */
export interface Probe {
  /** The longest time that its event loop did not turn, in milliseconds. */
  readonly lag: number
  /** Bytes of memory. */
  readonly rss: number
  readonly heap: number
}

const RESOLUTION_MS = 5
const MILLION = 1e6

/** Answers GET /probe with a `Probe`. */
export const plugin = definePlugin({
  name: 'probe',
  setup({ hooks }) {
    const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
    delay.enable()
    hooks.close.tap(() => void delay.disable())
    hooks.http.for('/probe').tap(() => {
      const { rss, heapUsed: heap } = process.memoryUsage()
      const lag = delay.count === 0 ? 0 : Math.max(0, delay.max / MILLION - RESOLUTION_MS)
      delay.reset()
      const body = JSON.stringify({ lag, rss, heap } satisfies Probe)
      return { status: 200, headers: { 'content-type': 'application/json' }, body }
    })
  },
})
