/** Plain data of unknown shape, as it comes from a file. */
export type Plain = Readonly<Record<string, unknown>>

/** True when a value is a map of plain data: an object, no list, no class instance. */
export function isPlain(value: unknown): value is Plain {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** The value at a path of keys, if everything on the way is there. */
export function readValue(value: unknown, ...keys: readonly string[]): unknown {
  return keys.reduce<unknown>(
    (at, key) => (isPlain(at) && Object.hasOwn(at, key) ? at[key] : undefined),
    value,
  )
}

/** The map at a path of keys; an empty one if something else is there. */
export function readMap(value: unknown, ...keys: readonly string[]): Plain {
  const at = readValue(value, ...keys)
  return isPlain(at) ? at : {}
}

/** The text at a path of keys, if there is one. */
export function readText(value: unknown, ...keys: readonly string[]): string | undefined {
  const at = readValue(value, ...keys)
  return typeof at === 'string' ? at : undefined
}

/** The list at a path of keys; a single text counts as a list of one; an empty one if something else is there. */
export function readList(value: unknown, ...keys: readonly string[]): readonly unknown[] {
  const at = readValue(value, ...keys)
  if (typeof at === 'string') return [at]
  return Array.isArray(at) ? at : []
}

/** Reads a text as JSON; undefined where it is none. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Sets an own key, `__proto__` included. */
export function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true })
}

/** Freezes plain data all the way down and gives it back. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const inner of Object.values(value)) deepFreeze(inner)
  return Object.freeze(value)
}
