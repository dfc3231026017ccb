import type { Finding } from '../util/finding.ts'
import { pointerFits, appendPointer } from '../util/finding.ts'
import { isPlain } from '../util/plain-data.ts'
import { suggestName } from '../util/suggest.ts'
import { BOOLEAN_PATHS, NUMBER_PATHS, SECRET_PATHS, TYPES } from './keys.gen.ts'

/** Validator error with the violated schema part. */
export interface SchemaError {
  readonly keyword: string
  readonly instancePath: string
  readonly schemaPath: string
  readonly params: Readonly<Record<string, unknown>>
  readonly propertyName?: string
  readonly schema?: unknown
  readonly parentSchema?: Readonly<Record<string, unknown>>
  readonly data?: unknown
  /** The validator's message, used if there is none here. */
  readonly message?: string
}

/** Message and hint by schema keyword; redundant keywords return undefined. */
const MESSAGES: Readonly<Record<string, (error: SchemaError) => Partial<Finding> | undefined>> = {
  type: error => ({
    message: `expected ${describeExpected(error)}${describeFound(error)}`,
    hint: suggestQuotes(error),
  }),
  enum: error => ({
    message: `expected one of ${formatList(error.schema)}${describeFound(error)}`,
    hint: suggestValue(error.data, error.schema),
  }),
  const: error => ({
    message: `expected ${getSchemaText(error) ?? JSON.stringify(error.schema)}${describeFound(error)}`,
  }),
  required: explainMissing,
  additionalProperties: explainUnknownKey,
  pattern: explainPattern,
  minimum: error => ({ message: `must be ${String(error.params.limit)} or more${describeFound(error)}` }),
  maximum: error => ({ message: `must be ${String(error.params.limit)} or less${describeFound(error)}` }),
  minLength: ({ params, message }) => ({ message: params.limit === 1 ? 'must not be empty' : message }),
  minItems: ({ params, message }) => ({
    message: params.limit === 1 ? 'must not be an empty list' : message,
  }),
  discriminator: explainType,
  oneOf: error => ({ message: getSchemaText(error) ?? 'is not valid here', on: 'key' }),
  anyOf: error => ({ message: getSchemaText(error) ?? 'is not valid here', on: 'key' }),
  propertyNames: () => undefined,
  if: () => undefined,
}

/** Formats a schema error; undefined if another error covers it. */
export function explainSchemaError(error: SchemaError): Finding | undefined {
  if (/\/(one|any)Of\/\d+\/required$/.test(error.schemaPath)) return undefined
  const explain = Object.hasOwn(MESSAGES, error.keyword) ? MESSAGES[error.keyword] : undefined
  const explanation = explain === undefined ? { message: error.message } : explain(error)
  if (explanation === undefined) return undefined
  return {
    pointer: error.instancePath,
    ...explanation,
    message: explanation.message ?? error.message ?? 'is not valid here',
  }
}

function explainMissing(error: SchemaError): Partial<Finding> | undefined {
  const key = String(error.params.missingProperty)
  if (isPlain(error.parentSchema?.discriminator)) return undefined
  const { description } = getSchemaProperty(error, key)
  return {
    message: `missing key "${key}"`,
    hint: typeof description === 'string' ? firstSentence(description) : undefined,
    on: 'key',
  }
}

/** Keys under which MCP clients configure servers. */
const CLIENT_KEYS: ReadonlySet<string> = new Set(['mcpServers', 'mcp_servers', 'servers', 'context_servers'])
const CLIENT_HINT =
  'this is the configuration of an MCP client: save it to its own file and run "gateway import <file>"'

function explainUnknownKey(error: SchemaError): Partial<Finding> {
  const key = String(error.params.additionalProperty)
  const keys = Object.keys(isPlain(error.parentSchema?.properties) ? error.parentSchema.properties : {})
  return {
    pointer: appendPointer(error.instancePath, key),
    message: `unknown key "${key}"`,
    hint: CLIENT_KEYS.has(key) ? CLIENT_HINT : suggestName(key, keys),
    on: 'key',
  }
}

function explainPattern(error: SchemaError): Partial<Finding> {
  const form = getSchemaText(error) ?? `text matching ${String(error.params.pattern)}`
  if (error.propertyName === undefined) return { message: `expected ${form}${describeFound(error)}` }
  const pointer = appendPointer(error.instancePath, error.propertyName)
  return { pointer, message: `expected ${form}, found "${error.propertyName}"`, on: 'key' }
}

