import type { JsonObject } from '../../../src/plugin.ts'
import { isObject } from '../../../src/plugin.ts'
import type { Dialect } from '../profiles.ts'
import { forGemini } from './gemini.ts'
import { withoutAllOf, withoutRootUnion } from './merge.ts'
import { followed, leadsSomewhere, referenceOf } from './references.ts'
import { mapIn, mapItems, mapMembers, schemasIn, textsIn, Unfit, without, Work } from './work.ts'

/** A schema that its reader takes, and what was changed in it; or why there is none. */
export type FitSchema =
  { readonly schema: JsonObject; readonly notes: readonly string[] } | { readonly unfit: string }

/** Longest schema that is shown, as text: a model would have no room for anything else. */
const MAX_LENGTH = 128 * 1024
/** Longest schema that is read, as what is left out may make it shorter. */
const MAX_READ_LENGTH = 2 * MAX_LENGTH

/** Keywords with maps of schemas, and names of the author's choice. */
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
/** Keywords with lists of schemas. */
const LISTS = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
/** Keywords that may hold a list of schemas. */
const HOLDING = new Set([...LISTS, ...SCHEMAS])
/** Conditions on the whole that some take for no object. */
const CONDITIONS = ['not', 'enum', 'const']
const EMPTY: JsonObject = { type: 'object' }
/** References and alternatives at the root that are followed, one inside the other. */
const MAX_STEPS = 8
const DEFINITIONS = new Set(['$defs', 'definitions'])

/** Rules of a dialect for schemas. */
interface Rules {
  /** References are put in their place, and definitions go. */
  readonly inlines: boolean
  /** Parts that must all hold become one. */
  readonly mergesAllOf: boolean
  /** An object at the root names its properties, be it none, and lists say what they hold. */
  readonly isExplicit: boolean
  /** Pattern of names of properties. */
  readonly names?: RegExp
  readonly node?: (schema: JsonObject, work: Work) => JsonObject
}

const RULES: Readonly<Record<Exclude<Dialect, 'full'>, Rules>> = {
  common: { inlines: false, mergesAllOf: false, isExplicit: false },
  anthropic: { inlines: false, mergesAllOf: false, isExplicit: false, names: /^[a-zA-Z0-9_.-]{1,64}$/ },
  openai: { inlines: true, mergesAllOf: true, isExplicit: true },
  gemini: { inlines: true, mergesAllOf: true, isExplicit: true, node: forGemini },
}

/** Brings a tool's schema into a form that readers of this dialect take. The very same comes back where nothing is to be done. */
export function fitSchema(value: unknown, dialect: Dialect): FitSchema {
  if (dialect === 'full') return { schema: isObject(value) ? value : EMPTY, notes: [] }
  if (value !== undefined && !isObject(value)) return { unfit: 'its schema is no object' }
  const root = value ?? EMPTY
  const work = new Work(root)
  try {
    checkLength(root, MAX_READ_LENGTH)
    const schema = fitted(root, RULES[dialect], work)
    checkLength(schema, MAX_LENGTH)
    return { schema, notes: schema === value ? [] : [...work.notes] }
  } catch (error) {
    return { unfit: whyUnfit(error) }
  }
}

function checkLength(schema: JsonObject, max: number): void {
  const { length } = JSON.stringify(schema)
  if (length > max) throw new Unfit(`its schema is ${length} characters long, and ${max} are the most`)
}

function whyUnfit(error: unknown): string {
  if (error instanceof Unfit) return error.message
  if (error instanceof RangeError) return 'its schema is too deep'
  throw error
}

/** The root as an object: no reference, no alternatives, no part of something. */
function atRoot(root: JsonObject, rules: Rules, work: Work): JsonObject {
  let schema = root
  for (let n = 0; n < MAX_STEPS; n++) {
    const made = oneStep(schema, root, work)
    if (made === schema) break
    schema = made
  }
  const isConditional = CONDITIONS.some(key => schema[key] !== undefined)
  if (!rules.isExplicit || !isConditional) return asObject(schema, rules, work)
  work.note('conditions on the whole (not, enum, const) are left out')
  return asObject(without(schema, new Set(CONDITIONS)), rules, work)
}

/** Takes one thing away that no root may have; the very same where there is none. */
function oneStep(schema: JsonObject, root: JsonObject, work: Work): JsonObject {
  if (referenceOf(schema) !== undefined) return rooted(followed(schema, work).schema, root)
  if (schema.allOf !== undefined)
    return withoutAllOf({ ...schema, allOf: objectsIn(schema, 'allOf', work) }, work)
  const key = ['anyOf', 'oneOf'].find(one => schema[one] !== undefined)
  return key === undefined ? schema : withoutRootUnion(schema, objectsIn(schema, key, work), work)
}

/** Definitions stay where references look for them. */
function rooted(schema: JsonObject, root: JsonObject): JsonObject {
  const { $defs, definitions } = root
  return {
    ...($defs === undefined ? {} : { $defs }),
    ...(definitions === undefined ? {} : { definitions }),
    ...schema,
  }
}

/** The alternatives of the root that are objects, each without references. */
function objectsIn(schema: JsonObject, key: string, work: Work): JsonObject[] {
  const parts = (schemasIn(schema, key) ?? []).flatMap(part => {
    if (!isObject(part)) return []
    const plain = referenceOf(part) === undefined ? part : followed(part, work).schema
    return plain.type === undefined || plain.type === 'object' ? [withoutAllOf(plain, work)] : []
  })
  if (parts.length === 0)
    throw new Unfit(`none of the alternatives at the root of its schema (${key}) is an object`)
  return parts
}

