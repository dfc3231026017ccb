import {
  type Answer,
  type JsonObject,
  refuse,
  type SharedState,
  type SharedStateAnswers,
} from '../../src/plugin.ts'
import { rateLimitError } from './errors.ts'
import type { Full, Rule, Subject, Uncounted } from './rule.ts'

type Asks = Extract<SharedState, { role: 'asks' }>

/** A rule and a key, as they are asked for. */
type Place = readonly [rule: string, key: string]

type Refused = Full & { readonly rule: string }

/** Places that each of the other processes has taken, by rule and key: they are given back when it ends. */
export type Held = Map<object, Map<string, number>>

/** Counts in this process what all of them let in. */
export function answersFor(
  rules: readonly Rule[],
  held: Held,
): Omit<SharedStateAnswers, 'answer'> & {
  readonly answer: (question: JsonObject, from: object) => JsonObject
} {
  const byName = new Map(rules.map(rule => [rule.name, rule]))
  // A process that has not heard of another configuration yet may name a rule that is no more.
  const takenOf = (places: unknown): Taken[] =>
    (places as Place[]).flatMap(([name, key]) => {
      const rule = byName.get(name)
      return rule === undefined ? [] : { rule, key }
    })
  return {
    answer: ({ admit, left, uncounted }, from) => {
      if (left !== undefined) {
        leave(note(takenOf(left), from, held, -1))
        return {}
      }
      const taken = takenOf(admit)
      const full = take(taken, uncounted === 'continue' ? 'continue' : 'refuse')
      if (full !== undefined) return { full }
      note(enter(taken), from, held, 1)
      return {}
    },
    gone: from => {
      for (const [place, count] of held.get(from) ?? [])
        for (const taken of takenOf([JSON.parse(place)])) for (let n = 0; n < count; n++) leave([taken])
      held.delete(from)
    },
  }
}

/** Adds to what a process holds, or takes from it; returns what that was true of. */
function note(taken: readonly Taken[], from: object, held: Held, by: 1 | -1): Taken[] {
  const own = held.get(from) ?? new Map<string, number>()
  held.set(from, own)
  return taken.filter(({ rule, key }) => {
    const place = JSON.stringify([rule.name, key])
    const count = (own.get(place) ?? 0) + by
    if (count > 0) own.set(place, count)
    else own.delete(place)
    return count >= 0
  })
}

/** Asks the process that counts for all to let one more in: what it holds from then on, or the refusal. */
export async function admitKept(
  sharedState: Asks,
  rules: readonly Rule[],
  subject: Subject,
  uncounted: Uncounted,
): Promise<Taken[] | Answer> {
  const places = placesOf(rules, subject)
  if (places.length === 0) return []
  const { full } = await sharedState.ask({ admit: places.map(placeOf), uncounted })
  return full === undefined ? places.filter(({ rule }) => rule.hasInFlight) : refusal(full as Refused)
}

/** Gives back what was held. A process that cannot be told has ended, and all it held with it. */
export function leaveKept(sharedState: Asks, taken: readonly Taken[]): void {
  if (taken.length > 0) void sharedState.ask({ left: taken.map(placeOf) }).catch(() => undefined)
}

function placeOf({ rule, key }: Taken): JsonObject[string] {
  return [rule.name, key]
}

/** A rule that a request is on, and under which key. */
export interface Taken {
  readonly rule: Rule
  readonly key: string
}

/** The rules that are about a subject, each with the key of its count. */
export function placesOf(rules: readonly Rule[], subject: Subject): Taken[] {
  const places: Taken[] = []
  for (const rule of rules) {
    const key = rule.isOfTools && subject.tool === '' ? undefined : rule.keyOf(subject)
    if (key !== undefined) places.push({ rule, key })
  }
  return places
}

/** Counts one on each of them, or on none when one is full: that one, and why. */
export function take(
  places: readonly Taken[],
  uncounted: Uncounted,
): (Full & { readonly rule: string }) | undefined {
  for (const { rule, key } of places) {
    const full = rule.full(key, uncounted)
    if (full !== undefined) return { ...full, rule: rule.name }
  }
  for (const { rule, key } of places) {
    const full = rule.take(key, uncounted)
    if (full !== undefined) return { ...full, rule: rule.name }
  }
  return undefined
}

/** Notes those that bound what is under way. */
export function enter(taken: readonly Taken[]): Taken[] {
  const entered = taken.filter(({ rule }) => rule.hasInFlight)
  for (const { rule, key } of entered) rule.enter(key)
  return entered
}

export function leave(entered: readonly Taken[]): void {
  for (const { rule, key } of entered) rule.leave(key)
}

export function refusal(full: Full & { readonly rule: string }): Answer {
  const { rule, allowed, retryAfterMs } = full
  const error =
    full.isUncounted === true
      ? rateLimitError('GW_QUOTA_STATE', { rule })
      : rateLimitError('GW_RATE_LIMITED', { rule, allowed })
  const { rpc = 0, http = 429 } = error.entry
  const headers = { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) }
  return refuse(rpc, error.message, { code: error.code, retryAfterMs }, { status: http, headers })
}
