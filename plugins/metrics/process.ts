import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Family } from './exposition.ts'

const LAG_RESOLUTION_MS = 20
const NANOSECONDS = 1e9

/** Figures of the process, under the names that Prometheus' own dashboards expect. */
export class ProcessFigures {
  #lag: ReturnType<typeof monitorEventLoopDelay> | undefined = undefined
  readonly #startedAt: number

  /** `startedAt` in seconds since 1970. */
  constructor(startedAt: number) {
    this.#startedAt = startedAt
  }

  start(): void {
    this.#lag ??= monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS })
    this.#lag.enable()
  }

  stop(): void {
    this.#lag?.disable()
    this.#lag = undefined
  }

  /** The lag is that since the last time. */
  families(): Family[] {
    const { rss, heapUsed, heapTotal } = process.memoryUsage()
    const { user, system } = process.cpuUsage()
    const p99 = this.#lag === undefined || this.#lag.count === 0 ? 0 : this.#lag.percentile(99) / NANOSECONDS
    this.#lag?.reset()
    return [
      counter('process_cpu_seconds', 'CPU time of the process.', (user + system) / 1e6),
      gauge('process_resident_memory_bytes', 'Memory of the process.', rss),
      gauge('process_start_time_seconds', 'When the process started, since 1970.', this.#startedAt),
      gauge('nodejs_heap_size_used_bytes', 'Heap in use.', heapUsed),
      gauge('nodejs_heap_size_total_bytes', 'Heap that was taken.', heapTotal),
      gauge('nodejs_eventloop_lag_p99_seconds', 'Delay of the event loop since the last scrape.', p99),
    ]
  }
}

/** A family of one sample. */
export function gauge(name: string, help: string, value: number): Family {
  return { name, type: 'gauge', help, samples: [{ value }] }
}

function counter(name: string, help: string, value: number): Family {
  return { name, type: 'counter', help, samples: [{ suffix: '_total', value }] }
}
