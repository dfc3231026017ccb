import { totalmem } from 'node:os'
import v8 from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Clock, Config, Metric, HealthFinding, Log, Plugin, Refusal } from '../../src/plugin.ts'
import { defineFindings, gatewayError, parseDuration, RPC } from '../../src/plugin.ts'

const MIB = 1024 * 1024

/**
 * Maximum size of V8's young generation, which is not part of `--max-old-space-size`: 192 MiB since V8 13, before 48
 * MiB.
 */
const YOUNG_GENERATION_BYTES = Number(process.versions.v8.split('.', 1)[0]) >= 13 ? 192 * MIB : 48 * MIB

/** Memory for requests in flight when the limit is reached; collecting near the limit takes seconds. */
const RESERVE_BYTES = 24 * MIB

const CHECK_INTERVAL_MS = 250

/** A single late check may be a short stall or a suspended machine. */
const MIN_LATE_CHECKS = 3

/** Minimum interval between forced garbage collections. */
const COLLECT_MS = 5000

/** Thresholds for closing connections after their answer and for rejecting new requests. */
interface OverloadLimits {
  readonly keepAlive: number
  readonly refuse: number
  readonly lagMs: number
}

export type OverloadLevel = 'quiet' | 'close' | 'refuse'

interface MonitorDeps {
  readonly clock: Clock
  readonly log: Log
  readonly measure: Measure
}

/** Measures heap, memory and event loop lag periodically. */
export class OverloadMonitor {
  level: OverloadLevel = 'quiet'
  /** Last check's values, as fractions. */
  heap = 0
  memory = 0
  lagMs = 0
  refused = 0
  readonly #options: MonitorDeps
  #limits: OverloadLimits = { keepAlive: 1, refuse: 1, lagMs: 0 }
  #starts = 0
  #lateChecks = 0
  #due = 0
  #collectedAt = -COLLECT_MS
  #stopTimer: (() => void) | undefined

  constructor(options: MonitorDeps) {
    this.#options = options
  }

  /** Each generation starts and stops it; the latest limits apply. */
  start(limits: OverloadLimits): void {
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
    this.#due = clock.now() + CHECK_INTERVAL_MS
    this.#stopTimer = clock.after(CHECK_INTERVAL_MS, () => {
      this.#check()
      this.#arm()
    })
  }

  #check(): void {
    const { clock, measure } = this.#options
    const { refuse, lagMs } = this.#limits
    const now = clock.now()
    this.lagMs = Math.max(0, Math.round(now - this.#due))
    this.#lateChecks = lagMs > 0 && this.lagMs >= lagMs ? this.#lateChecks + 1 : 0
    this.heap = measure.heap()
    this.memory = measure.memory()
    if (this.heap >= refuse && now - this.#collectedAt >= COLLECT_MS) {
      this.#collectedAt = now
      if (measure.collect()) this.heap = measure.heap()
    }
    this.#setLevel(this.#computeLevel())
  }

  #computeLevel(): OverloadLevel {
    const { keepAlive, refuse } = this.#limits
    const fullest = Math.max(this.heap, this.memory)
    if (fullest >= refuse || this.#lateChecks >= MIN_LATE_CHECKS) return 'refuse'
    return fullest >= keepAlive ? 'close' : 'quiet'
  }

  #setLevel(level: OverloadLevel): void {
    const before = this.level
    this.level = level
    if (level === before) return
    const { log } = this.#options
    const { heap, memory, refused } = this
    const figures = {
      heap: formatPercent(heap),
      memory: formatPercent(memory),
      lateLooks: this.#lateChecks,
      refused,
    }
    if (level === 'refuse') log.warn('overloaded: rejecting new requests', figures)
    else if (before === 'refuse') log.info('no longer overloaded: accepting requests', figures)
  }
}

function formatPercent(part: number): string {
  return `${Math.round(part * 100)} %`
}

/** Measures usage as fractions. */
interface Measure {
  heap(): number
  memory(): number
  /** Collects garbage; false if that is not possible. */
  collect(): boolean
}

/** Measures this process. Only the old generation runs out of memory, but V8's limit includes the young one. */
function createMeasure(): Measure {
  const heapLimit = v8.getHeapStatistics().heap_size_limit - YOUNG_GENERATION_BYTES - RESERVE_BYTES
  const constrainedMemory = process.constrainedMemory()
  const memoryLimit = constrainedMemory > 0 ? Math.min(constrainedMemory, totalmem()) : totalmem()
  return {
    heap: () => countOldBytes() / heapLimit,
    memory: () => process.memoryUsage.rss() / memoryLimit,
    // V8 collects only when it allocates: a process that rejects all work would never free its garbage.
    collect: collectGarbage,
  }
}

