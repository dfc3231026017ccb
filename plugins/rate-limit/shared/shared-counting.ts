import type { Answer, Clock, Figure, SharedStore } from '../../../src/plugin.ts'
import { placesOf, refusal, type Taken } from '../taken.ts'
import type { Rule, RuleConfig, Subject, Uncounted } from '../rule.ts'
import { dayMeter, type Meter, minuteMeter, ownFlightMeter, type Surroundings } from './meters.ts'
import { StoreHealth, type Verdict } from './reserves.ts'

interface Meters {
  readonly spec: RuleConfig
  readonly flight: Meter
  readonly minute: Meter
  readonly day: Meter
}

/** Meters of the rules that count in a store, and the store of the generation that runs: they outlive reloads. */
export interface SharedState {
  readonly around: Surroundings
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
