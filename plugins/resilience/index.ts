import type {
  Answer,
  Call,
  Clock,
  Dispatch,
  ExplainStep,
  GatewayError,
  JsonObject,
  Log,
  Plugin,
  Upstream,
} from '../../src/plugin.ts'
import { compileGlobs, defineFindings, gatewayError } from '../../src/plugin.ts'
import { TimerQueue } from './timer-queue.ts'
import { Breaker } from './breaker.ts'
import type { GuardedCallDeps } from './guarded-call.ts'
import { GuardedCall } from './guarded-call.ts'
import { Retries } from './retries.ts'
import type { BulkheadSettings } from './settings.ts'
import {
  ClientRequestCounter,
  ERRORS,
  hasNoLimits,
  findToolTimeout,
  resilienceError,
  parseBulkheadSettings,
} from './settings.ts'
import { PermitQueue } from './permit-queue.ts'

interface BulkheadDeps {
  readonly upstream: string
  readonly clock: Clock
  readonly log: Log
  random(): number
}

/** A probe without a deadline allows another one after this time. */
const PROBE_MS = 60_000

const MIN_RETRY_AFTER_MS = 100

const MAX_RETRY_AFTER_MS = 30_000

/** Weight of the newest interval between two permits. */
const NEWEST_WEIGHT = 0.2

/** Isolates one upstream: deadlines, concurrency limit, circuit breaker and retries for all its calls. */
class Bulkhead implements GuardedCallDeps {
  readonly permits: PermitQueue
  readonly breaker: Breaker | undefined
  readonly retries: Retries | undefined
  readonly clock: Clock
  readonly slowTimers: TimerQueue<GuardedCall>
  readonly queueTimers: TimerQueue<GuardedCall>
  readonly latency: number
  readonly queueTimeout: number
  /** Calls refused by the queue. */
  refused = 0
  readonly clientRequests = new ClientRequestCounter()
  readonly #settings: BulkheadSettings
  readonly #upstream: string
  /** Timer queues by timeout: equal timeouts expire in order. */
  readonly #deadlines = new Map<number, TimerQueue<GuardedCall>>()
  permitGrantedAt = 0
  #permitIntervalMs = 0

  constructor(settings: BulkheadSettings, { upstream, clock, log, random }: BulkheadDeps) {
    this.#settings = settings
    this.#upstream = upstream
    this.clock = clock
    this.queueTimeout = settings.permits.queueTimeout
    this.latency = settings.breaker?.latency ?? 0
    this.permits = new PermitQueue(settings.permits, clock)
    this.slowTimers = new TimerQueue(clock, passage => passage.onSlow())
    this.queueTimers = new TimerQueue(clock, passage => passage.onQueueTimeout())
    this.retries = settings.retry === undefined ? undefined : new Retries(settings.retry, random)
    this.breaker =
      settings.breaker === undefined
        ? undefined
        : new Breaker(settings.breaker, {
            upstream,
            clock,
            log,
            random,
            probeMs: Math.max(settings.timeout.idle, PROBE_MS),
            onOpen: () => this.permits.clear(waiter => waiter.onEvicted()),
          })
  }

