import { isObject, type CatalogEntry, type JsonObject } from '../../../src/plugin.ts'

const DEEPEST = 4
const MOST_PROPERTIES = 60
const PLAIN = /^[A-Za-z_$][\w$]*$/

/** A tool as TypeScript: what a script calls, with its types and texts. */
export function stubOf({ exposed, value }: CatalogEntry): string {
  const { description, inputSchema, outputSchema } = value
  const place = PLAIN.test(exposed) ? `tools.${exposed}` : `tools[${JSON.stringify(exposed)}]`
  const result = outputSchema === undefined ? 'any' : typeOf(outputSchema, 0)
  const text = typeof description === 'string' ? `${commentOf(description)}\n` : ''
  return `${text}${place}(args: ${typeOf(inputSchema, 0)}): Promise<${result}>`
}

function typeOf(schema: unknown, depth: number): string {
  if (!isObject(schema) || depth > DEEPEST) return 'any'
  const values = schema.const === undefined ? schema.enum : [schema.const]
  if (Array.isArray(values)) return union(values.map(value => JSON.stringify(value)))
  const forms: readonly unknown[] | undefined = [schema.anyOf, schema.oneOf].find(Array.isArray)
  if (forms !== undefined) return union(forms.map(form => typeOf(form, depth + 1)))
  const { type, properties } = schema
  const types: readonly unknown[] = Array.isArray(type)
    ? type
    : [type ?? (isObject(properties) ? 'object' : undefined)]
  return union(types.map(one => typeNamed(one, schema, depth)))
}

function typeNamed(type: unknown, schema: JsonObject, depth: number): string {
  if (type === 'array') return `(${typeOf(schema.items, depth + 1)})[]`
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
  const members = properties.slice(0, MOST_PROPERTIES).map(([name, property]) => {
    const { description } = isObject(property) ? property : {}
    const text = typeof description === 'string' ? `${commentOf(description)} ` : ''
    const key = PLAIN.test(name) ? name : JSON.stringify(name)
    return `${text}${key}${required.includes(name) ? '' : '?'}: ${typeOf(property, depth + 1)}`
  })
  return `{ ${members.join('; ')} }`
}

/** A comment that no text of a server ends. */
function commentOf(text: string): string {
  return `/** ${text.replace(/\s+/g, ' ').replaceAll('*/', '* /').trim()} */`
}
