import { seeded } from '../../secrets/encodings.ts'
import { draftOf, pick, WAYS, written, type Kind } from './draft.ts'
import { FORMS } from './kinds-of-forms.ts'
import { NAMES } from './kinds-of-names.ts'
import type { Headers, Way } from './world.ts'

/** One request, and what has to become of it. */
export interface Case {
  readonly kind: string
  readonly way: Way
  readonly body: string
  readonly headers: Headers
  /** Stand in the arguments of its calls: what a server got is found by them. */
  readonly marks: readonly string[]
  /** Calls that reach a server; undefined: one or none. */
  readonly passes: number | undefined
  /** The error that refuses it, where there is only one that may. */
  readonly code?: number
}

/** The same cases for the same seed. */
export function casesOf(count: number, seed: number): Case[] {
  const random = seeded(seed)
  const kinds = Object.entries({ ...NAMES, ...FORMS })
  return Array.from({ length: count }, (_, n) => {
    const [kind, { ways = WAYS, passes, code, change }] = kinds[n % kinds.length] as [string, Kind]
    // Not the same way for a kind each time round.
    const way = pick(ways, random)
    const draft = draftOf(`mark-${n}-`, way, random)
    const marks = change(draft) ?? [draft.mark]
    return { kind, way, body: written(draft), headers: draft.headers, marks, passes, ...(code && { code }) }
  })
}