  /** Dispatches a call. Rejects with a GatewayError if it was refused, failed or timed out. */
  dispatchGuarded(call: Call, next: Dispatch): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const own = findToolTimeout(this.#settings, call)
      const timeout = own ?? this.#settings.timeout
      new GuardedCall({
        call,
        next,
        bulkhead: this,
        timeout,
        isExpectedSlow: own !== undefined,
        resolve,
        reject,
      }).begin()
    })
  }

  deadlineTimers(ms: number): TimerQueue<GuardedCall> {
    let alarms = this.#deadlines.get(ms)
    if (alarms === undefined) {
      alarms = new TimerQueue(this.clock, passage => passage.onDeadline())
      this.#deadlines.set(ms, alarms)
    }
    return alarms
  }

  recordPermit(): void {
    const now = this.clock.now()
    const pause = this.permitGrantedAt === 0 ? 0 : now - this.permitGrantedAt
    this.#permitIntervalMs += (pause - this.#permitIntervalMs) * NEWEST_WEIGHT
    this.permitGrantedAt = now
  }

  busyError(why: string): GatewayError {
    this.refused++
    const expected = Math.round(this.#permitIntervalMs * (this.permits.waiting + 1))
    const retryAfterMs = Math.min(Math.max(expected, MIN_RETRY_AFTER_MS), MAX_RETRY_AFTER_MS)
    return gatewayError('GW_UPSTREAM_BUSY', { upstream: this.#upstream, why, retryAfterMs })
  }

  openCircuitError(): GatewayError {
    const { why = '', detail, retryAfterMs = 0 } = this.breaker ?? {}
    return resilienceError('GW_UPSTREAM_RESTING', { upstream: this.#upstream, why, detail, retryAfterMs })
  }

  describeStatus(): JsonObject {
    const { permits, breaker, retries, refused, clientRequests } = this
    const { concurrency, queue } = this.#settings.permits
    return {
      queue: {
        running: permits.running,
        waiting: permits.waiting,
        asking: clientRequests.size,
        concurrency,
        size: queue,
        refused,
      },
      ...(breaker === undefined ? {} : { breaker: breaker.describeStatus() }),
      ...(retries === undefined ? {} : { retries: retries.made }),
    }
  }
}

const BY = 'resilience'

/** Explains the limits for a call, and whether the circuit is open. */
function explainBulkhead(call: Call, settings: BulkheadSettings, bulkhead: Bulkhead): ExplainStep[] {
  const { breaker, permits } = bulkhead
  const { concurrency } = settings.permits
  const { idle: ms, total } = findToolTimeout(settings, call) ?? settings.timeout
  const parts = [
    ms > 0 ? `timeout ${ms} ms` : 'no timeout',
    ...(total > ms ? [`with progress ${total === Infinity ? 'unlimited' : `up to ${total} ms`}`] : []),
    ...(concurrency > 0 ? [`${permits.running} of ${concurrency} calls running`] : []),
    describeTries(call, settings),
  ]
  const facts = { timeoutMs: ms, concurrency, running: permits.running, waiting: permits.waiting }
  const step: ExplainStep = { by: BY, at: 'dispatch', does: 'passes', text: parts.join(', '), facts }
  if (breaker?.isOpen !== true) return [step]
  const text = `circuit of "${call.upstream}" is open for another ${breaker.retryAfterMs} ms: ${breaker.why}`
  return [step, { by: BY, at: 'dispatch', does: 'refuses', text, isPassing: true }]
}

/** Only configured tools are retried. */
function describeTries({ params }: Call, { retry }: BulkheadSettings): string {
  const isSafe = retry !== undefined && retry.tools.length > 0 && compileGlobs(retry.tools)(String(params?.name))
  return isSafe ? `at most ${retry.attempts} attempts` : 'one try'
}

const HEALTH = {
  'breaker-open': {
    level: 'warning',
    text: 'circuit of {upstream} is open: {why}',
    fix: 'gateway logs {upstream} shows its output',
  },
} as const

const bulkheadFinding = defineFindings(HEALTH)

/** Advice for servers that are not local processes, so their output is unknown. */
const GATEWAY_LOG_HINT = 'See the gateway log for details'

/** Bulkheads outlive a generation, because the health belongs to the upstream. */
const bulkheadsByUpstream = new WeakMap<Upstream, Bulkhead>()

/**
 * Isolates upstreams from each other: call deadlines, extended by progress and client requests; a bounded queue with
 * fair concurrency; a circuit breaker; and retries for safe calls.
 */
export const resilience: Plugin = {
  name: 'resilience',
  claims: { upstream: ['timeout', 'limits', 'breaker', 'retry'], always: true },
  errors: ERRORS,
  health: HEALTH,
  setup({ hooks, clock, log }) {
    const bulkheads = new Map<string, Bulkhead>()
    const withOutput = new Set<string>()
    const specs = new Map<string, BulkheadSettings>()
    hooks.dispatch.tap({ phase: 'queue' }, (next, upstream) => {
      const settings = parseBulkheadSettings(upstream.spec)
      if (hasNoLimits(settings)) return next
      const host = { upstream: upstream.name, clock, log, random: Math.random }
      const bulkhead = bulkheadsByUpstream.get(upstream) ?? new Bulkhead(settings, host)
      bulkheadsByUpstream.set(upstream, bulkhead)
      bulkheads.set(upstream.name, bulkhead)
      specs.set(upstream.name, settings)
      if (upstream.logs !== undefined) withOutput.add(upstream.name)
      return call => bulkhead.dispatchGuarded(call, next)
    })
    hooks.upstreamState.tap((upstream, state) => {
      const breaker = bulkheads.get(upstream)?.breaker
      if (breaker === undefined) return
      breaker.isStopped = state === 'stopped'
      if (state === 'ready') breaker.reset()
    })
    hooks.explain.tap((steps, { call }) => {
      const bulkhead = bulkheads.get(call?.upstream ?? '')
      const settings = specs.get(call?.upstream ?? '')
      if (call === undefined || settings === undefined || bulkhead === undefined) return undefined
      return [...steps, ...explainBulkhead(call, settings, bulkhead)]
    })
    hooks.health.tap(findings => {
      const open = [...bulkheads].filter(([, { breaker }]) => breaker !== undefined && breaker.state !== 'closed')
      return [
        ...findings,
        ...open.map(([upstream, { breaker }]) => ({
          ...bulkheadFinding('breaker-open', { upstream, why: breaker?.why ?? '' }),
          ...(withOutput.has(upstream) ? {} : { fix: GATEWAY_LOG_HINT }),
        })),
      ]
    })
    hooks.status.tap((status, { name }) => {
      const bulkhead = bulkheads.get(name)
      return bulkhead === undefined ? status : { ...status, ...bulkhead.describeStatus() }
    })
  },
}
