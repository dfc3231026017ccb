import { createHash } from 'node:crypto'
import { BoundedMap, type Clock, type SharedStore } from '../../../src/plugin.ts'
import { dayOf, untilTomorrow } from '../days.ts'
import { SOON_MS, type Rule, type RuleConfig, type Uncounted, Windows } from '../rule.ts'
import { type Question, Reserves, type SharedCount, type StoreHealth, type Verdict } from './reserves.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** Limits below this are asked about call by call. */
const SMALL = 20
const PART = 10
const MOST_AHEAD = 50
/** Time that a call waits for a store that is slow. */
const PATIENCE_MS = 100
const MOST_KEYS = 100_000
const LONG_KEY = 500

/** The store as the generation that runs has it, with what all rules know of it. */
export interface Surroundings {
  store: SharedStore
  readonly health: StoreHealth
  readonly clock: Clock
}

/** One way in which a rule counts. */
export interface Meter {
  take(key: string, uncounted: Uncounted): Verdict | Promise<Verdict>
  /** Gives back what was taken and is not used, as something else refused the call. */
  giveBack(key: string): void
  close(): Promise<void>
}

/** The minute of a rule, over all replicas. */
export function minuteMeter(name: string, spec: RuleConfig, around: Surroundings): Meter {
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
      if (onStoreLoss === 'refuse') return { allowed, retryAfterMs: SOON_MS, isStoreLost: true }
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
export function dayMeter(name: string, { perDay: most = 0 }: RuleConfig, around: Surroundings): Meter {
  const allowed = `${most} a day`
  /** Counts as the store said last: one that has forgotten them goes on from there. */
  const seen = new BoundedMap<string, number>({ max: MOST_KEYS })
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
    decide: () => ({ allowed, retryAfterMs: SOON_MS, isUncounted: true }),
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
export function ownFlightMeter(rule: Rule): Meter {
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
  return most < SMALL ? 0 : Math.min(Math.floor(most / PART), MOST_AHEAD)
}

function storeKey(sort: string, name: string, key: string): string {
  const whole = `${sort} ${name} ${key}`
  return whole.length <= LONG_KEY ? whole : `${sort} ${createHash('sha256').update(whole).digest('hex')}`
}
