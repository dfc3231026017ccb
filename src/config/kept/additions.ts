import { isPlain, setOwn } from '../../util/plain-data.ts'

/** Values that were added to plain data, by key: whole ones, or what was added inside. */
export type Additions = readonly (
  readonly [key: string, whole: unknown] | readonly [key: string, 0, Additions]
)[]

/** What `after` has and `before` has not; undefined where something else is another one. */
export function additionsTo(before: unknown, after: unknown): Additions | undefined {
  if (!isObjectLike(before) || !isObjectLike(after) || Array.isArray(before) !== Array.isArray(after))
    return Object.is(before, after) ? [] : undefined
  if (Object.keys(before).some(key => !Object.hasOwn(after, key))) return undefined
  const found: Additions[number][] = []
  for (const [key, value] of Object.entries(after)) {
    if (!Object.hasOwn(before, key)) found.push([key, value])
    else {
      const inner = additionsTo(before[key], value)
      if (inner === undefined) return undefined
      if (inner.length > 0) found.push([key, 0, inner])
    }
  }
  return found
}

/** Adds them, in place. */
export function add(additions: Additions, to: unknown): void {
  if (!isObjectLike(to)) return
  for (const [key, whole, inner] of additions)
    if (inner === undefined) setOwn(to, key, whole)
    else add(inner, to[key])
}

function isObjectLike(value: unknown): value is Record<string, unknown> {
  return Array.isArray(value) || isPlain(value)
}
