import type { JsonObject } from '../../src/plugin.ts'
import { isObject, readMap, readTexts, resolveReference } from '../../src/plugin.ts'
import type { Dialect } from './client-profiles.ts'

/** Keywords that the Gemini API accepts; any other is an error. */
const KNOWN: ReadonlySet<string> = new Set([
  ...['type', 'format', 'title', 'description', 'nullable', 'enum', 'items', 'properties', 'required', 'anyOf'],
  ...['default', 'minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems'],
  ...['minProperties', 'maxProperties', 'pattern', 'x-mcp-header'],
])

/** Keywords that restrict values, and are removed. */
const CONDITIONS: ReadonlySet<string> = new Set([
  ...['not', 'if', 'then', 'else', 'prefixItems', 'contains', 'patternProperties', 'propertyNames'],
  ...['additionalProperties', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'uniqueItems'],
])

/** Formats by type. */
const FORMATS: Readonly<Record<string, readonly unknown[]>> = {
  string: ['enum', 'date-time'],
  number: ['float', 'double'],
  integer: ['int32', 'int64'],
}

const ANYTHING: readonly JsonObject[] = ['string', 'number', 'boolean', 'object'].map(type => ({ type }))

/** Adapts one schema for Gemini: exactly one type and only known keywords. */
function adaptForGemini(schema: JsonObject, notes: Set<string>): JsonObject {
  for (const key of Object.keys(schema).filter(one => CONDITIONS.has(one)))
    notes.add(`removed unsupported conditions (${key})`)
  const made: JsonObject = Object.fromEntries(Object.entries(schema).filter(([key]) => KNOWN.has(key)))
  const alternatives = schema.anyOf ?? schema.oneOf
  if (Array.isArray(alternatives)) setAlternatives(made, alternatives)
  else setType(made, listTypes(schema))
  setEnum(made, schema.const === undefined ? schema.enum : [schema.const], notes)
  if (made.type === 'array' && !isObject(made.items)) made.items = { anyOf: ANYTHING }
  if (made.format !== undefined && FORMATS[String(made.type)]?.includes(made.format) !== true) {
    delete made.format
    notes.add('removed unsupported formats')
  }
  setRequired(made)
  return made
}

/** Gemini rejects names that are no properties. */
function setRequired(made: JsonObject): void {
  const properties = readMap(made, 'properties')
  const required = readTexts(made, 'required').filter(name => Object.hasOwn(properties, name))
  if (required.length === 0) delete made.required
  else made.required = required
}

/** `nullable` replaces an alternative `null`. */
function setAlternatives(made: JsonObject, alternatives: readonly unknown[]): void {
  const others = alternatives.filter(one => !(isObject(one) && one.type === 'null'))
  if (others.length < alternatives.length) made.nullable = true
  const [only] = others
  delete made.anyOf
  if (others.length === 1 && isObject(only)) Object.assign(made, { ...only, ...made })
  else made.anyOf = others
}

function setType(made: JsonObject, types: readonly unknown[]): void {
  const plain = types.filter(type => type !== 'null')
  if (plain.length < types.length) made.nullable = true
  delete made.type
  if (plain.length === 1) made.type = plain[0]
  else made.anyOf = plain.length === 0 ? ANYTHING : plain.map(createTypeSchema)
}

function createTypeSchema(type: unknown): JsonObject {
  return type === 'array' ? { type, items: { anyOf: ANYTHING } } : { type }
}

/** Lists the types, or those that other keywords imply. */
function listTypes({ type, properties, items, const: value, enum: values }: JsonObject): readonly unknown[] {
  if (type !== undefined) return [type].flat()
  if (properties !== undefined) return ['object']
  if (items !== undefined) return ['array']
  const examples: unknown[] = value !== undefined ? [value] : Array.isArray(values) ? values : []
  return [...new Set(examples.map(one => (one === null ? 'null' : Array.isArray(one) ? 'array' : typeof one)))]
}

/** Gemini accepts only non-empty strings as enum values; others are listed in the description. */
function setEnum(made: JsonObject, values: unknown, notes: Set<string>): void {
  delete made.enum
  if (!Array.isArray(values)) return
  const texts = values.filter(value => value !== null)
  if (texts.length < values.length) made.nullable = true
  if (made.anyOf === undefined && texts.every(value => typeof value === 'string' && value !== '')) {
    made.enum = texts
    return
  }
  const list = values.slice(0, 50).map(value => JSON.stringify(value))
  const sentence = `One of ${list.join(', ')}.`
  made.description = typeof made.description === 'string' ? `${made.description} ${sentence}` : sentence
  notes.add('moved enum values that are not strings to the description')
}

/** An adapted schema with its changes, or the reason why it cannot be adapted. */
export type FitSchema = { readonly schema: JsonObject; readonly notes: readonly string[] } | { readonly unfit: string }

/** Maximum schema length in characters; larger ones would fill the model's context. */
const MAX_LENGTH = 128 * 1024
/** Maximum input length; adapting may shorten the schema. */
const MAX_READ_LENGTH = 2 * MAX_LENGTH
/** Maximum subschemas, their depth, and the schemas that are merged into one. */
const MAX_NODES = 20_000
const MAX_DEPTH = 48
const MAX_MERGED = 128

