import { totalmem } from 'node:os'
import v8 from 'node:v8'
import type { Clock, Config, Figure, HealthFinding, Load, Log, Plugin, Refusal } from '../../src/plugin.ts'
import { collectGarbage, defineFindings, gatewayError, parseDuration, RPC } from '../../src/plugin.ts'

const MIB = 1024 * 1024

/** V8 from 13 on has a young generation of up to 192 MiB beside what `--max-old-space-size` says, older ones of 48 MiB. */
const YOUNG = Number(process.versions.v8.split('.', 1)[0]) >= 13 ? 192 * MIB : 48 * MIB

/** Room for the requests under way when the last one was let in; a collection near the end takes seconds. */
const RESERVE = 24 * MIB

/** Time between two looks. */
const EVERY_MS = 250

/** Looks in a row that must be late: one is a moment, or a machine that slept. */
const LATE_CHECKS = 3

/** Garbage is collected for the sake of a look at most this often. */
const COLLECT_MS = 5000

/** From where on connections end with their answer, and from where on nothing new is taken. */
interface Limits {
  readonly keepAlive: number
  readonly refuse: number
  readonly lagMs: number
}

export type Level = 'quiet' | 'close' | 'refuse'

interface WatchOptions {
  readonly clock: Clock
  readonly log: Log
  readonly measure: Measure
}

/** Looks at heap, memory and the lag of the event loop now and then. */
export class Watch {
  level: Level = 'quiet'
  /** At the last look, as parts of one. */
  heap = 0
  memory = 0
  lagMs = 0
  refused = 0
  readonly #options: WatchOptions
  #limits: Limits = { keepAlive: 1, refuse: 1, lagMs: 0 }
  #starts = 0
  #late = 0
  #due = 0
  #collectedAt = -COLLECT_MS
  #stopTimer: (() => void) | undefined

  constructor(options: WatchOptions) {
    this.#options = options
  }

  /** Each generation starts it, and stops it when it ends; the newest limits hold. */
  start(limits: Limits): void {
    this.#limits = limits
    this.#starts++
    if (this.#stopTimer !== undefined) return
    this.memory = this.#options.measure.memory()
    this.#arm()
  }

  stop(): void {
    if (--this.#starts > 0) return
    this.#stopTimer?.()
    this.#stopTimer = undefined
    this.level = 'quiet'
  }

  #arm(): void {
    const { clock } = this.#options
    this.#due = clock.now() + EVERY_MS
    this.#stopTimer = clock.after(EVERY_MS, () => {
      this.#look()
      this.#arm()
    })
  }

  #look(): void {
    const { clock, measure } = this.#options
    const { refuse, lagMs } = this.#limits
    const now = clock.now()
    this.lagMs = Math.max(0, Math.round(now - this.#due))
    this.#late = lagMs > 0 && this.lagMs >= lagMs ? this.#late + 1 : 0
    this.heap = measure.heap()
    this.memory = measure.memory()
    if (this.heap >= refuse && now - this.#collectedAt >= COLLECT_MS) {
      this.#collectedAt = now
      if (measure.collect()) this.heap = measure.heap()
    }
    this.#become(this.#levelNow())
  }

  #levelNow(): Level {
    const { keepAlive, refuse } = this.#limits
    const fullest = Math.max(this.heap, this.memory)
    if (fullest >= refuse || this.#late >= LATE_CHECKS) return 'refuse'
    return fullest >= keepAlive ? 'close' : 'quiet'
  }

  #become(level: Level): void {
    const before = this.level
    this.level = level
    if (level === before) return
    const { log } = this.#options
    const { heap, memory, refused } = this
    const figures = { heap: percent(heap), memory: percent(memory), lateLooks: this.#late, refused }
    if (level === 'refuse') log.warn('overloaded: new requests are refused for a while', figures)
    else if (before === 'refuse') log.info('requests are taken again', figures)
  }
}

function percent(part: number): string {
  return `${Math.round(part * 100)} %`
}

/** Measures how full the process is, in parts of one. */
interface Measure {
  heap(): number
  memory(): number
  /** Frees what nothing refers to; false where that is not possible. */
  collect(): boolean
}

/** Measures of this process. The end of the old generation is what ends a process, and V8 tells only of old and young together. */
function measure(): Measure {
  const heapLimit = v8.getHeapStatistics().heap_size_limit - YOUNG - RESERVE
  const there = process.constrainedMemory()
  const memoryLimit = there > 0 ? Math.min(there, totalmem()) : totalmem()
  return {
    heap: () => oldBytes() / heapLimit,
    memory: () => process.memoryUsage.rss() / memoryLimit,
    // V8 collects as it allocates: a process that refuses all work allocates nothing, and would stay full of garbage.
    collect: collectGarbage,
  }
}

function oldBytes(): number {
  let bytes = 0
  for (const { space_name: name, space_used_size: used } of v8.getHeapSpaceStatistics())
    if (name !== 'new_space') bytes += used
  return bytes
}

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

const found = defineFindings(HEALTH)

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
