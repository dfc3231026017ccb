import { bytesOf, isObject, type CatalogEntry, type JsonObject } from '../../src/plugin.ts'
import { sentence } from './compact.ts'

/** Tokens that one line of a search may take. */
const MOST_TOKENS = 125
const MOST_VALUES = 4

/**
 * A tool on one line: `create_issue(repo: string, title: string, labels?: string[]) – Create an issue.` Required arguments are
 * always there; what is nested is `~`, and further optional ones are `…`.
 */
export function signature(entry: CatalogEntry): string {
  const { value, exposed } = entry
  const mark = isReadOnly(value) ? ' [reads only]' : ''
  const text = typeof value.description === 'string' ? sentence(value.description) : ''
  const most = bytesOf(MOST_TOKENS) - Buffer.byteLength(mark)
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
  return kinds.size > 0 && kinds.size <= MOST_VALUES ? [...kinds].join('|') : '~'
}

function valuesOf(values: readonly unknown[]): string {
  const shown = values.slice(0, MOST_VALUES).map(value => JSON.stringify(value).slice(0, 40))
  return [...shown, ...(values.length > MOST_VALUES ? ['…'] : [])].join('|')
}

function clipped(text: string, most: number): string {
  if (Buffer.byteLength(text) <= most) return text
  let end = text.length
  while (end > 0 && Buffer.byteLength(text.slice(0, end)) > most - 3) end--
  return `${text.slice(0, end).trimEnd()}…`
}
