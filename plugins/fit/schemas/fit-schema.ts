import type { JsonObject } from '../../../src/plugin.ts'
import { isObject, readMap, readTexts } from '../../../src/plugin.ts'
import type { Dialect } from '../client-profiles.ts'
import { adaptForGemini } from './gemini.ts'
import { followReference, getReference, mergeAllOf, mergeRootUnion } from './merge.ts'
import { mapItems, mapMembers, readSchemaList, UnfitError, omitMembers, FitContext } from './fit-context.ts'

/** An adapted schema with its changes, or the reason why it cannot be adapted. */
export type FitSchema = { readonly schema: JsonObject; readonly notes: readonly string[] } | { readonly unfit: string }

/** Maximum schema length in characters; larger ones would fill the model's context. */
const MAX_LENGTH = 128 * 1024
/** Maximum input length; adapting may shorten the schema. */
const MAX_READ_LENGTH = 2 * MAX_LENGTH

/** Keywords with schema maps, whose keys are free names. */
const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
/** Keywords with one schema. */
const SCHEMAS = new Set([
  'items',
  'additionalProperties',
  'contains',
  'propertyNames',
  'not',
  'if',
  'then',
  'else',
  'unevaluatedProperties',
  'unevaluatedItems',
])
/** Keywords with schema lists. */
const LISTS = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
/** Keywords that may hold a schema list. */
const SCHEMA_HOLDERS = new Set([...LISTS, ...SCHEMAS])
/** Root conditions that prevent some clients from recognizing an object. */
const CONDITIONS = new Set(['not', 'enum', 'const'])
const EMPTY: JsonObject = { type: 'object' }
/** Maximum nested references and alternatives at the root. */
const MAX_STEPS = 8
const DEFINITIONS = new Set(['$defs', 'definitions'])

/** Property names that all model APIs accept. */
const PROPERTY_NAME = /^[a-zA-Z0-9_.-]{1,64}$/

/** Adapts a tool's input schema to a dialect. Returns the same schema if nothing has to change. */
export function fitSchema(value: unknown, dialect: Dialect): FitSchema {
  if (dialect === 'full') return { schema: isObject(value) ? value : EMPTY, notes: [] }
  if (value !== undefined && !isObject(value)) return { unfit: 'the schema is not an object' }
  const root = value ?? EMPTY
  const work = new FitContext(root, dialect)
  try {
    checkLength(root, MAX_READ_LENGTH)
    const schema = fitRoot(root, work)
    checkLength(schema, MAX_LENGTH)
    return { schema, notes: schema === value ? [] : [...work.notes] }
  } catch (error) {
    return { unfit: formatUnfitReason(error) }
  }
}

function checkLength(schema: JsonObject, max: number): void {
  const { length } = JSON.stringify(schema)
  if (length > max) throw new UnfitError(`the schema has ${length} characters, and the maximum is ${max}`)
}

function formatUnfitReason(error: unknown): string {
  if (error instanceof UnfitError) return error.message
  if (error instanceof RangeError) return 'the schema is nested too deeply'
  throw error
}

/** Converts the root to a plain object schema without reference, alternatives or `allOf`. */
function normalizeRoot(root: JsonObject, work: FitContext): JsonObject {
  let schema = root
  for (let n = 0; n < MAX_STEPS; n++) {
    const made = simplifyRoot(schema, work)
    if (made === schema) break
    schema = made
  }
  const plain = omitMembers(schema, CONDITIONS)
  if (plain !== schema) work.addNote('removed conditions at the root (not, enum, const)')
  return ensureObjectType(plain, work)
}

/** Removes one construct that the root must not have; returns the same schema if there is none. */
function simplifyRoot(schema: JsonObject, work: FitContext): JsonObject {
  if (getReference(schema) !== undefined) return followReference(schema, work).schema
  if (schema.allOf !== undefined)
    return mergeAllOf({ ...schema, allOf: listObjectAlternatives(schema, 'allOf', work) }, work)
  const key = ['anyOf', 'oneOf'].find(one => schema[one] !== undefined)
  return key === undefined ? schema : mergeRootUnion(schema, listObjectAlternatives(schema, key, work), work)
}

/** Lists the root's object alternatives with references resolved. */
function listObjectAlternatives(schema: JsonObject, key: string, work: FitContext): JsonObject[] {
  const parts = (readSchemaList(schema, key) ?? []).flatMap(part => {
    if (!isObject(part)) return []
    const plain = getReference(part) === undefined ? part : followReference(part, work).schema
    return plain.type === undefined || plain.type === 'object' ? [mergeAllOf(plain, work)] : []
  })
  if (parts.length === 0) throw new UnfitError(`no alternative at the root of the schema (${key}) is an object`)
  return parts
}

