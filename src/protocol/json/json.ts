/** An object as JSON has them. */
export type JsonObject = { [key: string]: unknown }

/** Tells an object from all else, lists and null included. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