function asObject(schema: JsonObject, rules: Rules, work: Work): JsonObject {
  const { type } = schema
  const types: readonly unknown[] = Array.isArray(type) ? (type as unknown[]) : [type ?? 'object']
  if (!types.includes('object')) throw new Unfit('its schema takes no object')
  if (type !== 'object') work.note('the root says that it is an object')
  const typed = type === 'object' ? schema : { ...schema, type: 'object' }
  if (!rules.isExplicit || isObject(typed.properties)) return typed
  work.note('an object without properties says so')
  return { ...typed, properties: {} }
}

function fitted(root: JsonObject, rules: Rules, work: Work): JsonObject {
  const object = atRoot(root, rules, work)
  const named = rules.names === undefined ? object : withNames(object, rules.names, work)
  const inside = walked(named, rules, work, 0) as JsonObject
  const plain = rules.inlines ? without(inside, DEFINITIONS) : inside
  return rules.node === undefined || plain.type === 'object' ? plain : { ...plain, type: 'object' }
}

/** Properties whose names the model's API refuses are left out, where they need not be there. */
function withNames(schema: JsonObject, pattern: RegExp, work: Work): JsonObject {
  const properties = mapIn(schema, 'properties')
  const odd = new Set(Object.keys(properties).filter(name => !pattern.test(name)))
  if (odd.size === 0) return schema
  const needed = textsIn(schema, 'required').find(name => odd.has(name))
  if (needed !== undefined)
    throw new Unfit(
      `its property ${JSON.stringify(needed.slice(0, 100))} has a name that the model refuses, and it is required`,
    )
  work.note('properties whose names the model refuses are left out')
  return { ...schema, properties: without(properties, odd) }
}

/** A schema and all inside it, each in the form of the dialect. */
function walked(value: unknown, rules: Rules, work: Work, depth: number): unknown {
  work.count(depth)
  if (isObject(value)) return walkedObject(value, rules, work, depth)
  if (typeof value === 'boolean' && rules.node === undefined) return value
  if (value !== true) work.note('what is no schema takes anything')
  return rules.node?.({}, work) ?? {}
}

function walkedObject(value: JsonObject, rules: Rules, work: Work, depth: number): JsonObject {
  const { schema, name } = unreferenced(value, rules, work)
  const current = withLimits(schema, work)
  const merged = rules.mergesAllOf ? withoutAllOf(current, work) : current
  const explicit = rules.isExplicit ? withItems(merged, work) : merged
  if (name !== '') work.open.push(name)
  const inside = mapMembers(explicit, (key, member) => walkedMember(key, member, rules, work, depth + 1))
  if (name !== '') work.open.pop()
  const made = rules.node?.(inside, work) ?? inside
  return sameMembers(made, value) ? value : made
}

function walkedMember(key: string, member: unknown, rules: Rules, work: Work, depth: number): unknown {
  if (rules.inlines && depth === 1 && DEFINITIONS.has(key)) return undefined
  const walk = (part: unknown): unknown => walked(part, rules, work, depth)
  if (MAPS.has(key)) return isObject(member) ? mapMembers(member, (_name, part) => walk(part)) : member
  if (Array.isArray(member)) return HOLDING.has(key) ? mapItems(member as unknown[], walk) : member
  return SCHEMAS.has(key) && typeof member !== 'boolean' ? walk(member) : member
}

/** A schema without its reference, where the dialect has none or it leads nowhere. */
function unreferenced(schema: JsonObject, rules: Rules, work: Work): { schema: JsonObject; name: string } {
  const reference = referenceOf(schema)
  if (reference === undefined || (!rules.inlines && leadsSomewhere(reference, work.root)))
    return { schema, name: '' }
  let made = followed(schema, work)
  const names = [made.name]
  // A definition may be no more than another reference.
  for (let n = 0; n < 8 && referenceOf(made.schema) !== undefined; n++) {
    made = followed(made.schema, work)
    names.push(made.name)
  }
  if (referenceOf(made.schema) !== undefined) throw new Unfit('its references lead in a ring')
  return { schema: made.schema, name: names.findLast(one => one !== '') ?? '' }
}

/** Limits as the newer drafts have them: `exclusiveMinimum: true` beside `minimum` is of draft 4, and no schema any more. */
function withLimits(schema: JsonObject, work: Work): JsonObject {
  const isOld = [schema.exclusiveMinimum, schema.exclusiveMaximum].some(one => typeof one === 'boolean')
  if (!isOld) return schema
  work.note('limits of draft 4 are those of today')
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, ...rest } = schema
  return {
    ...rest,
    ...limit('inimum', minimum, exclusiveMinimum),
    ...limit('aximum', maximum, exclusiveMaximum),
  }
}

function limit(name: 'inimum' | 'aximum', value: unknown, exclusive: unknown): JsonObject {
  if (exclusive === true) return value === undefined ? {} : { [`exclusiveM${name}`]: value }
  return {
    ...(value === undefined ? {} : { [`m${name}`]: value }),
    ...(typeof exclusive === 'number' ? { [`exclusiveM${name}`]: exclusive } : {}),
  }
}

function withItems(schema: JsonObject, work: Work): JsonObject {
  const { type } = schema
  const isList = type === 'array' || (Array.isArray(type) && type.includes('array'))
  if (!isList || schema.items !== undefined) return schema
  work.note('lists say what they hold')
  return { ...schema, items: {} }
}

function sameMembers(a: JsonObject, b: JsonObject): boolean {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every(key => a[key] === b[key])
}
