import type { RecentCall } from '../../api/explain.ts'
import { reasonOf } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import type { Explanation } from '../explain.ts'
import type { ChangedVerdict } from './differences.ts'

type Ask = (verb: string, params: JsonObject) => Promise<JsonObject>

/** Asks both what calls of late meet; says those that meet something else. */
export async function changedVerdicts(
  recent: readonly RecentCall[],
  now: Ask,
  then: Ask,
): Promise<ChangedVerdict[]> {
  const found: ChangedVerdict[] = []
  for (const call of recent) {
    const asked = questionOf(call)
    const [before, after] = await Promise.all([verdictOf(now, asked), verdictOf(then, asked)])
    if (before.key === after.key) continue
    const { tool, client, principal } = call
    found.push({ tool, caller: principal.subject, client, now: before.text, then: after.text })
  }
  return found
}

/** A key may have other scopes then: it is asked for by its name. */
function questionOf({ tool, principal, as, client, profile }: RecentCall): JsonObject {
  const who = as === undefined ? { principal } : { as }
  return { tool, client, ...who, ...(profile === undefined ? {} : { profile }) }
}

async function verdictOf(
  ask: Ask,
  asked: JsonObject,
): Promise<{ readonly key: string; readonly text: string }> {
  try {
    const { outcome } = (await ask('explain', asked)) as unknown as Explanation
    const { what, by, text, isPassing } = outcome
    // An answer that is kept now, or a limit that is full now, is no matter of rules.
    const isServed = what === 'server' || what === 'answered' || isPassing === true
    return {
      key: isServed ? 'served' : `${what} ${by}`,
      text: isServed ? 'goes on' : `${what} by ${by}: ${text}`,
    }
  } catch (error) {
    return { key: 'unknown caller', text: reasonOf(error) }
  }
}
