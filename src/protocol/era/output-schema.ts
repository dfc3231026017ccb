import { isObject, type JsonObject } from '../json/json.ts'
import { rootOf } from './schema-root.ts'

/** Keywords whose value is data, in which a `$ref` is no reference. */
const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples'])
/** Keywords whose members have names of the author's choice. */
const NAMES: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
])
const MAX_DEPTH = 64

/**
 * An output schema as legacy clients want it: its root is an object. Values that are none go out as
 * `{ result: … }`, so a schema for those describes that; one for both kinds of value describes both, because a
 * result goes out without a look at its schema. Undefined when there is no schema to show.
 */
export function legacyOutputSchema(schema: unknown): JsonObject | undefined {
  if (!isObject(schema)) return undefined
  if (schema.type === 'object') return schema
  const kind = rootOf(schema)
  if (kind === 'object') return { ...schema, type: 'object' }
  const dialect = typeof schema.$schema === 'string' ? { $schema: schema.$schema } : {}
  if (kind === 'other') return { ...dialect, ...wrapped(moved(schema, '#/properties/result')) }
  const whole = moved(schema, '#/anyOf/0')
  const reference = hasOwnBase(schema) ? schema.$id : '#/anyOf/0'
  return { ...dialect, type: 'object', anyOf: [whole, wrapped({ $ref: reference })] }
}

function wrapped(result: JsonObject): JsonObject {
  return { type: 'object', properties: { result }, required: ['result'] }
}

/** The schema with its references to itself pointing to its new place. */
function moved(schema: JsonObject, place: string): JsonObject {
  return hasOwnBase(schema) ? schema : (moveIn(schema, place, 0) as JsonObject)
}

function moveIn(value: unknown, place: string, depth: number): unknown {
  if (depth > MAX_DEPTH) return value
  if (Array.isArray(value)) return (value as unknown[]).map(part => moveIn(part, place, depth + 1))
  if (!isObject(value) || (depth > 0 && hasOwnBase(value))) return value
  return mapMembers(value, (key, member) => {
    if (key === '$ref' || key === '$dynamicRef') return movedReference(member, place)
    if (DATA.has(key)) return member
    if (!NAMES.has(key) || !isObject(member)) return moveIn(member, place, depth + 1)
    return mapMembers(member, (_name, part) => moveIn(part, place, depth + 1))
  })
}

function mapMembers(object: JsonObject, change: (key: string, value: unknown) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(key, value)]))
}

function movedReference(reference: unknown, place: string): unknown {
  if (typeof reference !== 'string' || !/^#(\/|$)/.test(reference)) return reference
  return place + reference.slice(1)
}

/** References below an `$id` are relative to it; one that is only a fragment is a name. */
function hasOwnBase({ $id }: JsonObject): boolean {
  return typeof $id === 'string' && !$id.startsWith('#')
}
