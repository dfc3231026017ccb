import type { JsonObject } from '../../../src/plugin.ts'
import { isObject, readMap, readTexts } from '../../../src/plugin.ts'
import type { FitContext } from './fit-context.ts'
import { readSchemaList } from './fit-context.ts'

/** Keywords that the Gemini API accepts; any other is an error. */
const KNOWN: ReadonlySet<string> = new Set([
  ...['type', 'format', 'title', 'description', 'nullable', 'enum', 'items', 'properties', 'required', 'anyOf'],
  ...[
    'default',
    'minimum',
    'maximum',
    'minLength',
    'maxLength',
    'minItems',
    'maxItems',
    'minProperties',
    'maxProperties',
  ],
  ...['pattern', 'x-mcp-header'],
])

/** Keywords that do not restrict values. */
const IGNORABLE: ReadonlySet<string> = new Set([
  ...[
    '$schema',
    '$id',
    '$comment',
    '$anchor',
    '$defs',
    'definitions',
    'examples',
    'deprecated',
    'readOnly',
    'writeOnly',
  ],
])

/** Formats by type. */
const FORMATS: Readonly<Record<string, ReadonlySet<unknown>>> = {
  string: new Set(['enum', 'date-time']),
  number: new Set(['float', 'double']),
  integer: new Set(['int32', 'int64']),
}

const ANYTHING: readonly JsonObject[] = [
  { type: 'string' },
  { type: 'number' },
  { type: 'boolean' },
  { type: 'object' },
]

/** Adapts one schema for Gemini: exactly one type and only known keywords. */
export function adaptForGemini(schema: JsonObject, work: FitContext): JsonObject {
  const made: Record<string, unknown> = Object.fromEntries(
    Object.entries(schema).map(([key, value]) =>
      key === 'oneOf' && !('anyOf' in schema) ? ['anyOf', value] : [key, value],
    ),
  )
  if ('oneOf' in schema) work.addNote('replaced oneOf with anyOf')
  if ('const' in made && !('enum' in made)) made.enum = [made.const]
  delete made.const
  delete made.oneOf
  setTypes(made, work)
  setEnum(made, work)
  setItems(made, work)
  setFormat(made, work)
  setRequired(made)
  return dropUnknownKeywords(made, work)
}

function setTypes(made: Record<string, unknown>, work: FitContext): void {
  const alternatives = readSchemaList(made, 'anyOf')
  if (alternatives === undefined) return setType(made, work)
  const nonNull = alternatives.filter(one => !(isObject(one) && one.type === 'null'))
  if (nonNull.length === alternatives.length) return
  work.addNote('replaced null alternatives with "nullable"')
  const [only] = nonNull
  if (nonNull.length === 1 && isObject(only)) {
    delete made.anyOf
    Object.assign(made, { ...only, ...pickTexts(made) })
  } else made.anyOf = nonNull
  made.nullable = true
}

/** Sets a single type. */
function setType(made: Record<string, unknown>, work: FitContext): void {
  const types = listTypes(made)
  const plain = types.filter(type => type !== 'null')
  if (plain.length < types.length) made.nullable = true
  if (plain.length === 1) made.type = plain[0]
  else if (plain.length > 1) {
    delete made.type
    made.anyOf = plain.map(type => ({ type }))
    work.addNote('replaced several types with anyOf')
  } else if (types.length === 0) {
    made.anyOf = ANYTHING
    work.addNote('added types to schemas without a type')
  }
}

function listTypes(schema: Record<string, unknown>): readonly unknown[] {
  if (schema.type === undefined) return guessTypes(schema)
  return Array.isArray(schema.type) ? (schema.type as unknown[]) : [schema.type]
}

function pickTexts({ description, title, default: otherwise }: Record<string, unknown>): JsonObject {
  return Object.fromEntries(
    Object.entries({ description, title, default: otherwise }).filter(([, value]) => value !== undefined),
  )
}

/** Keywords that imply a type. */
const TYPE_HINTS: readonly (readonly [type: string, keys: readonly string[]])[] = [
  ['object', ['properties', 'additionalProperties', 'required']],
  ['array', ['items', 'prefixItems']],
  ['string', ['pattern', 'minLength', 'maxLength']],
  ['number', ['minimum', 'maximum', 'multipleOf']],
]

/** Guesses types for a schema without `type`. */
function guessTypes(schema: Record<string, unknown>): readonly unknown[] {
  const hint = TYPE_HINTS.find(([, keys]) => keys.some(key => key in schema))
  return hint === undefined ? [...new Set((readSchemaList(schema, 'enum') ?? []).map(getJsonType))] : [hint[0]]
}

function getJsonType(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}

/** Gemini accepts only non-empty strings as enum values; others are listed in the description. */
function setEnum(made: Record<string, unknown>, work: FitContext): void {
  const values = readSchemaList(made, 'enum')
  if (values === undefined) return
  const texts = values.filter(value => value !== null)
  if (texts.every(value => typeof value === 'string' && value !== '') && made.anyOf === undefined) {
    if (texts.length < values.length) {
      made.nullable = true
      made.enum = texts
    }
    return
  }
  delete made.enum
  const sentence = `One of ${values
    .slice(0, 50)
    .map(value => JSON.stringify(value))
    .join(', ')}.`
  made.description = typeof made.description === 'string' ? `${made.description} ${sentence}` : sentence
  work.addNote('moved enum values that are not strings to the description')
}

function setItems(made: Record<string, unknown>, work: FitContext): void {
  if (made.type !== 'array' || isObject(made.items)) return
  made.items = { anyOf: ANYTHING }
  work.addNote('added items to arrays')
}

function setFormat(made: Record<string, unknown>, work: FitContext): void {
  if (made.format === undefined || FORMATS[String(made.type)]?.has(made.format) === true) return
  delete made.format
  work.addNote('removed unsupported formats')
}

function setRequired(made: Record<string, unknown>): void {
  if (made.required === undefined) return
  const properties = readMap(made, 'properties')
  const names = readTexts(made, 'required')
  const required = names.filter(name => Object.hasOwn(properties, name))
  if (required.length === 0) delete made.required
  else if (required.length < names.length || !Array.isArray(made.required)) made.required = required
}

function dropUnknownKeywords(made: Record<string, unknown>, work: FitContext): JsonObject {
  const entries = Object.entries(made).filter(([key]) => {
    if (KNOWN.has(key)) return true
    if (!IGNORABLE.has(key)) work.addNote(`removed unsupported conditions (${key})`)
    return false
  })
  return Object.fromEntries(entries)
}
