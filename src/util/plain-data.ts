/** Untyped plain data from a file. */
export type Plain = Readonly<Record<string, unknown>>

/** Returns true for a plain object; false for lists and class instances. */
export function isPlain(value: unknown): value is Plain {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Returns the value at a path of keys; undefined if missing. */
export function readValue(value: unknown, ...keys: readonly string[]): unknown {
  return keys.reduce<unknown>((at, key) => (isPlain(at) && Object.hasOwn(at, key) ? at[key] : undefined), value)
}

/** Returns the map at a path; empty if missing or of another type. */
export function readMap(value: unknown, ...keys: readonly string[]): Plain {
  const at = readValue(value, ...keys)
  return isPlain(at) ? at : {}
}

/** Returns the string at a path; undefined if missing. */
export function readText(value: unknown, ...keys: readonly string[]): string | undefined {
  const at = readValue(value, ...keys)
  return typeof at === 'string' ? at : undefined
}

/** Returns the list at a path; a string becomes a list of one, other values an empty list. */
export function readList(value: unknown, ...keys: readonly string[]): readonly unknown[] {
  const at = readValue(value, ...keys)
  if (typeof at === 'string') return [at]
  return Array.isArray(at) ? at : []
}

/** Returns the strings in the list at a path. */
export function readTexts(value: unknown, ...keys: readonly string[]): string[] {
  return readList(value, ...keys).filter(one => typeof one === 'string')
}

/** Parses JSON; undefined if invalid. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Sets an own key, even `__proto__`. */
export function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true })
}

/** Freezes plain data recursively and returns it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const inner of Object.values(value)) deepFreeze(inner)
  return Object.freeze(value)
}
