import type { Json } from '../types.ts'

/** One plain value that a JSON Schema asks for. */
export interface Field {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly isRequired: boolean
  /** Default of the schema. */
  readonly usual: unknown
  readonly type: string
  /** All values that it may have, with their titles. */
  readonly options?: readonly (readonly [value: unknown, title: string])[]
  /** Attributes of its control; without a `type` it is a text of several lines. */
  readonly attributes: Json
}

/** Texts of the fields of a form by name, and all other members as one JSON text. */
export interface Values {
  readonly fields: Readonly<Record<string, string>>
  readonly json?: string
}

export const NO_VALUES: Values = { fields: {} }

/**
 * The values of a form.
 * @throws Error if they are not what the schema asks for
 */
export function readForm(schema: Json | undefined, values: Values): Json {
  const { fields, others } = fieldsOf(schema)
  const read = fields.flatMap(field => {
    const value = valueOf(field, textOf(field, values))
    return value === undefined ? [] : [[field.name, value] as const]
  })
  const json = others?.length === 0 ? '' : (values.json ?? defaultJson(schema, others))
  return { ...Object.fromEntries(read), ...parseObject(json) }
}

/** Undefined for a field that is left empty. Only a text may be empty and required. */
function valueOf({ title, isRequired, options, type, attributes }: Field, text: string): unknown {
  const option = options?.find(([value]) => written(value) === text)
  if (option !== undefined) return option[0]
  if (text === '' && !isRequired) return undefined
  const isMissing = text === '' && (type !== 'string' || 'minLength' in attributes)
  if (isMissing || options !== undefined) throw new Error(`“${title}” is needed`)
  return type === 'string' ? text : numberIn(text.trim(), title, type === 'integer')
}

function numberIn(text: string, title: string, isWhole: boolean): unknown {
  const number = Number(text)
  if (text === '' || !Number.isFinite(number) || (isWhole && !Number.isInteger(number)))
    throw new Error(`“${title}” is no ${isWhole ? 'whole number' : 'number'}: ${text}`)
  return exact(number, text)
}

function parseObject(text: string): Json {
  if (text.trim() === '') return {}
  const parse = JSON.parse as (text: string, reviver: Reviver) => unknown
  try {
    const value = parse(text, (_, member, context) => exact(member, context?.source))
    if (isObject(value) && isObject(JSON.parse(text))) return value
  } catch {
    // Reported below.
  }
  throw new Error('the arguments are no JSON object')
}

type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown

/** A number that is sent with the digits that were typed, such as 2^53+1, by browsers that can (all since 2025). */
function exact(value: unknown, source: string | undefined): unknown {
  const { rawJSON } = JSON as { readonly rawJSON?: (text: string) => object }
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value
  return rawJSON !== undefined && /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(source)
    ? rawJSON(source)
    : value
}

/** Fields of the plain values of a schema, and the names of its other members; undefined if any may be there. */
export function fieldsOf(schema: unknown): {
  fields: readonly Field[]
  others: readonly string[] | undefined
} {
  const { properties, required, type } = isObject(schema) ? schema : {}
  if (!isObject(properties)) return { fields: [], others: type === 'object' ? [] : undefined }
  const fields: Field[] = []
  const others: string[] = []
  for (const [name, property] of Object.entries(properties)) {
    const field = fieldOf(name, property, Array.isArray(required) && required.includes(name))
    if (field === undefined) others.push(name)
    else fields.push(field)
  }
  return { fields, others }
}

const PLAIN: readonly unknown[] = ['string', 'number', 'integer']

function fieldOf(name: string, property: unknown, isRequired: boolean): Field | undefined {
  const schema = withoutNull(property)
  const options = optionsOf(schema)
  const isPlain = PLAIN.includes(schema.type) && !['oneOf', 'anyOf', '$ref'].some(key => key in schema)
  if (options === undefined && !isPlain) return undefined
  const { title, description, default: usual } = property as Json
  return {
    ...{ name, isRequired, usual: 'const' in schema ? schema.const : usual },
    title: textOr(title, '') || name,
    description: textOr(description, ''),
    type: textOr(schema.type, 'string'),
    ...(options === undefined ? {} : { options }),
    attributes: schema.type === 'string' ? textAttributes(schema) : numberAttributes(schema),
  }
}

function textOr(value: unknown, other: string): string {
  return typeof value === 'string' ? value : other
}

/** The schema of a value that may be null, as that of the value. */
function withoutNull(schema: unknown): Json {
  if (!isObject(schema)) return {}
  const { anyOf, type } = schema
  const [only, ...more] = Array.isArray(anyOf) ? (anyOf as Json[]).filter(one => one?.type !== 'null') : []
  if (isObject(only) && more.length === 0) return only
  const types = Array.isArray(type) ? type.filter(one => one !== 'null') : []
  return types.length === 1 ? { ...schema, type: types[0] as unknown } : schema
}

/** Values that a schema lists, with their titles. */
function optionsOf(schema: Json): Field['options'] {
  const { enum: values, enumNames, oneOf, type } = schema
  if ('const' in schema) return [[schema.const, written(schema.const)]]
  if (Array.isArray(values)) {
    const names = Array.isArray(enumNames) ? (enumNames as unknown[]) : []
    return values.map((value: unknown, at) => [value, String(names[at] ?? written(value))])
  }
  if (Array.isArray(oneOf) && oneOf.length > 0 && oneOf.every(one => isObject(one) && 'const' in one))
    return (oneOf as Json[]).map(one => [one.const, String(one.title ?? written(one.const))])
  return type === 'boolean' ? [true, false].map(value => [value, String(value)]) : undefined
}

/** Controls that browsers have for a format. A date with a time has none: theirs leave the zone out. */
const INPUTS: Json = { date: 'date', email: 'email', uri: 'url' }
const EXAMPLES: Json = { 'date-time': '2026-11-23T10:00:00Z', time: '10:00:00Z', duration: 'P1DT2H' }
/** Longer texts may have several lines. */
const MAX_LINE = 120

function textAttributes({ format, pattern, minLength, maxLength }: Json): Json {
  const isLine = typeof pattern === 'string' || (typeof maxLength === 'number' && maxLength <= MAX_LINE)
  if (typeof format !== 'string') return defined({ type: isLine ? 'text' : undefined, minLength, maxLength })
  return defined({ type: INPUTS[format] ?? 'text', placeholder: EXAMPLES[format], minLength, maxLength })
}

function numberAttributes({ type, minimum: min, maximum: max, multipleOf }: Json): Json {
  return defined({ type: 'number', min, max, step: multipleOf ?? (type === 'integer' ? 1 : 'any') })
}

/** Attributes that a browser can take. */
function defined(all: Json): Json {
  return Object.fromEntries(
    Object.entries(all).filter(([, value]) => ['string', 'number'].includes(typeof value)),
  )
}

/** The text in a field: the typed one, or the default. */
export function textOf({ name, usual }: Field, { fields }: Values): string {
  return Object.hasOwn(fields, name) ? (fields[name] ?? '') : written(usual)
}

/** The defaults of members that have no field. */
export function defaultJson(schema: unknown, others: readonly string[] = []): string {
  const { properties } = isObject(schema) ? schema : {}
  const usual = others.flatMap(name => {
    const property = isObject(properties) ? properties[name] : undefined
    return isObject(property) && 'default' in property ? [[name, property.default] as const] : []
  })
  return usual.length === 0 ? '' : JSON.stringify(Object.fromEntries(usual), undefined, 2)
}

export function written(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
