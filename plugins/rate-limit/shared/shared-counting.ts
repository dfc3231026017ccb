import { createHash } from 'node:crypto'
import type { Answer, Clock, Figure, SharedStore } from '../../../src/plugin.ts'
import { BoundedMap } from '../../../src/plugin.ts'
import { dayOf, untilTomorrow } from '../days.ts'
import type { Rule, RuleConfig, Subject, Uncounted } from '../rule.ts'
import { WARNING_MS, Windows } from '../rule.ts'
import type { Taken } from '../taken.ts'
import { placesOf, refusal } from '../taken.ts'
import type { Question, SharedCount, Verdict } from './reserves.ts'
import { Reserves, StoreHealth } from './reserves.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** Limits below this are asked about call by call. */
const SMALL = 20
const PART = 10
const MAX_AHEAD = 50
/** Time that a call waits for a store that is slow. */
const PATIENCE_MS = 100
const MAX_KEYS = 100_000
const LONG_KEY = 500

/** The store as the generation that runs has it, with what all rules know of it. */
export interface MeterDeps {
  store: SharedStore
  readonly health: StoreHealth
  readonly clock: Clock
}

/** One way in which a rule counts. */
interface Meter {
  take(key: string, uncounted: Uncounted): Verdict | Promise<Verdict>
  /** Gives back what was taken and is not used, as something else refused the call. */
  giveBack(key: string): void
  close(): Promise<void>
}

/** The minute of a rule, over all replicas. */
export function minuteMeter(name: string, spec: RuleConfig, around: MeterDeps): Meter {
  const { perMinute: most = 0, onStoreLoss } = spec
  const windows = new Windows(most)
  const allowed = `${most} a minute`
  const count: SharedCount = {
    ahead: aheadOf(most),
    patienceMs: onStoreLoss === 'refuse' ? undefined : PATIENCE_MS,
    owes: onStoreLoss !== 'refuse',
    ask: (key, question) =>
      around.store.permits(storeKey('minute', name, key), { most, ms: MINUTE_MS, ...question }),
    decide: key => {
      if (onStoreLoss === 'refuse') return { allowed, retryAfterMs: WARNING_MS, isStoreLost: true }
      const share = Math.max(1, Math.floor(most / around.store.sharers))
      const wait = windows.wait(key, around.clock.now(), share)
      return wait === 0 ? undefined : { allowed, retryAfterMs: wait }
    },
    full: waitMs => ({ allowed, retryAfterMs: waitMs }),
    used: key => windows.take(key, around.clock.now()),
  }
  const reserves = new Reserves(count, around.health, around.clock)
  return {
    take: key => reserves.take(key),
    giveBack: key => reserves.giveBack(key),
    close: () => reserves.close(),
  }
}

/** The day of a rule, over all replicas. */
function dayMeter(name: string, { perDay: most = 0 }: RuleConfig, around: MeterDeps): Meter {
  const allowed = `${most} a day`
  /** Counts as the store said last: one that has forgotten them goes on from there. */
  const seen = new BoundedMap<string, number>({ max: MAX_KEYS })
  const ask = async (key: string, { wanted, ahead, unused }: Question): ReturnType<SharedCount['ask']> => {
    const { got, total } = await around.store.count(storeKey('day', name, key), {
      by: wanted - unused,
      ...{ ahead, most, ms: 2 * DAY_MS, from: seen.get(key) ?? 0 },
    })
    seen.set(key, total)
    const left = untilTomorrow(Date.now())
    return { got: got + unused, forMs: left, waitMs: total < most ? 0 : left }
  }
  const count: SharedCount = {
    ahead: aheadOf(most),
    patienceMs: undefined,
    owes: false,
    ask,
    decide: () => ({ allowed, retryAfterMs: WARNING_MS, isUncounted: true }),
    full: () => ({ allowed, retryAfterMs: untilTomorrow(Date.now()) }),
    used: () => undefined,
  }
  const reserves = new Reserves(count, around.health, around.clock)
  const ofToday = (key: string): string => `${dayOf(Date.now())} ${key}`
  const judge = (verdict: Verdict, uncounted: Uncounted): Verdict =>
    verdict?.isUncounted === true && uncounted === 'continue' ? undefined : verdict
  return {
    take: (key, uncounted) => {
      const verdict = reserves.take(ofToday(key))
      return verdict instanceof Promise
        ? verdict.then(known => judge(known, uncounted))
        : judge(verdict, uncounted)
    },
    giveBack: key => reserves.giveBack(ofToday(key)),
    close: () => reserves.close(),
  }
}

/** Calls at a time, in this process alone. */
function ownFlightMeter(rule: Rule): Meter {
  return {
    take: key => {
      const full = rule.crowded(key)
      if (full === undefined) rule.enter(key)
      return full
    },
    giveBack: key => rule.leave(key),
    close: () => Promise.resolve(),
  }
}

function aheadOf(most: number): number {
  return most < SMALL ? 0 : Math.min(Math.floor(most / PART), MAX_AHEAD)
}

function storeKey(sort: string, name: string, key: string): string {
  const whole = `${sort} ${name} ${key}`
  return whole.length <= LONG_KEY ? whole : `${sort} ${createHash('sha256').update(whole).digest('hex')}`
}

