import type { Json } from '../types.ts'

/** Form field for a primitive value in a JSON Schema. */
export interface Field {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly isRequired: boolean
  /** Default in the schema. */
  readonly usual: unknown
  readonly type: string
  /** Allowed values with titles. */
  readonly options?: readonly (readonly [value: unknown, title: string])[]
}

/** Field texts by name, and all other members as JSON text. */
export interface FormValues {
  readonly fields: Readonly<Record<string, string>>
  readonly json?: string
}

export const NO_VALUES: FormValues = { fields: {} }

/**
 * Parses the form values.
 * @throws Error if they do not match the schema
 */
export function readForm(schema: Json | undefined, values: FormValues): Json {
  const { fields, otherNames } = listFields(schema)
  const read = fields.flatMap(field => {
    const value = parseFieldValue(field, getFieldText(field, values))
    return value === undefined ? [] : [[field.name, value] as const]
  })
  const json = otherNames?.length === 0 ? '' : (values.json ?? defaultJson(schema, otherNames))
  return { ...Object.fromEntries(read), ...parseJsonObject(json) }
}

/** Undefined for an empty optional field. Only a string may be empty and required. */
function parseFieldValue({ title, isRequired, options, type }: Field, text: string): unknown {
  const option = options?.find(([value]) => formatValue(value) === text)
  if (option !== undefined) return option[0]
  if (text === '' && !isRequired) return undefined
  if ((text === '' && type !== 'string') || options !== undefined) throw new Error(`“${title}” is required`)
  return type === 'string' ? text : parseNumber(text.trim(), title, type === 'integer')
}

function parseNumber(text: string, title: string, isWhole: boolean): number {
  const number = Number(text)
  if (text === '' || !Number.isFinite(number) || (isWhole && !Number.isInteger(number)))
    throw new Error(`“${title}” is not ${isWhole ? 'an integer' : 'a number'}: ${text}`)
  return number
}

function parseJsonObject(text: string): Json {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch {
    // Reported below.
  }
  throw new Error('the arguments are not a JSON object')
}

/** Fields for primitive members, and names of the others; undefined if any member is allowed. */
export function listFields(schema: unknown): {
  fields: readonly Field[]
  otherNames: readonly string[] | undefined
} {
  const { properties, required, type } = isObject(schema) ? schema : {}
  if (!isObject(properties)) return { fields: [], otherNames: type === 'object' ? [] : undefined }
  const fields: Field[] = []
  const otherNames: string[] = []
  for (const [name, property] of Object.entries(properties)) {
    const field = createField(name, property, Array.isArray(required) && required.includes(name))
    if (field === undefined) otherNames.push(name)
    else fields.push(field)
  }
  return { fields, otherNames }
}

const PLAIN_TYPES: readonly unknown[] = ['string', 'number', 'integer']

function createField(name: string, property: unknown, isRequired: boolean): Field | undefined {
  const schema = unwrapNullable(property)
  const options = listOptions(schema)
  const isPlain = PLAIN_TYPES.includes(schema.type) && !['oneOf', 'anyOf', '$ref'].some(key => key in schema)
  if (options === undefined && !isPlain) return undefined
  const { title, description, default: usual } = property as Json
  return {
    ...{ name, isRequired, usual: 'const' in schema ? schema.const : usual },
    title: stringOr(title, '') || name,
    description: stringOr(description, ''),
    type: stringOr(schema.type, 'string'),
    ...(options === undefined ? {} : { options }),
  }
}

function stringOr(value: unknown, fallback: string): string {
  return typeof value === 'string' ? value : fallback
}

/** Unwraps a nullable schema. */
function unwrapNullable(schema: unknown): Json {
  if (!isObject(schema)) return {}
  const { anyOf, type } = schema
  const [only, ...more] = Array.isArray(anyOf) ? (anyOf as Json[]).filter(one => one?.type !== 'null') : []
  if (isObject(only) && more.length === 0) return only
  const types = Array.isArray(type) ? type.filter(one => one !== 'null') : []
  return types.length === 1 ? { ...schema, type: types[0] as unknown } : schema
}

/** Lists allowed values with titles. */
function listOptions(schema: Json): Field['options'] {
  const { enum: values, enumNames, oneOf, type } = schema
  if ('const' in schema) return [[schema.const, formatValue(schema.const)]]
  if (Array.isArray(values)) {
    const names = Array.isArray(enumNames) ? (enumNames as unknown[]) : []
    return values.map((value: unknown, at) => [value, String(names[at] ?? formatValue(value))])
  }
  if (Array.isArray(oneOf) && oneOf.length > 0 && oneOf.every(one => isObject(one) && 'const' in one))
    return (oneOf as Json[]).map(one => [one.const, String(one.title ?? formatValue(one.const))])
  return type === 'boolean' ? [true, false].map(value => [value, String(value)]) : undefined
}

/** Text in a field: the typed one, or the default. */
export function getFieldText({ name, usual }: Field, { fields }: FormValues): string {
  return Object.hasOwn(fields, name) ? (fields[name] ?? '') : formatValue(usual)
}

/** Defaults of members without a field. */
export function defaultJson(schema: unknown, otherNames: readonly string[] = []): string {
  const { properties } = isObject(schema) ? schema : {}
  const usual = otherNames.flatMap(name => {
    const property = isObject(properties) ? properties[name] : undefined
    return isObject(property) && 'default' in property ? [[name, property.default] as const] : []
  })
  return usual.length === 0 ? '' : JSON.stringify(Object.fromEntries(usual), undefined, 2)
}

export function formatValue(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
