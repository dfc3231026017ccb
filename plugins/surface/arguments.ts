import { isObject } from '../../src/plugin.ts'

type Check = (value: unknown) => boolean

const TYPES: Readonly<Record<string, Check>> = {
  string: value => typeof value === 'string',
  number: value => typeof value === 'number',
  integer: value => Number.isInteger(value),
  boolean: value => typeof value === 'boolean',
  array: value => Array.isArray(value),
  object: value => isObject(value),
  null: value => value === null,
}

/** Words by which servers say that arguments are wrong. */
const WRONG = /argument|parameter|required|invalid|validation|schema|expected|missing|property|must be/i

/** Tells whether a failure is about arguments: they do not fit the schema, or the server says something of the kind. */
export function isAboutArguments(schema: unknown, args: unknown, text: string): boolean {
  return !fits(schema, args) || WRONG.test(text.slice(0, 2000))
}

/** The outermost layer only: what is required is there, and of its type. */
function fits(schema: unknown, args: unknown = {}): boolean {
  if (!isObject(schema)) return true
  if (!isObject(args)) return false
  const { required, properties, additionalProperties } = schema
  if (Array.isArray(required) && required.some(name => typeof name === 'string' && args[name] === undefined))
    return false
  const known = isObject(properties) ? properties : {}
  return Object.entries(args).every(([name, value]) => {
    if (!Object.hasOwn(known, name)) return additionalProperties !== false
    return isOfType(known[name], value)
  })
}

function isOfType(schema: unknown, value: unknown): boolean {
  if (!isObject(schema)) return true
  const { type, enum: values } = schema
  if (Array.isArray(values) && !values.includes(value) && !isObject(value)) return false
  const types = (Array.isArray(type) ? type : [type]).filter(one => typeof one === 'string')
  return types.length === 0 || types.some(one => TYPES[one]?.(value) ?? true)
}