type CollectGarbage = () => void

let collect: CollectGarbage | undefined

/** Collects all garbage through a V8 flag, as there is no function; returns false if unavailable. */
function collectGarbage(): boolean {
  collect ??= getCollector()
  collect?.()
  return collect !== undefined
}

function getCollector(): CollectGarbage | undefined {
  v8.setFlagsFromString('--expose-gc')
  const gc: unknown = runInNewContext('globalThis.gc')
  v8.setFlagsFromString('--no-expose-gc')
  return typeof gc === 'function' ? (gc as CollectGarbage) : undefined
}

function countOldBytes(): number {
  let bytes = 0
  for (const { space_name: name, space_used_size: used } of v8.getHeapSpaceStatistics())
    if (name !== 'new_space') bytes += used
  return bytes
}

const HEALTH = {
  overloaded: {
    level: 'error',
    text: 'overloaded, rejecting requests: {why}',
    fix: 'Increase memory, or run several replicas: docs/deploy.md',
  },
  'nearly-overloaded': {
    level: 'warning',
    text: 'nearly overloaded: {why}',
    fix: 'Increase memory, or run several replicas: docs/deploy.md',
  },
} as const

const createFinding = defineFindings(HEALTH)

/** Rejects new requests while the process runs out of memory or its event loop lags. */
export const overload: Plugin<Exclude<Config['overload'], false>> = {
  name: 'overload',
  claims: { section: 'overload' },
  health: HEALTH,
  setup({ options, config, hooks, clock, log, slot }) {
    const { keepAlive, refuse } = options
    const figuresPath = config.metrics?.path
    const limits = { keepAlive: keepAlive / 100, refuse: refuse / 100, lagMs: parseDuration(options.lag) }
    // The monitor and its counts outlive reloads.
    const watch = slot.gateway(() => new OverloadMonitor({ clock, log, measure: createMeasure() }))
    const refusal = createRefusal()

    hooks.ready.tap(() => watch.start(limits))
    const admit = (_listener: string, path?: string): Refusal | 'close' | undefined => {
      if (watch.level === 'quiet') return undefined
      // Metrics must stay readable during overload.
      if (path !== undefined && path === figuresPath) return 'close'
      if (watch.level === 'close') return 'close'
      watch.refused++
      return refusal
    }
    hooks.services.tap(services => ({ ...services, admission: { admit, getLoad: () => getLoad(watch) } }))
    hooks.health.tap(findings => (watch.level === 'quiet' ? undefined : [...findings, createOverloadFinding(watch)]))
    hooks.metrics.tap(figures => [...figures, ...collectFigures(watch)])
    hooks.close.tap(() => watch.stop())
  },
}

function createRefusal(): Refusal {
  const { message } = gatewayError('GW_OVERLOADED')
  return {
    status: 503,
    error: { code: RPC.internal, message, data: { code: 'GW_OVERLOADED' } },
    headers: { 'retry-after': '2', connection: 'close' },
  }
}

function createOverloadFinding({ level, heap, memory, lagMs }: OverloadMonitor): HealthFinding {
  const why = `heap ${formatPercent(heap)}, memory ${formatPercent(memory)}, event loop delay ${Math.round(lagMs)} ms`
  return createFinding(level === 'refuse' ? 'overloaded' : 'nearly-overloaded', { why })
}

function getLoad({ level, heap, memory, lagMs, refused }: OverloadMonitor) {
  return { shedding: level === 'quiet' ? 'none' : level, heap, memory, lagMs, refused } as const
}

function collectFigures({ heap, memory, lagMs, refused }: OverloadMonitor): Metric[] {
  return [
    createGauge('tapgate_heap_ratio', 'Used fraction of the heap limit.', heap),
    createGauge('tapgate_memory_ratio', 'Used fraction of the available memory.', memory),
    createGauge('tapgate_loop_lag_seconds', 'Event loop delay at the last check.', lagMs / 1000),
    {
      name: 'tapgate_overload_refused',
      type: 'counter',
      help: 'Requests rejected because of overload.',
      samples: [{ suffix: '_total', value: refused }],
    },
  ]
}

function createGauge(name: string, help: string, value: number): Metric {
  return { name, type: 'gauge', help, samples: [{ value }] }
}
