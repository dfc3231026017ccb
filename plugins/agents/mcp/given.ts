import { isObject, type JsonObject } from '../../../src/plugin.ts'

/** Why arguments do not fit their schema, for whoever sent them; undefined when they do. */
export function problemWith(given: JsonObject, schema: JsonObject): string | undefined {
  const properties = isObject(schema.properties) ? schema.properties : {}
  const required = Array.isArray(schema.required) ? (schema.required as unknown[]) : []
  const missing = required.find(key => given[String(key)] === undefined)
  if (missing !== undefined) return `"${String(missing)}" is missing`
  for (const [key, value] of Object.entries(given)) {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined
    if (!isObject(property))
      return `"${key.slice(0, 64)}" is not known; known: ${Object.keys(properties).join(', ') || 'nothing'}`
    const wrong = value === undefined ? undefined : wrongIn(value, property)
    if (wrong !== undefined) return `"${key}" must be ${wrong}`
  }
  return undefined
}

/** What it must be, and is not. */
function wrongIn(value: unknown, schema: JsonObject): string | undefined {
  if (Array.isArray(schema.enum)) {
    const choices = schema.enum as unknown[]
    return choices.includes(value) ? undefined : `one of ${choices.join(', ')}`
  }
  return CHECKS[schema.type as keyof typeof CHECKS](value, schema)
}

const CHECKS = {
  string: (value: unknown, { minLength = 0, maxLength = Infinity }: JsonObject) => {
    const fits =
      typeof value === 'string' &&
      value.length >= Number(minLength) &&
      value.length <= Number(maxLength) &&
      !value.includes('\0')
    return fits
      ? undefined
      : `a string of ${Number(minLength)} to ${Number(maxLength)} characters, without NUL`
  },
  integer: (value: unknown, { minimum = 0, maximum = Infinity }: JsonObject) => {
    const fits =
      Number.isInteger(value) && Number(value) >= Number(minimum) && Number(value) <= Number(maximum)
    return fits ? undefined : `a whole number from ${Number(minimum)} to ${Number(maximum)}`
  },
  boolean: (value: unknown) => (typeof value === 'boolean' ? undefined : 'true or false'),
  object: (value: unknown) => (isObject(value) ? undefined : 'an object'),
  array: (value: unknown, { items, maxItems = Infinity }: JsonObject) => {
    if (!Array.isArray(value) || value.length > Number(maxItems))
      return `a list of at most ${Number(maxItems)}`
    const wrong = (value as unknown[]).map(item => wrongIn(item, items as JsonObject)).find(Boolean)
    return wrong === undefined ? undefined : `a list, each of it ${wrong}`
  },
} as const
