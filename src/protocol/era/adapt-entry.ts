import { decodePercent } from '../../util/plain-text.ts'
import type { JsonObject } from '../json/json.ts'
import { isObject } from '../json/json.ts'
import { DATA_KEYWORDS, MAP_KEYWORDS } from '../list-entry.ts'
import type { Kind, ClientVersion } from '../methods.ts'
import { STRUCTURED_SINCE } from '../methods.ts'

const MAX_DEPTH = 64

/** Maximum subschemas to visit, as a schema may be recursive. */
const MAX_LOOKED_AT = 1000

/** Wire forms of lists; clients with the same form get the same bytes. */
export type ListForm = 'modern' | 'legacy' | 'plain'

/** Returns the list form for a client; `plain` is before structured output. */
export function getListForm({ era, version }: Pick<ClientVersion, 'era' | 'version'>): ListForm {
  if (era === 'modern') return 'modern'
  return version >= STRUCTURED_SINCE ? 'legacy' : 'plain'
}

/** Converts a list entry to a form; returns the same object if nothing changes. */
export function adaptEntry(kind: Kind, entry: JsonObject, form: ListForm): JsonObject {
  if (kind !== 'tools') return entry
  if (form === 'modern') return omitKey(entry, 'execution')
  if (entry.outputSchema === undefined) return entry
  const outputSchema = form === 'plain' ? undefined : toLegacyOutputSchema(entry.outputSchema)
  if (outputSchema === undefined) return omitKey(entry, 'outputSchema')
  return outputSchema === entry.outputSchema ? entry : { ...entry, outputSchema }
}

function omitKey(entry: JsonObject, key: string): JsonObject {
  if (!Object.hasOwn(entry, key)) return entry
  const { [key]: _dropped, ...remaining } = entry
  return remaining
}

/** Values that a JSON Schema accepts: objects only, no objects, or both; `mixed` also if unclear. */
type SchemaRoot = 'object' | 'other' | 'mixed'

interface SchemaSearch {
  readonly root: JsonObject
  remaining: number
}

/** Classifies the root of a schema. All keywords apply together, so one clear result decides. */
export function classifyRoot(schema: JsonObject): SchemaRoot {
  return classifySchema(schema, { root: schema, remaining: MAX_LOOKED_AT })
}

function classifySchema(schema: unknown, search: SchemaSearch): SchemaRoot {
  if (!isObject(schema) || search.remaining-- <= 0) return 'mixed'
  const own = [classifyType(schema.type), classifyValues(schema)].find(isClear)
  return own ?? classifyParts(schema, search)
}

function classifyParts(schema: JsonObject, search: SchemaSearch): SchemaRoot {
  for (const part of toList(schema.allOf)) {
    const root = classifySchema(part, search)
    if (isClear(root)) return root
  }
  for (const parts of [schema.anyOf, schema.oneOf]) {
    const root = mergeRoots(toList(parts).map(part => classifySchema(part, search)))
    if (isClear(root)) return root
  }
  return classifyReference(schema.$ref, search)
}

function isClear(root: SchemaRoot): boolean {
  return root !== 'mixed'
}

function classifyType(type: unknown): SchemaRoot {
  if (typeof type !== 'string' && !Array.isArray(type)) return 'mixed'
  return mergeRoots([type].flat().map(name => (name === 'object' ? 'object' : 'other')))
}

function classifyValues(schema: JsonObject): SchemaRoot {
  const values = 'const' in schema ? [schema.const] : toList(schema.enum)
  return mergeRoots(values.map(value => (isObject(value) ? 'object' : 'other')))
}

function classifyReference(reference: unknown, search: SchemaSearch): SchemaRoot {
  if (typeof reference !== 'string' || !/^#(\/|$)/.test(reference)) return 'mixed'
  return classifySchema(resolveSchemaPointer(reference, search.root), search)
}

function mergeRoots(roots: readonly SchemaRoot[]): SchemaRoot {
  const [first = 'mixed'] = roots
  return roots.every(root => root === first) ? first : 'mixed'
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : []
}

function resolveSchemaPointer(pointer: string, root: JsonObject): unknown {
  return pointer
    .split('/')
    .slice(1)
    .map(step => decodePercent(step).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : getMember(at, key)), root)
}

function getMember(at: unknown, key: string): unknown {
  return Array.isArray(at) && /^\d+$/.test(key) ? (at as unknown[])[Number(key)] : undefined
}

/**
 * Converts an output schema for legacy clients, whose root must be an object. Other values are sent as `{ result: …
 * }`, and the schema describes that; a mixed schema describes both, because results are not checked against it.
 * Undefined without a usable schema.
 */
export function toLegacyOutputSchema(schema: unknown): JsonObject | undefined {
  if (!isObject(schema)) return undefined
  if (schema.type === 'object') return schema
  const kind = classifyRoot(schema)
  if (kind === 'object') return { ...schema, type: 'object' }
  const dialect = typeof schema.$schema === 'string' ? { $schema: schema.$schema } : {}
  if (kind === 'other') return { ...dialect, ...wrapResultSchema(moveSchema(schema, '#/properties/result')) }
  const movedSchema = moveSchema(schema, '#/anyOf/0')
  const reference = hasOwnBase(schema) ? schema.$id : '#/anyOf/0'
  return { ...dialect, type: 'object', anyOf: [movedSchema, wrapResultSchema({ $ref: reference })] }
}

function wrapResultSchema(result: JsonObject): JsonObject {
  return { type: 'object', properties: { result }, required: ['result'] }
}

/** Updates the schema's local references to its new position. */
function moveSchema(schema: JsonObject, pointer: string): JsonObject {
  return hasOwnBase(schema) ? schema : (moveReferences(schema, pointer, 0) as JsonObject)
}

function moveReferences(value: unknown, pointer: string, depth: number): unknown {
  if (depth > MAX_DEPTH) return value
  if (Array.isArray(value)) return (value as unknown[]).map(part => moveReferences(part, pointer, depth + 1))
  if (!isObject(value) || (depth > 0 && hasOwnBase(value))) return value
  return mapMembers(value, (key, member) => {
    if (key === '$ref' || key === '$dynamicRef') return moveReference(member, pointer)
    if (DATA_KEYWORDS.has(key)) return member
    if (!MAP_KEYWORDS.has(key) || !isObject(member)) return moveReferences(member, pointer, depth + 1)
    return mapMembers(member, (_name, part) => moveReferences(part, pointer, depth + 1))
  })
}

function mapMembers(object: JsonObject, change: (key: string, value: unknown) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(key, value)]))
}

function moveReference(reference: unknown, pointer: string): unknown {
  if (typeof reference !== 'string' || !/^#(\/|$)/.test(reference)) return reference
  return pointer + reference.slice(1)
}

/** References below an `$id` are relative to it; a fragment alone is an anchor. */
function hasOwnBase({ $id }: JsonObject): boolean {
  return typeof $id === 'string' && !$id.startsWith('#')
}
