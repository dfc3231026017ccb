import { isObject, readTexts } from '../../../src/plugin.ts'
import type { PlainObject, References } from '../document/operation-parts.ts'

/** Maximum nesting; deeper levels accept anything. */
const DEPTH = 6
/** Minimum subschema size: its braces. */
const PART_BYTES = 2
const MAX_DESCRIPTION = 1000
const MAX_PATTERN = 256

const NUMBERS = 'minimum maximum multipleOf minLength maxLength minItems maxItems minProperties maxProperties'.split(
  ' ',
)

/** Schema use: input or output. */
export interface SchemaUse {
  /** True for results: a server's deviation from the document must not fail them. */
  readonly isLoose: boolean
  readonly maxBytes: number
}

/**
 * Converts an OpenAPI schema to JSON Schema 2020-12. References are inlined, as many clients resolve none. A schema
 * that is too large keeps only its own members; a recursive one accepts anything at each repetition.
 */
export function convertSchema(schema: unknown, references: References, use: SchemaUse): PlainObject {
  for (const depth of [DEPTH, 0]) {
    const writer = new SchemaWriter(references, use)
    const written = writer.writeSchema(schema, depth, [])
    if (!writer.isOver && JSON.stringify(written).length <= use.maxBytes) return written
  }
  return {}
}

class SchemaWriter {
  readonly #references: References
  readonly #use: SchemaUse
  /** Lower bound of the bytes written so far. */
  #bytes = 0

  constructor(references: References, use: SchemaUse) {
    this.#references = references
    this.#use = use
  }

  get isOver(): boolean {
    return this.#bytes > this.#use.maxBytes
  }

  writeSchema(input: unknown, depth: number, open: readonly unknown[]): PlainObject {
    const schema = this.#references.follow(input)
    if (!isObject(schema) || this.isOver) return {}
    this.#bytes += PART_BYTES
    const isEnd = depth === 0 || open.includes(schema)
    const writeNested = (inner: unknown): PlainObject => this.writeSchema(inner, depth - 1, [...open, schema])
    const inner = isEnd ? {} : this.#writeInner(schema, writeNested, depth)
    return addNull(schema, { ...this.#writeOwnMembers(schema), ...inner }, this.#use.isLoose)
  }

  /** Writes members without subschemas. */
  #writeOwnMembers(schema: PlainObject): PlainObject {
    const { isLoose } = this.#use
    const { title, description } = schema
    const plain: PlainObject & { description?: string } = { ...writeType(schema) }
    if (typeof title === 'string') plain.title = title.slice(0, MAX_DESCRIPTION)
    if (typeof description === 'string') {
      plain.description = description.slice(0, MAX_DESCRIPTION)
      this.#bytes += plain.description.length
    }
    if (schema.deprecated === true) plain.deprecated = true
    return isLoose ? plain : { ...plain, ...writeConstraints(schema) }
  }

  #writeInner(schema: PlainObject, within: (inner: unknown) => PlainObject, depth: number): PlainObject {
    const inner: PlainObject = {}
    for (const key of ['allOf', 'anyOf', 'oneOf'] as const) {
      const branches = schema[key]
      if (!Array.isArray(branches) || branches.length === 0) continue
      // In results several alternatives may match, and shortened alternatives all match.
      const maySeveral = this.#use.isLoose || depth === 1
      inner[maySeveral && key === 'oneOf' ? 'anyOf' : key] = branches.map(within)
    }
    if (isObject(schema.items)) inner.items = within(schema.items)
    const members = isObject(schema.properties)
      ? this.#writeProperties(schema, schema.properties, within)
      : this.#writeRequired(schema)
    return { ...inner, ...members, ...this.#writeAdditional(schema, within) }
  }

  /** A branch may require properties that are declared next to it. */
  #writeRequired(schema: PlainObject, isListed: (name: string) => boolean = () => true): PlainObject {
    const required = this.#use.isLoose ? [] : readTexts(schema, 'required').filter(isListed)
    return required.length === 0 ? {} : { required }
  }

  #writeAdditional({ additionalProperties }: PlainObject, within: (inner: unknown) => PlainObject): PlainObject {
    if (isObject(additionalProperties)) return { additionalProperties: within(additionalProperties) }
    return additionalProperties === false && !this.#use.isLoose ? { additionalProperties: false } : {}
  }

  #writeProperties(schema: PlainObject, properties: PlainObject, within: (inner: unknown) => PlainObject): PlainObject {
    const hidden = this.#use.isLoose ? 'writeOnly' : 'readOnly'
    const visible = Object.entries(properties).filter(([, value]) => {
      const followed = this.#references.follow(value)
      return !isObject(followed) || followed[hidden] !== true
    })
    const written = visible.map(([name, value]) => {
      this.#bytes += name.length + 4
      return [name, within(value)] as const
    })
    const names = new Set(visible.map(([name]) => name))
    return { properties: Object.fromEntries(written), ...this.#writeRequired(schema, name => names.has(name)) }
  }
}

function writeType({ type, properties, items, ...schema }: PlainObject): PlainObject {
  if (type === 'file') return { type: 'string', format: 'binary' }
  if (typeof type === 'string' || Array.isArray(type)) return { type }
  if (isObject(properties) && schema.allOf === undefined) return { type: 'object' }
  return isObject(items) ? { type: 'array' } : {}
}

/** Writes keywords that restrict values. */
function writeConstraints(schema: PlainObject): PlainObject {
  const plain: PlainObject = {}
  if (Array.isArray(schema.enum)) plain.enum = schema.enum
  for (const key of ['const', 'default']) if (schema[key] !== undefined) plain[key] = schema[key]
  if (schema.uniqueItems === true) plain.uniqueItems = true
  if (typeof schema.format === 'string') plain.format = schema.format.slice(0, 50)
  for (const key of NUMBERS) if (typeof schema[key] === 'number') plain[key] = schema[key]
  const { pattern } = schema
  if (typeof pattern === 'string' && isValidPattern(pattern)) plain.pattern = pattern
  return {
    ...plain,
    ...writeExclusiveBound(schema, 'minimum', 'exclusiveMinimum'),
    ...writeExclusiveBound(schema, 'maximum', 'exclusiveMaximum'),
  }
}

/** Converts a boolean exclusive bound of OpenAPI 3.0 to a number. */
function writeExclusiveBound(schema: PlainObject, bound: string, key: string): PlainObject {
  const value = schema[key] === true ? schema[bound] : schema[key]
  return typeof value === 'number' ? { [key]: value } : {}
}

function isValidPattern(pattern: string): boolean {
  if (pattern.length > MAX_PATTERN) return false
  try {
    new RegExp(pattern, 'u')
    return true
  } catch {
    return false
  }
}

/** Converts `nullable` of OpenAPI 3.0; results may always be null. */
function addNull(schema: PlainObject, written: PlainObject, isLoose: boolean): PlainObject {
  const isWanted = schema.nullable === true || schema['x-nullable'] === true || isLoose
  if (!isWanted || written.type === undefined) return written
  const type = [...new Set<unknown>([written.type, 'null'].flat())]
  const allowed: readonly unknown[] | undefined = Array.isArray(written.enum) ? written.enum : undefined
  const values = allowed === undefined || allowed.includes(null) ? {} : { enum: [...allowed, null] }
  return { ...written, type, ...values }
}