/** Keywords with schema maps, whose keys are free names. */
const MAPS = new Set(['properties', 'patternProperties', 'dependentSchemas'])
/** Keywords with one schema or several. */
const SCHEMAS = new Set([
  ...['anyOf', 'oneOf', 'prefixItems', 'items', 'contains', 'propertyNames', 'not', 'if', 'then', 'else'],
  ...['additionalProperties', 'unevaluatedProperties', 'unevaluatedItems'],
])
const EMPTY: JsonObject = { type: 'object' }
/** Property names that all model APIs accept. */
const PROPERTY_NAME = /^[a-zA-Z0-9_.-]{1,64}$/

/** Thrown if a schema cannot be adapted to the client. */
class UnfitError extends Error {}

/** Adapts a tool's input schema to a dialect. Returns the same schema if nothing has to change. */
export function fitSchema(value: unknown, dialect: Dialect): FitSchema {
  if (dialect === 'full') return { schema: isObject(value) ? value : EMPTY, notes: [] }
  if (value !== undefined && !isObject(value)) return { unfit: 'the schema is not an object' }
  const root = value ?? EMPTY
  try {
    const text = serialize(root, MAX_READ_LENGTH)
    const fitter = new SchemaFitter(root, dialect)
    const schema = fitter.fitRoot()
    return serialize(schema, MAX_LENGTH) === text ? { schema: root, notes: [] } : { schema, notes: [...fitter.notes] }
  } catch (error) {
    if (error instanceof UnfitError) return { unfit: error.message }
    if (error instanceof RangeError) return { unfit: 'the schema is nested too deeply' }
    throw error
  }
}

function serialize(schema: JsonObject, maxLength: number): string {
  const text = JSON.stringify(schema)
  if (text.length > maxLength)
    throw new UnfitError(`the schema has ${text.length} characters, and the maximum is ${maxLength}`)
  return text
}

class SchemaFitter {
  /** Change descriptions. */
  readonly notes = new Set<string>()
  readonly #root: JsonObject
  readonly #isForGemini: boolean
  /** References that are being inlined, outermost first. */
  readonly #openReferences: unknown[] = []
  #nodes = 0

  constructor(root: JsonObject, dialect: Dialect) {
    this.#root = root
    this.#isForGemini = dialect === 'gemini'
  }

