import {
  findingsOf,
  gatewayError,
  parseDuration,
  RPC,
  type Config,
  type Figure,
  type HealthFinding,
  type Load,
  type Plugin,
  type Refusal,
} from '../../src/plugin.ts'
import { measure, Watch } from './watch.ts'

const HEALTH = {
  overloaded: {
    level: 'error',
    text: 'the process has too much to do and refuses requests: {why}',
    fix: 'Give it more memory, or run several replicas: docs/deploy.md',
  },
  'nearly-overloaded': {
    level: 'warning',
    text: 'the process has nearly too much to do: {why}',
    fix: 'Give it more memory, or run several replicas: docs/deploy.md',
  },
} as const

const found = findingsOf(HEALTH)

/** Refuses new work while the process is near the end of its memory, or behind its time, and says so. */
export const overload: Plugin<Exclude<Config['overload'], false>> = {
  name: 'overload',
  claims: { section: 'overload' },
  health: HEALTH,
  setup({ options, config, hooks, clock, log, slot }) {
    const { keepAlive, refuse } = options
    const figuresPath = config.metrics?.path
    const limits = { keepAlive: keepAlive / 100, refuse: refuse / 100, lagMs: parseDuration(options.lag) }
    // The watch, with its counts, goes on through reloads.
    const watch = slot.gateway(() => new Watch({ clock, log, measure: measure() }))
    const refusal = busy()

    hooks.ready.tap(() => watch.start(limits))
    hooks.admit.tap((_listener, path) => {
      if (watch.level === 'quiet') return undefined
      // Figures are wanted most while there is too much to do.
      if (path !== undefined && path === figuresPath) return 'close'
      if (watch.level === 'close') return 'close'
      watch.refused++
      return refusal
    })
    hooks.load.tap(load => ({ ...load, ...loadOf(watch) }))
    hooks.health.tap(findings => (watch.level === 'quiet' ? undefined : [...findings, overloaded(watch)]))
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

function overloaded({ level, heap, memory, lagMs }: Watch): HealthFinding {
  const percent = (part: number): string => `${Math.round(part * 100)} %`
  const why = `heap ${percent(heap)}, memory ${percent(memory)}, ${Math.round(lagMs)} ms behind`
  return found(level === 'refuse' ? 'overloaded' : 'nearly-overloaded', { why })
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