/** Custom description of valid values, from the schema. */
function getSchemaText(error: SchemaError): string | undefined {
  const words = error.parentSchema?.['x-expects']
  return typeof words === 'string' ? words : undefined
}

function explainType(error: SchemaError): Partial<Finding> {
  const types = listTypes(error.instancePath)
  if (error.params.error === 'tag' && error.params.tagValue === undefined) {
    return { message: 'missing key "type"', hint: `one of ${types.join(', ')}`, on: 'key' }
  }
  const value = error.params.tagValue
  const hint = typeof value === 'string' ? suggestName(value, types) : `one of ${types.join(', ')}`
  return {
    pointer: appendPointer(error.instancePath, 'type'),
    message: `unknown type ${JSON.stringify(value)}`,
    hint,
  }
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  object: 'a map',
  array: 'a list',
}

/** Describes valid values: an enum, the schema's text, or the type. */
function describeExpected(error: SchemaError): string {
  const { type } = error.params
  const values = error.parentSchema?.enum
  if (Array.isArray(values)) return `one of ${formatList(values)}`
  return (Array.isArray(type) ? getSchemaText(error) : undefined) ?? formatTypes(type)
}

function formatTypes(type: unknown): string {
  const types: unknown[] = Array.isArray(type) ? type : String(type).split(',')
  return types.map(name => TYPE_NAMES[String(name)] ?? String(name)).join(' or ')
}

function suggestQuotes({ params, data, parentSchema }: SchemaError): string | undefined {
  if (isSecretSchema(parentSchema)) return ['number', 'boolean'].includes(typeof data) ? 'put it in quotes' : undefined
  if (params.type === 'string' && ['number', 'boolean'].includes(typeof data))
    return `put it in quotes: "${String(data)}"`
  if (params.type !== 'string' && typeof data === 'string' && /^(\d+|true|false)$/.test(data))
    return `remove the quotes: ${data}`
  return undefined
}

/** `, found 12`; empty for secrets. */
function describeFound({ data, parentSchema }: SchemaError): string {
  if (isSecretSchema(parentSchema)) return ''
  if (Array.isArray(data)) return ', found a list'
  if (isPlain(data)) return ', found a map'
  const text = JSON.stringify(data) ?? String(data)
  return `, found ${text.length > 60 ? `${text.slice(0, 60)}…` : text}`
}

function formatList(values: unknown): string {
  return Array.isArray(values) ? values.map(String).join(', ') : String(values)
}

function suggestValue(value: unknown, candidates: unknown): string | undefined {
  if (typeof value !== 'string' || !Array.isArray(candidates)) return undefined
  const hint = suggestName(value, candidates.map(String))
  return hint?.startsWith('did') ? hint : undefined
}

function getSchemaProperty(error: SchemaError, key: string): Readonly<Record<string, unknown>> {
  const properties = error.parentSchema?.properties
  const property = isPlain(properties) ? properties[key] : undefined
  return isPlain(property) ? property : {}
}

function firstSentence(text: string): string {
  const sentence = /^.*?[.;:](?=\s|$)/.exec(text)?.[0].slice(0, -1) ?? text
  return sentence.charAt(0).toLowerCase() + sentence.slice(1)
}

/** True if values at a pointer are secret. */
export function isSecretPath(pointer: string): boolean {
  return matchesAny(pointer, SECRET_PATHS)
}

/** Converts text to the number or boolean that its key expects. */
export function coerce(text: string, pointer: string): string | number | boolean {
  if (/^-?\d{1,15}$/.test(text) && matchesAny(pointer, NUMBER_PATHS)) return Number(text)
  if (/^(true|false)$/.test(text) && matchesAny(pointer, BOOLEAN_PATHS)) return text === 'true'
  return text
}

/** Valid values of `type` at a pointer. */
function listTypes(pointer: string): readonly string[] {
  return Object.entries(TYPES).find(([pattern]) => pointerFits(pointer, pattern))?.[1] ?? []
}

function matchesAny(pointer: string, patterns: ReadonlySet<string>): boolean {
  for (const pattern of patterns) if (pointerFits(pointer, pattern)) return true
  return false
}

/** True if the schema marks a secret: `x-secret`, `writeOnly` or format `password`. */
export function isSecretSchema(schema: Readonly<Record<string, unknown>> | undefined): boolean {
  return schema?.['x-secret'] === true || schema?.writeOnly === true || schema?.format === 'password'
}