function ensureObjectType(schema: JsonObject, work: FitContext): JsonObject {
  const { type } = schema
  const types: readonly unknown[] = Array.isArray(type) ? (type as unknown[]) : [type ?? 'object']
  if (!types.includes('object')) throw new UnfitError('the schema does not accept an object')
  if (type !== 'object') work.addNote('set the root type to object')
  const typed = type === 'object' ? schema : { ...schema, type: 'object' }
  if (isObject(typed.properties)) return typed
  work.addNote('added empty properties')
  return { ...typed, properties: {} }
}

function fitRoot(root: JsonObject, work: FitContext): JsonObject {
  const object = dropInvalidNames(normalizeRoot(root, work), work)
  const inside = walkSchema(object, work, 0) as JsonObject
  const plain = omitMembers(inside, DEFINITIONS)
  return plain.type === 'object' ? plain : { ...plain, type: 'object' }
}

/** Drops optional properties whose names the model's API rejects. */
function dropInvalidNames(schema: JsonObject, work: FitContext): JsonObject {
  const properties = readMap(schema, 'properties')
  const odd = new Set(Object.keys(properties).filter(name => !PROPERTY_NAME.test(name)))
  if (odd.size === 0) return schema
  const needed = readTexts(schema, 'required').find(name => odd.has(name))
  if (needed !== undefined)
    throw new UnfitError(
      `the required property ${JSON.stringify(needed.slice(0, 100))} has a name that the model rejects`,
    )
  work.addNote('removed properties whose names the model rejects')
  return { ...schema, properties: omitMembers(properties, odd) }
}

/** Adapts a schema and all its subschemas. */
function walkSchema(value: unknown, work: FitContext, depth: number): unknown {
  work.countSchema(depth)
  if (isObject(value)) return walkObject(value, work, depth)
  if (typeof value === 'boolean' && !work.isForGemini) return value
  if (value !== true) work.addNote('replaced invalid subschemas with ones that accept anything')
  return work.isForGemini ? adaptForGemini({}, work) : {}
}

function walkObject(value: JsonObject, work: FitContext, depth: number): JsonObject {
  const { schema, name } = inlineReference(value, work)
  const explicit = addItems(mergeAllOf(upgradeLimits(schema, work), work), work)
  if (name !== '') work.openReferences.push(name)
  const inside = mapMembers(explicit, (key, member) => walkMember(key, member, work, depth + 1))
  if (name !== '') work.openReferences.pop()
  const made = work.isForGemini ? adaptForGemini(inside, work) : inside
  return hasSameMembers(made, value) ? value : made
}

function walkMember(key: string, member: unknown, work: FitContext, depth: number): unknown {
  if (depth === 1 && DEFINITIONS.has(key)) return undefined
  const walk = (part: unknown): unknown => walkSchema(part, work, depth)
  if (MAPS.has(key)) return isObject(member) ? mapMembers(member, (_name, part) => walk(part)) : member
  if (Array.isArray(member)) return SCHEMA_HOLDERS.has(key) ? mapItems(member as unknown[], walk) : member
  return SCHEMAS.has(key) && typeof member !== 'boolean' ? walk(member) : member
}

/** Inlines a reference. */
function inlineReference(schema: JsonObject, work: FitContext): { schema: JsonObject; name: string } {
  let made = { schema, name: '' }
  let name = ''
  // A definition may itself be a reference.
  for (let n = 0; n <= MAX_STEPS && getReference(made.schema) !== undefined; n++) {
    made = followReference(made.schema, work)
    if (made.name !== '') name = made.name
  }
  if (getReference(made.schema) !== undefined) throw new UnfitError('the schema has circular references')
  return { schema: made.schema, name }
}

/** Converts boolean `exclusiveMinimum` and `exclusiveMaximum` of draft 4 to numbers. */
function upgradeLimits(schema: JsonObject, work: FitContext): JsonObject {
  const isOld = [schema.exclusiveMinimum, schema.exclusiveMaximum].some(one => typeof one === 'boolean')
  if (!isOld) return schema
  work.addNote('converted exclusive limits of draft 4')
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, ...rest } = schema
  return {
    ...rest,
    ...createLimit('inimum', minimum, exclusiveMinimum),
    ...createLimit('aximum', maximum, exclusiveMaximum),
  }
}

function createLimit(name: 'inimum' | 'aximum', value: unknown, exclusive: unknown): JsonObject {
  if (exclusive === true) return value === undefined ? {} : { [`exclusiveM${name}`]: value }
  return {
    ...(value === undefined ? {} : { [`m${name}`]: value }),
    ...(typeof exclusive === 'number' ? { [`exclusiveM${name}`]: exclusive } : {}),
  }
}

function addItems(schema: JsonObject, work: FitContext): JsonObject {
  const { type } = schema
  const isList = type === 'array' || (Array.isArray(type) && type.includes('array'))
  if (!isList || schema.items !== undefined) return schema
  work.addNote('added items to arrays')
  return { ...schema, items: {} }
}

function hasSameMembers(a: JsonObject, b: JsonObject): boolean {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every(key => a[key] === b[key])
}