  /** Fits the root, which must be a plain object schema without reference, alternatives or conditions. */
  fitRoot(): JsonObject {
    const { not, enum: values, const: value, ...plain } = this.#mergeRootUnion(this.#flatten(this.#root, 0))
    if ([not, values, value].some(one => one !== undefined))
      this.notes.add('removed conditions at the root (not, enum, const)')
    if (![plain.type ?? 'object'].flat().includes('object'))
      throw new UnfitError('the schema does not accept an object')
    const properties = this.#dropInvalidNames(plain)
    return { ...(this.#walk({ ...plain, type: 'object', properties }, 0) as JsonObject), type: 'object' }
  }

  /**
   * Converts root alternatives to one object with the properties of all; a property is required if all alternatives
   * require it. The result accepts every value of the union, and the description names the alternatives.
   */
  #mergeRootUnion(schema: JsonObject): JsonObject {
    const { anyOf, oneOf, required, additionalProperties, ...base } = schema
    const alternatives = anyOf ?? oneOf
    if (alternatives === undefined) return schema
    const branches = (Array.isArray(alternatives) ? alternatives : [])
      .filter(isObject)
      .map(branch => this.#flatten(branch, 1))
      .filter(({ type }) => type === undefined || type === 'object')
    if (branches.length === 0)
      throw new UnfitError(`no alternative at the root of the schema (anyOf, oneOf) is an object`)
    checkCount(branches)
    this.notes.add('merged alternatives at the root into one object; its description lists them')
    const properties = [base, ...branches]
      .map(branch => readMap(branch, 'properties'))
      .reduce((a, b) => mergeProperties(a, b, 'anyOf'))
    const lists = branches.map(branch => readTexts(branch, 'required'))
    const shared = (lists[0] ?? []).filter(name => lists.every(names => names.includes(name)))
    const all = [...new Set([...readTexts({ required }, 'required'), ...shared])]
    const isClosed = branches.every(branch => branch.additionalProperties === false)
    const sentence = `Needs ${lists.map(names => names.join(', ') || 'nothing').join('; or ')}.`
    return {
      ...base,
      properties,
      ...(all.length === 0 ? {} : { required: all }),
      ...(isClosed ? { additionalProperties: false } : {}),
      description: typeof base.description === 'string' ? `${base.description} ${sentence}` : sentence,
    }
  }

  /** Drops optional properties whose names the model's API rejects. */
  #dropInvalidNames(schema: JsonObject): JsonObject {
    const entries = Object.entries(readMap(schema, 'properties'))
    const valid = entries.filter(([name]) => PROPERTY_NAME.test(name))
    if (valid.length < entries.length) this.notes.add('removed properties whose names the model rejects')
    const names = new Set(valid.map(([name]) => name))
    const needed = readTexts(schema, 'required').find(name => !names.has(name) && !PROPERTY_NAME.test(name))
    if (needed === undefined) return Object.fromEntries(valid)
    const name = JSON.stringify(needed.slice(0, 100))
    throw new UnfitError(`the required property ${name} has a name that the model rejects`)
  }

  /** Adapts a schema and all its subschemas. */
  #walk(value: unknown, depth: number): unknown {
    if (typeof value === 'boolean' && !this.#isForGemini) return value
    const openCount = this.#openReferences.length
    const { $defs: _, definitions: __, ...schema } = this.#flatten(isObject(value) ? value : {}, depth)
    // Boolean limits are from draft 4, and later drafts reject them.
    if (typeof schema.exclusiveMinimum === 'boolean') delete schema.exclusiveMinimum
    if (typeof schema.exclusiveMaximum === 'boolean') delete schema.exclusiveMaximum
    if ([schema.type].flat().includes('array')) schema.items ??= {}
    const members = Object.entries(schema).map(([key, member]) => [key, this.#walkMember(key, member, depth + 1)])
    this.#openReferences.length = openCount
    const made = Object.fromEntries(members) as JsonObject
    return this.#isForGemini ? adaptForGemini(made, this.notes) : made
  }

  #walkMember(key: string, member: unknown, depth: number): unknown {
    if (MAPS.has(key) && isObject(member))
      return Object.fromEntries(Object.entries(member).map(([name, part]) => [name, this.#walk(part, depth)]))
    if (!SCHEMAS.has(key)) return member
    return Array.isArray(member) ? member.map(part => this.#walk(part, depth)) : this.#walk(member, depth)
  }

  /** Inlines a schema's reference and merges its `allOf`. */
  #flatten(schema: JsonObject, depth: number): JsonObject {
    if (++this.#nodes > MAX_NODES)
      throw new UnfitError(`the schema has more than ${MAX_NODES} parts when references are resolved`)
    if (depth > MAX_DEPTH) throw new UnfitError(`the schema is nested deeper than ${MAX_DEPTH} levels`)
    const { $ref, $dynamicRef, $recursiveRef, allOf, ...own } = schema
    const parts = [own]
    const reference = $ref ?? $dynamicRef ?? $recursiveRef
    if (reference !== undefined) parts.push(this.#follow(reference))
    if (Array.isArray(allOf)) {
      this.notes.add('merged allOf')
      parts.push(...allOf.filter(isObject))
      checkCount(parts)
    }
    const [first, ...others] = parts
    return mergeSchemas([first ?? {}, ...others.map(part => this.#flatten(part, depth + 1))])
  }

  /** Finds a reference's schema. An unresolvable or recursive reference accepts any value. */
  #follow(reference: unknown): JsonObject {
    const isLocal = typeof reference === 'string' && /^#(\/|$)/.test(reference)
    const target = isLocal ? resolveReference(reference, this.#root) : undefined
    if (!isObject(target)) {
      this.notes.add('replaced unresolvable references with schemas that accept anything')
      return {}
    }
    if (this.#openReferences.includes(reference)) {
      this.notes.add('cut recursive schemas')
      return target.type === undefined ? {} : { type: target.type }
    }
    this.notes.add('inlined references')
    this.#openReferences.push(reference)
    return target
  }
}

function checkCount(schemas: readonly JsonObject[]): void {
  if (schemas.length > MAX_MERGED)
    throw new UnfitError(`${schemas.length} parts of the schema must be merged, and the maximum is ${MAX_MERGED}`)
}

/** Merges schemas whose conditions must all hold. Of two values for a keyword, the first is kept: the result is looser. */
function mergeSchemas(schemas: readonly JsonObject[]): JsonObject {
  const merged = new Map<string, unknown>()
  for (const [key, value] of schemas.flatMap(schema => Object.entries(schema))) {
    const first = merged.get(key)
    if (first === undefined) merged.set(key, value)
    else if (key === 'required') merged.set(key, [...new Set([...readTexts(first), ...readTexts(value)])])
    else if (key === 'properties' && isObject(first) && isObject(value))
      merged.set(key, mergeProperties(first, value, 'allOf'))
  }
  // Each part closes only its own properties, so the merged schema must stay open.
  if (schemas.filter(one => 'properties' in one).length > 1) merged.delete('additionalProperties')
  return Object.fromEntries(merged)
}

/** Merges property maps; two schemas for one property are combined by `keyword`. */
function mergeProperties(a: JsonObject, b: JsonObject, keyword: 'allOf' | 'anyOf'): JsonObject {
  const merged = new Map(Object.entries(a))
  for (const [name, schema] of Object.entries(b)) {
    const first = merged.get(name)
    const isSame = first === undefined || JSON.stringify(first) === JSON.stringify(schema)
    merged.set(name, isSame ? schema : { [keyword]: [first, schema] })
  }
  return Object.fromEntries(merged)
}
