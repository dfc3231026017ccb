import { isUtf8 } from 'node:buffer'
import { isObject, type Era } from '../../../src/plugin.ts'
import type { Entry } from '../store.ts'

/** Changes with the form of a record: what another form says is not read. */
export const FORM = 1
/** Nothing is shared for longer, whatever its policy says. */
const LONGEST_MS = 86_400_000
/** Clocks of two nodes of one store, and rounding. */
const AHEAD_MS = 1000

/** Answer as replicas share it. Its times are lengths from when it was kept, but for `at`: that is by the store's clock. */
export interface SharedRecord {
  readonly at: number
  readonly freshMs: number
  readonly revalidateMs: number
  readonly errorMs: number
  readonly hintMs: number | undefined
  readonly era: Era | undefined
  readonly meta: unknown
  readonly text: string
}

/** Moment on two clocks: that of the store, and that of this process when it knew. */
export interface Moment {
  readonly store: number
  readonly here: number
}

/** The text of an answer, and how long it is of use; undefined for what is of none, or is no text. */
export function textOf(entry: Entry, { store, here }: Moment): { text: string; ms: number } | undefined {
  const { storedAt, staleAt, revalidateUntil, errorUntil, hintUntil, payload, meta } = entry
  const ms = Math.floor(Math.min(LONGEST_MS, Math.max(staleAt, revalidateUntil, errorUntil) - storedAt))
  const bytes = payload.bytes()
  if (ms < 1 || !isUtf8(bytes)) return undefined
  const head = {
    at: Math.round(store + storedAt - here),
    fresh: staleAt - storedAt,
    revalidate: revalidateUntil - storedAt,
    error: errorUntil === 0 ? 0 : errorUntil - storedAt,
    hint: hintUntil === undefined ? undefined : hintUntil - storedAt,
    era: payload.era,
    meta,
  }
  return { text: `${JSON.stringify(head)}\n${bytes.toString()}`, ms }
}

/** The answer in a text; undefined for any other text. */
export function recordIn(text: string): SharedRecord | undefined {
  const end = text.indexOf('\n')
  const head = end < 0 ? undefined : jsonOf(text.slice(0, end))
  if (!isObject(head)) return undefined
  const { at, fresh, revalidate, error, hint, era, meta } = head
  if (![at, fresh, revalidate, error, hint ?? 0].every(Number.isFinite)) return undefined
  if (era !== undefined && era !== 'modern' && era !== 'legacy') return undefined
  return {
    at: Number(at),
    freshMs: Number(fresh),
    revalidateMs: Number(revalidate),
    errorMs: Number(error),
    hintMs: hint === undefined ? undefined : Number(hint),
    era,
    meta,
    text: text.slice(end + 1),
  }
}

/** Its age by the store's clock; undefined where it is of use no more, or that clock was set back. */
export function ageOf({ at, freshMs, revalidateMs, errorMs }: SharedRecord, now: number): number | undefined {
  const age = now - at
  const isOfUse = age < Math.min(LONGEST_MS, Math.max(freshMs, revalidateMs, errorMs))
  return isOfUse && age >= -AHEAD_MS ? Math.max(0, age) : undefined
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
