import { createHash } from 'node:crypto'
import { type Answer, BoundedMap, type Clock, type Metric, type SharedStore } from '../../../src/plugin.ts'
import { formatDay, getMsUntilTomorrow } from '../day-counts.ts'
import {
  DEFAULT_RETRY_MS,
  type LimitSubject,
  MinuteWindows,
  type RateLimitRule,
  type RuleConfig,
  type UncountedPolicy,
} from '../rule.ts'
import { type RuleKey, createLimitRefusal, listRuleKeys } from '../rule-counting.ts'
import {
  BatchReserves,
  type CountRequest,
  type LimitDecision,
  type SharedCount,
  StoreHealth,
} from './batch-reserves.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** Limits below this are requested call by call. */
const SMALL = 20
const PART = 10
const MAX_AHEAD = 50
/** Maximum wait for a slow store. */
const PATIENCE_MS = 100
const MAX_KEYS = 100_000
const LONG_KEY = 500

/** The current generation's store, with shared health. */
export interface MeterDeps {
  store: SharedStore
  readonly health: StoreHealth
  readonly clock: Clock
}

/** Rule counter. */
interface Meter {
  take(key: string, uncounted: UncountedPolicy): LimitDecision | Promise<LimitDecision>
  /** Returns a counted call that another rule has rejected. */
  giveBack(key: string): void
  close(): Promise<void>
}

/** Counts calls per minute over all replicas. */
export function createMinuteMeter(name: string, spec: RuleConfig, deps: MeterDeps): Meter {
  const { perMinute: maxPerMinute = 0, onStoreLoss } = spec
  const windows = new MinuteWindows(maxPerMinute)
  const allowed = `${maxPerMinute} per minute`
  const count: SharedCount = {
    ahead: computeAhead(maxPerMinute),
    patienceMs: onStoreLoss === 'refuse' ? undefined : PATIENCE_MS,
    reportsDebt: onStoreLoss !== 'refuse',
    requestBatch: (key, question) =>
      deps.store.takePermits(createStoreKey('minute', name, key), {
        max: maxPerMinute,
        windowMs: MINUTE_MS,
        ...question,
      }),
    decideLocally: key => {
      if (onStoreLoss === 'refuse') return { allowed, retryAfterMs: DEFAULT_RETRY_MS, isStoreLost: true }
      const share = Math.max(1, Math.floor(maxPerMinute / deps.store.processCount))
      const wait = windows.getWaitMs(key, deps.clock.now(), share)
      return wait === 0 ? undefined : { allowed, retryAfterMs: wait }
    },
    createExceeded: waitMs => ({ allowed, retryAfterMs: waitMs }),
    onUsed: key => windows.countCall(key, deps.clock.now()),
  }
  const reserves = new BatchReserves(count, deps.health, deps.clock)
  return {
    take: key => reserves.takeOne(key),
    giveBack: key => reserves.returnOne(key),
    close: () => reserves.close(),
  }
}

/** Counts calls per day over all replicas. */
function createDayMeter(name: string, { perDay: maxPerDay = 0 }: RuleConfig, deps: MeterDeps): Meter {
  const allowed = `${maxPerDay} per day`
  /** Latest totals: a store that lost them continues from there. */
  const initialCounts = new BoundedMap<string, number>({ max: MAX_KEYS })
  const requestBatch = async (
    key: string,
    { count: requested, prefetch, unused }: CountRequest,
  ): ReturnType<SharedCount['requestBatch']> => {
    const { added, total } = await deps.store.addToCounter(createStoreKey('day', name, key), {
      delta: requested - unused,
      ...{ prefetch, max: maxPerDay, expiresInMs: 2 * DAY_MS, initial: initialCounts.get(key) ?? 0 },
    })
    initialCounts.set(key, total)
    const msUntilTomorrow = getMsUntilTomorrow(Date.now())
    return { granted: added + unused, validMs: msUntilTomorrow, waitMs: total < maxPerDay ? 0 : msUntilTomorrow }
  }
  const count: SharedCount = {
    ahead: computeAhead(maxPerDay),
    patienceMs: undefined,
    reportsDebt: false,
    requestBatch,
    decideLocally: () => ({ allowed, retryAfterMs: DEFAULT_RETRY_MS, isUncounted: true }),
    createExceeded: () => ({ allowed, retryAfterMs: getMsUntilTomorrow(Date.now()) }),
    onUsed: () => undefined,
  }
  const reserves = new BatchReserves(count, deps.health, deps.clock)
  const createDayKey = (key: string): string => `${formatDay(Date.now())} ${key}`
  const applyPolicy = (verdict: LimitDecision, uncounted: UncountedPolicy): LimitDecision =>
    verdict?.isUncounted === true && uncounted === 'continue' ? undefined : verdict
  return {
    take: (key, uncounted) => {
      const verdict = reserves.takeOne(createDayKey(key))
      return verdict instanceof Promise
        ? verdict.then(result => applyPolicy(result, uncounted))
        : applyPolicy(verdict, uncounted)
    },
    giveBack: key => reserves.returnOne(createDayKey(key)),
    close: () => reserves.close(),
  }
}

/** Counts concurrent calls in this process only. */
function createInFlightMeter(rule: RateLimitRule): Meter {
  return {
    take: key => {
      const full = rule.findInFlightExceeded(key)
      if (full === undefined) rule.acquire(key)
      return full
    },
    giveBack: key => rule.release(key),
    close: () => Promise.resolve(),
  }
}

function computeAhead(max: number): number {
  return max < SMALL ? 0 : Math.min(Math.floor(max / PART), MAX_AHEAD)
}

