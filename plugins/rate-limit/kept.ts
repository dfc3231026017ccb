import type { Answer, JsonObject, SharedState, SharedStateAnswers } from '../../src/plugin.ts'
import { enter, leave, placesOf, refusal, take, type Taken } from './places.ts'
import type { Full, Rule, Subject, Uncounted } from './rule.ts'

type Asks = Extract<SharedState, { role: 'asks' }>
/** A rule and a key, as they are asked for. */
type Place = readonly [rule: string, key: string]
type Refused = Full & { readonly rule: string }

/** What each of the other processes has under way, by rule and key: it is given back when one of them ends. */
export type Held = Map<object, Map<string, number>>

/** Counts in this process what all of them let in. */
export function answersFor(rules: readonly Rule[], held: Held): SharedStateAnswers {
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
