import type { CatalogEntry, JsonObject } from '../../src/plugin.ts'
import { estimateBytes, isObject } from '../../src/plugin.ts'
import { firstSentence } from './search/document.ts'

const MAX_DEPTH = 4
const MAX_PROPERTIES = 60
const PLAIN = /^[A-Za-z_$][\w$]*$/

/** A tool as TypeScript: what a script calls, with its types and texts. */
export function stubOf({ exposed, value }: CatalogEntry): string {
  const { description, inputSchema, outputSchema } = value
  const place = PLAIN.test(exposed) ? `tools.${exposed}` : `tools[${JSON.stringify(exposed)}]`
  const result = outputSchema === undefined ? 'any' : scriptTypeOf(outputSchema, 0)
  const text = typeof description === 'string' ? `${commentOf(description)}\n` : ''
  return `${text}${place}(args: ${scriptTypeOf(inputSchema, 0)}): Promise<${result}>`
}

function scriptTypeOf(schema: unknown, depth: number): string {
  if (!isObject(schema) || depth > MAX_DEPTH) return 'any'
  const values = schema.const === undefined ? schema.enum : [schema.const]
  if (Array.isArray(values)) return union(values.map(value => JSON.stringify(value)))
  const forms: readonly unknown[] | undefined = [schema.anyOf, schema.oneOf].find(Array.isArray)
  if (forms !== undefined) return union(forms.map(form => scriptTypeOf(form, depth + 1)))
  const { type, properties } = schema
  const types: readonly unknown[] = Array.isArray(type)
    ? type
    : [type ?? (isObject(properties) ? 'object' : undefined)]
  return union(types.map(one => typeNamed(one, schema, depth)))
}

function typeNamed(type: unknown, schema: JsonObject, depth: number): string {
  if (type === 'array') return `(${scriptTypeOf(schema.items, depth + 1)})[]`
  if (type === 'object') return objectOf(schema, depth)
  return TYPES.get(type) ?? 'any'
}

const TYPES: ReadonlyMap<unknown, string> = new Map([
  ['string', 'string'],
  ['number', 'number'],
  ['integer', 'number'],
  ['boolean', 'boolean'],
  ['null', 'null'],
])

function union(types: readonly string[]): string {
  return types.length === 0 ? 'any' : [...new Set(types)].join(' | ')
}

function objectOf(schema: JsonObject, depth: number): string {
  const properties = isObject(schema.properties) ? Object.entries(schema.properties) : []
  if (properties.length === 0) return 'Record<string, any>'
  const required: unknown[] = Array.isArray(schema.required) ? schema.required : []
  const members = properties.slice(0, MAX_PROPERTIES).map(([name, property]) => {
    const { description } = isObject(property) ? property : {}
    const text = typeof description === 'string' ? `${commentOf(description)} ` : ''
    const key = PLAIN.test(name) ? name : JSON.stringify(name)
    return `${text}${key}${required.includes(name) ? '' : '?'}: ${scriptTypeOf(property, depth + 1)}`
  })
  return `{ ${members.join('; ')} }`
}

/** A comment that no text of a server ends. */
function commentOf(text: string): string {
  return `/** ${text.replace(/\s+/g, ' ').replaceAll('*/', '* /').trim()} */`
}

const MAX_LENGTH = 160
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
const MAX_DEPTH_COUNT = 4

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
function sentence(text: string, longest = MAX_LENGTH): string {
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
  if (depth > MAX_DEPTH_COUNT && !isWhole) return typeof schema.type === 'string' ? { type: schema.type } : {}
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

/** Tokens that one line of a search may take. */
const MAX_TOKENS = 125
const MAX_VALUES = 4

/**
 * A tool on one line: `create_issue(repo: string, title: string, labels?: string[]) – Create an issue.` Required arguments are
 * always there; what is nested is `~`, and further optional ones are `…`.
 */
export function signature(entry: CatalogEntry): string {
  const { value, exposed } = entry
  const mark = isReadOnly(value) ? ' [reads only]' : ''
  const text = typeof value.description === 'string' ? sentence(value.description) : ''
  const most = estimateBytes(MAX_TOKENS) - Buffer.byteLength(mark)
  const args = argumentsOf(value.inputSchema)
  const least = `${exposed}(${args
    .filter(one => one.isRequired)
    .map(one => one.name)
    .join(', ')})`
  const whole = withArguments(exposed, args, Math.max(most - Buffer.byteLength(text) - 5, most / 2), least)
  const left = most - Buffer.byteLength(whole) - 5
  const shown = left < 20 ? '' : clipped(text, left)
  return `${whole}${shown === '' ? '' : ` – ${shown}`}${mark}`
}

/** True if a tool says that it changes nothing. */
export function isReadOnly({ annotations }: JsonObject): boolean {
  return isObject(annotations) && annotations.readOnlyHint === true
}

interface Argument {
  readonly name: string
  readonly text: string
  readonly isRequired: boolean
}

function argumentsOf(schema: unknown): Argument[] {
  if (!isObject(schema) || !isObject(schema.properties)) return []
  const required = Array.isArray(schema.required) ? schema.required : []
  const all = Object.entries(schema.properties).map(([name, property]) => {
    const isRequired = required.includes(name)
    return { name, text: `${name}${isRequired ? '' : '?'}: ${typeOf(property)}`, isRequired }
  })
  return [...all.filter(one => one.isRequired), ...all.filter(one => !one.isRequired)]
}

function withArguments(name: string, args: readonly Argument[], most: number, least: string): string {
  const required = args.filter(one => one.isRequired).map(one => one.text)
  const optional = args.filter(one => !one.isRequired).map(one => one.text)
  for (let shown = optional.length; shown >= 0; shown--) {
    const more = shown < optional.length ? ['…'] : []
    const whole = `${name}(${[...required, ...optional.slice(0, shown), ...more].join(', ')})`
    if (Buffer.byteLength(whole) <= most) return whole
  }
  return least
}

function typeOf(schema: unknown): string {
  if (!isObject(schema)) return 'any'
  if (Array.isArray(schema.enum)) return valuesOf(schema.enum)
  const { type, items } = schema
  if (type === 'array') return isObject(items) ? `${typeOf(items)}[]` : 'array'
  if (type === 'object' || isObject(schema.properties)) return '~'
  if (Array.isArray(type)) return type.filter(one => one !== 'null').join('|')
  return typeof type === 'string' ? type : oneOfTypes(schema)
}

function oneOfTypes({ anyOf, oneOf }: JsonObject): string {
  const [forms = []] = [anyOf, oneOf].filter(Array.isArray)
  const kinds = new Set(forms.map(typeOf).filter(one => one !== 'null'))
  return kinds.size > 0 && kinds.size <= MAX_VALUES ? [...kinds].join('|') : '~'
}

function valuesOf(values: readonly unknown[]): string {
  const shown = values.slice(0, MAX_VALUES).map(value => JSON.stringify(value).slice(0, 40))
  return [...shown, ...(values.length > MAX_VALUES ? ['…'] : [])].join('|')
}

function clipped(text: string, most: number): string {
  if (Buffer.byteLength(text) <= most) return text
  let end = text.length
  while (end > 0 && Buffer.byteLength(text.slice(0, end)) > most - 3) end--
  return `${text.slice(0, end).trimEnd()}…`
}
