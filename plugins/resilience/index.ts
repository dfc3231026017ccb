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
import { Alarms } from './alarms.ts'
import { Breaker } from './breaker.ts'
import type { PassageHost } from './passage.ts'
import { GuardedCall } from './passage.ts'
import { Retries } from './retries.ts'
import type { Settings } from './settings.ts'
import { Asking, ERRORS, isIdle, ownTimeout, resilienceError, settingsOf } from './settings.ts'
import { Turns } from './turns.ts'

/** Dependencies of a bulkhead. */
interface BulkheadHost {
  readonly upstream: string
  readonly clock: Clock
  readonly log: Log
  random(): number
}

/** A probe that has no deadline makes room for the next one after this long. */
const PROBE_MS = 60_000

const SHORTEST_WAIT_MS = 100

const MAX_WAIT_MS = 30_000

/** Weight of the newest pause between two turns. */
const NEWEST = 0.2

/** Keeps one upstream's trouble from everybody else: deadlines, turns, a breaker and retries for all of its calls. */
class Bulkhead implements PassageHost {
  readonly turns: Turns
  readonly breaker: Breaker | undefined
  readonly retries: Retries | undefined
  readonly clock: Clock
  readonly slow: Alarms<GuardedCall>
  readonly patience: Alarms<GuardedCall>
  readonly latency: number
  readonly queueTimeout: number
  /** Calls that were refused a place, or lost it. */
  refused = 0
  readonly asking = new Asking()
  readonly #settings: Settings
  readonly #upstream: string
  /** Alarms by how long they last: those of one length come in order. */
  readonly #deadlines = new Map<number, Alarms<GuardedCall>>()
  turnAt = 0
  #turnEveryMs = 0

