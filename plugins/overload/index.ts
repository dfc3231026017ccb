import {
  gatewayError,
  parseDuration,
  RPC,
  type Config,
  type Figure,
  type Load,
  type Plugin,
  type Refusal,
} from '../../src/plugin.ts'
import { measure, Watch } from './watch.ts'

/** Refuses new work while the process is near the end of its memory, or behind its time, and says so. */
export const overload: Plugin<Exclude<Config['overload'], false>> = {
  name: 'overload',
  claims: { section: 'overload' },
  setup({ options, hooks, clock, log, slot }) {
    const { keepAlive, refuse } = options
    const limits = { keepAlive: keepAlive / 100, refuse: refuse / 100, lagMs: parseDuration(options.lag) }
    // The watch, with its counts, goes on through reloads.
    const watch = slot.gateway(() => new Watch({ clock, log, measure: measure() }))
    const refusal = busy()

    hooks.ready.tap(() => watch.start(limits))
    hooks.admit.tap(() => {
      if (watch.level === 'quiet') return undefined
      if (watch.level === 'close') return 'close'
      watch.refused++
      return refusal
    })
    hooks.load.tap(load => ({ ...load, ...loadOf(watch) }))
    hooks.figures.tap(figures => [...figures, ...figuresOf(watch)])
    hooks.close.tap(() => watch.stop())
  },
}

function busy(): Refusal {
  const { message } = gatewayError('GW_OVERLOADED')
  return {
    status: 503,
    error: { code: RPC.internal, message, data: { code: 'GW_OVERLOADED' } },
    headers: { 'retry-after': '2', connection: 'close' },
  }
}

function loadOf({ level, heap, memory, lagMs, refused }: Watch): Omit<Load, 'held' | 'rss'> {
  return { shedding: level === 'quiet' ? 'none' : level, heap, memory, lagMs, refused }
}

function figuresOf({ heap, memory, lagMs, refused }: Watch): Figure[] {
  return [
    gauge('tapgate_heap_ratio', 'Part of the heap limit that is in use.', heap),
    gauge('tapgate_memory_ratio', 'Part of the memory that is there which the process has.', memory),
    gauge('tapgate_loop_lag_seconds', 'How late the event loop was at the last look.', lagMs / 1000),
    {
      name: 'tapgate_overload_refused',
      type: 'counter',
      help: 'Requests that were refused because of overload.',
      samples: [{ suffix: '_total', value: refused }],
    },
  ]
}

function gauge(name: string, help: string, value: number): Figure {
  return { name, type: 'gauge', help, samples: [{ value }] }
}