interface Meters {
  readonly spec: RuleConfig
  readonly flight: Meter
  readonly minute: Meter
  readonly day: Meter
}

/** Meters of the rules that count in a store, and the store of the generation that runs: they outlive reloads. */
export interface SharedState {
  readonly around: MeterDeps
  readonly meters: Map<string, Meters>
  users: number
}

export function newSharedState(store: SharedStore, clock: Clock): SharedState {
  return { around: { store, clock, health: new StoreHealth() }, meters: new Map(), users: 0 }
}

const LIMITS = { flight: 'inFlight', minute: 'perMinute', day: 'perDay' } as const

/** One count that a request is on. */
interface Step {
  readonly rule: Rule
  readonly key: string
  readonly meter: Meter
}

/** Counts in what several processes share. */
export class SharedCounting {
  readonly #state: SharedState
  readonly #meters = new Map<Rule, Meters>()

  constructor(state: SharedState, store: SharedStore, rules: readonly Rule[]) {
    this.#state = state
    state.around.store = store
    for (const rule of rules) this.#meters.set(rule, metersOf(rule, state))
  }

  get figures(): Figure[] {
    const { asked, alone } = this.#state.around.health
    return [
      counter('limits_asked', 'Questions about limits that several processes have in common.', asked),
      counter('limits_alone', 'Calls that were let in while nobody could be asked.', alone),
    ]
  }

  begin(): void {
    this.#state.users++
  }

  /** Gives back what nobody will use, with the last generation. */
  async end(): Promise<void> {
    if (--this.#state.users > 0) return
    const all = [...this.#state.meters.values()]
    await Promise.all(
      all.flatMap(({ flight, minute, day }) => [flight, minute, day].map(meter => meter.close())),
    )
  }

  /** Counts one on each of the rules, or on none where one is full. */
  admit(
    rules: readonly Rule[],
    subject: Subject,
    uncounted: Uncounted,
  ): Taken[] | Answer | Promise<Taken[] | Answer> {
    const places = placesOf(rules, subject)
    if (places.length === 0) return places
    const steps = this.#stepsOf(places)
    const held = places.filter(({ rule }) => rule.hasInFlight)
    const refused = goThrough(steps, 0, uncounted)
    return refused instanceof Promise ? refused.then(answer => answer ?? held) : (refused ?? held)
  }

  leave(taken: readonly Taken[]): void {
    for (const { rule, key } of taken) this.#meters.get(rule)?.flight.giveBack(key)
  }

  /** Takes places on what is under way once more, for calls that go on; returns those that there was room for. */
  async again(taken: readonly Taken[]): Promise<readonly Taken[]> {
    const verdicts = await Promise.all(
      taken.map(async ({ rule, key }) => this.#meters.get(rule)?.flight.take(key, 'continue')),
    )
    return taken.filter((_, at) => verdicts[at] === undefined)
  }

  /** Those that cannot be given back come last. */
  #stepsOf(places: readonly Taken[]): Step[] {
    return (['flight', 'minute', 'day'] as const).flatMap(sort =>
      places.flatMap(({ rule, key }) => {
        const meter = this.#meters.get(rule)?.[sort]
        return meter === undefined || rule.spec[LIMITS[sort]] === undefined ? [] : { rule, key, meter }
      }),
    )
  }
}

/** Takes step after step, and waits where one must. */
function goThrough(
  steps: readonly Step[],
  from: number,
  uncounted: Uncounted,
): Answer | undefined | Promise<Answer | undefined> {
  for (let at = from; at < steps.length; at++) {
    const step = steps[at]
    const verdict = step?.meter.take(step.key, uncounted)
    if (verdict instanceof Promise)
      return verdict.then(known =>
        known === undefined ? goThrough(steps, at + 1, uncounted) : takeBack(steps, at, known),
      )
    if (verdict !== undefined) return takeBack(steps, at, verdict)
  }
  return undefined
}

function takeBack(steps: readonly Step[], at: number, full: NonNullable<Verdict>): Answer {
  for (const { meter, key } of steps.slice(0, at)) meter.giveBack(key)
  return refusal({ ...full, rule: steps[at]?.rule.name ?? '' })
}

/** Those of a rule that counts as before go on; what counts by the rule itself is of one generation. */
function metersOf(rule: Rule, { around, meters }: SharedState): Meters {
  const { name, spec } = rule
  const before = meters.get(name)
  const known = isSame(before?.spec, spec) ? before : undefined
  const made: Meters = {
    spec,
    minute: known?.minute ?? minuteMeter(name, spec, around),
    flight: ownFlightMeter(rule),
    day: known?.day ?? dayMeter(name, spec, around),
  }
  meters.set(name, made)
  return made
}

function isSame(one: RuleConfig | undefined, other: RuleConfig): boolean {
  const limitsOf = ({ perMinute, perDay, inFlight, onStoreLoss }: RuleConfig): string =>
    JSON.stringify([perMinute, perDay, inFlight, onStoreLoss])
  return one !== undefined && limitsOf(one) === limitsOf(other)
}

function counter(name: string, help: string, value: number): Figure {
  return { name: `tapgate_${name}`, type: 'counter', help, samples: [{ suffix: '_total', value }] }
}