  constructor(settings: Settings, { upstream, clock, log, random }: BulkheadHost) {
    this.#settings = settings
    this.#upstream = upstream
    this.clock = clock
    this.queueTimeout = settings.turns.queueTimeout
    this.latency = settings.breaker?.latency ?? 0
    this.turns = new Turns(settings.turns, clock)
    this.slow = new Alarms(clock, passage => passage.isSlow())
    this.patience = new Alarms(clock, passage => passage.waitedTooLong())
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
            opened: () => this.turns.clear(waiter => waiter.pushedOut()),
          })
  }

  /** Takes a call through. Rejects with a GatewayError when it was refused, failed, or took too long. */
  run(call: Call, next: Dispatch): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const own = ownTimeout(this.#settings, call)
      const timeout = own ?? this.#settings.timeout
      new GuardedCall({
        call,
        next,
        bulkhead: this,
        timeout,
        isPatient: own !== undefined,
        resolve,
        reject,
      }).start()
    })
  }

  deadlines(ms: number): Alarms<GuardedCall> {
    let alarms = this.#deadlines.get(ms)
    if (alarms === undefined) {
      alarms = new Alarms(this.clock, passage => passage.expired())
      this.#deadlines.set(ms, alarms)
    }
    return alarms
  }

  turned(): void {
    const now = this.clock.now()
    const pause = this.turnAt === 0 ? 0 : now - this.turnAt
    this.#turnEveryMs += (pause - this.#turnEveryMs) * NEWEST
    this.turnAt = now
  }

  busy(why: string): GatewayError {
    this.refused++
    const expected = Math.round(this.#turnEveryMs * (this.turns.waiting + 1))
    const retryAfterMs = Math.min(Math.max(expected, SHORTEST_WAIT_MS), MAX_WAIT_MS)
    return gatewayError('GW_UPSTREAM_BUSY', { upstream: this.#upstream, why, retryAfterMs })
  }

  resting(): GatewayError {
    const { why = '', detail, retryAfterMs = 0 } = this.breaker ?? {}
    return resilienceError('GW_UPSTREAM_RESTING', { upstream: this.#upstream, why, detail, retryAfterMs })
  }

  /** The members that `status` shows. */
  status(): JsonObject {
    const { turns, breaker, retries, refused, asking } = this
    const { concurrency, queue } = this.#settings.turns
    return {
      queue: {
        running: turns.running,
        waiting: turns.waiting,
        asking: asking.size,
        concurrency,
        size: queue,
        refused,
      },
      ...(breaker === undefined ? {} : { breaker: breaker.status() }),
      ...(retries === undefined ? {} : { retries: retries.made }),
    }
  }
}

const BY = 'resilience'

/** Says what keeps a call from waiting for ever, and whether its server rests. */
function explainBulkhead(call: Call, settings: Settings, bulkhead: Bulkhead): ExplainStep[] {
  const { breaker, turns } = bulkhead
  const { concurrency } = settings.turns
  const { idle: ms, total } = ownTimeout(settings, call) ?? settings.timeout
  const parts = [
    ms > 0 ? `it has ${ms} ms` : 'it has no deadline',
    ...(total > ms
      ? [`with progress ${total === Infinity ? 'as long as it takes' : `up to ${total} ms`}`]
      : []),
    ...(concurrency > 0 ? [`${turns.running} of ${concurrency} turns are taken`] : []),
    triesOf(call, settings),
  ]
  const facts = { timeoutMs: ms, concurrency, running: turns.running, waiting: turns.waiting }
  const step: ExplainStep = { by: BY, at: 'dispatch', does: 'passes', text: parts.join(', '), facts }
  if (breaker?.isShut !== true) return [step]
  const text = `"${call.upstream}" rests for another ${breaker.retryAfterMs} ms: ${breaker.why}`
  return [step, { by: BY, at: 'dispatch', does: 'refuses', text, isPassing: true }]
}

/** Only tools that are named may run twice. */
function triesOf({ params }: Call, { retry }: Settings): string {
  const isSafe =
    retry !== undefined && retry.tools.length > 0 && compileGlobs(retry.tools)(String(params?.name))
  return isSafe ? `at most ${retry.attempts} tries` : 'one try'
}

const HEALTH = {
  'breaker-open': {
    level: 'warning',
    text: 'calls of {upstream} are refused for a while: {why}',
    fix: 'gateway logs {upstream} shows its output',
  },
} as const

const found = defineFindings(HEALTH)

/** Advice for servers that are no process of ours, and so have no output here. */
const WITHOUT_OUTPUT = 'The log of the gateway says more'

/** Bulkheads by upstream: the health of an upstream belongs to it, and outlives the generations that it is kept in. */
const known = new WeakMap<Upstream, Bulkhead>()

/**
 * Keeps the trouble of one upstream from all others: a deadline for every call, which a client that thinks extends and, if
 * configured, progress; turns with a bounded queue, a breaker, and retries of what is safe to repeat.
 */
export const resilience: Plugin = {
  name: 'resilience',
  claims: { upstream: ['timeout', 'limits', 'breaker', 'retry'], always: true },
  errors: ERRORS,
  health: HEALTH,
  setup({ hooks, clock, log }) {
    const bulkheads = new Map<string, Bulkhead>()
    const withOutput = new Set<string>()
    const specs = new Map<string, Settings>()
    hooks.dispatch.tap({ phase: 'queue' }, (next, upstream) => {
      const settings = settingsOf(upstream.spec)
      if (isIdle(settings)) return next
      const host = { upstream: upstream.name, clock, log, random: Math.random }
      const bulkhead = known.get(upstream) ?? new Bulkhead(settings, host)
      known.set(upstream, bulkhead)
      bulkheads.set(upstream.name, bulkhead)
      specs.set(upstream.name, settings)
      if (upstream.logs !== undefined) withOutput.add(upstream.name)
      return call => bulkhead.run(call, next)
    })
    hooks.upstreamState.tap((upstream, state) => {
      const breaker = bulkheads.get(upstream)?.breaker
      if (breaker === undefined) return
      breaker.isStopped = state === 'stopped'
      if (state === 'ready') breaker.heal()
    })
    hooks.explain.tap((steps, { call }) => {
      const bulkhead = bulkheads.get(call?.upstream ?? '')
      const settings = specs.get(call?.upstream ?? '')
      if (call === undefined || settings === undefined || bulkhead === undefined) return undefined
      return [...steps, ...explainBulkhead(call, settings, bulkhead)]
    })
    hooks.health.tap(findings => {
      const open = [...bulkheads].filter(
        ([, { breaker }]) => breaker !== undefined && breaker.state !== 'closed',
      )
      return [
        ...findings,
        ...open.map(([upstream, { breaker }]) => ({
          ...found('breaker-open', { upstream, why: breaker?.why ?? '' }),
          ...(withOutput.has(upstream) ? {} : { fix: WITHOUT_OUTPUT }),
        })),
      ]
    })
    hooks.status.tap((status, { name }) => {
      const bulkhead = bulkheads.get(name)
      return bulkhead === undefined ? status : { ...status, ...bulkhead.status() }
    })
  },
}