function createStoreKey(sort: string, name: string, key: string): string {
  const fullKey = `${sort} ${name} ${key}`
  return fullKey.length <= LONG_KEY ? fullKey : `${sort} ${createHash('sha256').update(fullKey).digest('hex')}`
}

interface RuleMeters {
  readonly spec: RuleConfig
  readonly flight: Meter
  readonly minute: Meter
  readonly day: Meter
}

/** All rule counters and the current store; outlive reloads. */
export interface SharedCountingState {
  readonly deps: MeterDeps
  readonly meters: Map<string, RuleMeters>
  users: number
}

export function createSharedState(store: SharedStore, clock: Clock): SharedCountingState {
  return { deps: { store, clock, health: new StoreHealth() }, meters: new Map(), users: 0 }
}

const LIMITS = { flight: 'inFlight', minute: 'perMinute', day: 'perDay' } as const

interface CountStep {
  readonly rule: RateLimitRule
  readonly key: string
  readonly meter: Meter
}

/** Counts in a store that several processes share. */
export class SharedCounting {
  readonly #state: SharedCountingState
  readonly #meters = new Map<RateLimitRule, RuleMeters>()

  constructor(state: SharedCountingState, store: SharedStore, rules: readonly RateLimitRule[]) {
    this.#state = state
    state.deps.store = store
    for (const rule of rules) this.#meters.set(rule, createMeters(rule, state))
  }

  get figures(): Metric[] {
    const { requestCount, localCount } = this.#state.deps.health
    return [
      createCounter('limits_asked', 'Requests to the store for shared limits.', requestCount),
      createCounter('limits_alone', 'Calls admitted while the store was unavailable.', localCount),
    ]
  }

  addUser(): void {
    this.#state.users++
  }

  /** Returns unused calls with the last generation. */
  async removeUser(): Promise<void> {
    if (--this.#state.users > 0) return
    const all = [...this.#state.meters.values()]
    await Promise.all(all.flatMap(({ flight, minute, day }) => [flight, minute, day].map(meter => meter.close())))
  }

  /** Counts on all rules, or on none if one is exceeded. */
  admit(
    rules: readonly RateLimitRule[],
    subject: LimitSubject,
    uncounted: UncountedPolicy,
  ): RuleKey[] | Answer | Promise<RuleKey[] | Answer> {
    const keys = listRuleKeys(rules, subject)
    if (keys.length === 0) return keys
    const steps = this.#listSteps(keys)
    const inFlightKeys = keys.filter(({ rule }) => rule.hasInFlight)
    const refused = takeSteps(steps, 0, uncounted)
    return refused instanceof Promise ? refused.then(answer => answer ?? inFlightKeys) : (refused ?? inFlightKeys)
  }

  release(acquired: readonly RuleKey[]): void {
    for (const { rule, key } of acquired) this.#meters.get(rule)?.flight.giveBack(key)
  }

  /** Reacquires slots for continued calls; returns those that were free. */
  async reacquire(acquired: readonly RuleKey[]): Promise<readonly RuleKey[]> {
    const verdicts = await Promise.all(
      acquired.map(async ({ rule, key }) => this.#meters.get(rule)?.flight.take(key, 'continue')),
    )
    return acquired.filter((_, at) => verdicts[at] === undefined)
  }

  /** Counters that cannot return calls come last. */
  #listSteps(keys: readonly RuleKey[]): CountStep[] {
    return (['flight', 'minute', 'day'] as const).flatMap(sort =>
      keys.flatMap(({ rule, key }) => {
        const meter = this.#meters.get(rule)?.[sort]
        return meter === undefined || rule.spec[LIMITS[sort]] === undefined ? [] : { rule, key, meter }
      }),
    )
  }
}

/** Counts step by step, awaiting only if necessary. */
function takeSteps(
  steps: readonly CountStep[],
  from: number,
  uncounted: UncountedPolicy,
): Answer | undefined | Promise<Answer | undefined> {
  for (let at = from; at < steps.length; at++) {
    const step = steps[at]
    const verdict = step?.meter.take(step.key, uncounted)
    if (verdict instanceof Promise)
      return verdict.then(refusal =>
        refusal === undefined ? takeSteps(steps, at + 1, uncounted) : undoSteps(steps, at, refusal),
      )
    if (verdict !== undefined) return undoSteps(steps, at, verdict)
  }
  return undefined
}

function undoSteps(steps: readonly CountStep[], at: number, full: NonNullable<LimitDecision>): Answer {
  for (const { meter, key } of steps.slice(0, at)) meter.giveBack(key)
  return createLimitRefusal({ ...full, rule: steps[at]?.rule.name ?? '' })
}

/** Reuses counters of unchanged rules, except concurrent ones, which belong to a generation. */
function createMeters(rule: RateLimitRule, { deps, meters }: SharedCountingState): RuleMeters {
  const { name, spec } = rule
  const before = meters.get(name)
  const reusable = hasSameLimits(before?.spec, spec) ? before : undefined
  const made: RuleMeters = {
    spec,
    minute: reusable?.minute ?? createMinuteMeter(name, spec, deps),
    flight: createInFlightMeter(rule),
    day: reusable?.day ?? createDayMeter(name, spec, deps),
  }
  meters.set(name, made)
  return made
}

function hasSameLimits(one: RuleConfig | undefined, other: RuleConfig): boolean {
  const formatLimits = ({ perMinute, perDay, inFlight, onStoreLoss }: RuleConfig): string =>
    JSON.stringify([perMinute, perDay, inFlight, onStoreLoss])
  return one !== undefined && formatLimits(one) === formatLimits(other)
}

function createCounter(name: string, help: string, value: number): Metric {
  return { name: `tapgate_${name}`, type: 'counter', help, samples: [{ suffix: '_total', value }] }
}
