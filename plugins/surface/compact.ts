import { isObject, type CatalogEntry, type JsonObject } from '../../src/plugin.ts'
import { firstSentence } from './search/document.ts'

const LONGEST = 160
/** Words of a schema that say which values are right; texts and examples are not among them. */
const KEPT = [
  'type',
  'enum',
  'const',
  'required',
  'additionalProperties',
  'items',
  'anyOf',
  'oneOf',
  'allOf',
  '$ref',
]
const DEEPEST = 4

/** A tool with its first sentence, and a schema without texts: what it accepts is the same, or more where it is nested deeply. */
export function compactTool(entry: CatalogEntry): CatalogEntry {
  const known = COMPACT.get(entry)
  if (known !== undefined) return known
  const { name, title, annotations, inputSchema, execution, description } = entry.value
  const value: JsonObject = { name }
  if (title !== undefined) value.title = title
  if (typeof description === 'string') value.description = sentence(description)
  value.inputSchema = compactSchema(inputSchema)
  if (annotations !== undefined) value.annotations = annotations
  if (execution !== undefined) value.execution = execution
  const made = { ...entry, value }
  COMPACT.set(entry, made)
  return made
}

const COMPACT = new WeakMap<CatalogEntry, CatalogEntry>()

/** The first sentence of a text, on one line and not endless. */
export function sentence(text: string, longest = LONGEST): string {
  const line = firstSentence(text).replace(/\s+/g, ' ').trim()
  return line.length <= longest ? line : `${line.slice(0, longest - 1).trimEnd()}…`
}

/** A schema without its texts. */
function compactSchema(schema: unknown): JsonObject {
  const root = isObject(schema) ? schema : {}
  const compact = without(root, 0, false)
  const names = ['$defs', 'definitions'].filter(name => isObject(root[name]))
  for (const name of names) compact[name] = each(root[name] as JsonObject, 1, true)
  return { type: 'object', ...compact }
}

/** Schema without the keywords that a model can do without. Definitions refer to each other, so they are not cut by depth. */
function without(schema: JsonObject, depth: number, isWhole: boolean): JsonObject {
  if (depth > DEEPEST && !isWhole) return typeof schema.type === 'string' ? { type: schema.type } : {}
  const compact: JsonObject = {}
  for (const key of KEPT)
    if (schema[key] !== undefined) compact[key] = inner(schema[key], key, depth, isWhole)
  const { properties } = schema
  if (isObject(properties)) compact.properties = each(properties, depth + 1, isWhole)
  return compact
}

function inner(value: unknown, key: string, depth: number, isWhole: boolean): unknown {
  if (key === 'enum' || key === 'const' || key === 'required' || key === 'type') return value
  if (Array.isArray(value))
    return value.map(one => (isObject(one) ? without(one, depth + 1, isWhole) : (one as unknown)))
  return isObject(value) ? without(value, depth + 1, isWhole) : value
}

function each(schemas: JsonObject, depth: number, isWhole: boolean): JsonObject {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, one]) => [name, isObject(one) ? without(one, depth, isWhole) : one]),
  )
}
