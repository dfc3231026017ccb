import { html } from 'htm/preact'
import type { Json } from '../../types.ts'
import type { View } from '../parts.ts'

/** Texts of fields by the names of their properties. */
export type Values = Readonly<Record<string, string>>

interface Property {
  readonly name: string
  readonly type: string
  readonly title: string
  readonly description: string
  readonly options: readonly unknown[] | undefined
  readonly usual: unknown
  readonly isRequired: boolean
}

/** Name of the one field where a schema names no properties. */
const WHOLE = ''

/** Fields that a JSON Schema asks for. What has no simple type is written as JSON. */
export function Form({
  schema,
  values,
  change,
}: {
  schema: Json | undefined
  values: Values
  change: (values: Values) => void
}): View {
  const properties = propertiesOf(schema)
  if (properties.length === 0 && schema?.properties !== undefined)
    return html`<p class="soft">It takes no arguments.</p>`
  const set = (name: string, text: string): void => change({ ...values, [name]: text })
  return html`${properties.map(property => html`<${Row} of=${property} value=${values[property.name]} set=${set} key=${property.name} />`)}`
}

function Row({
  of,
  value,
  set,
}: {
  of: Property
  value: string | undefined
  set: (name: string, text: string) => void
}): View {
  const { name, title, description, isRequired } = of
  return html`<label class="field wide"
    ><span>${title}${isRequired ? ' *' : ''} <small>${of.type}</small></span>
    <${Input} of=${of} value=${value ?? textOf(of.usual)} set=${(text: string) => set(name, text)} />
    ${description === '' ? null : html`<small>${description}</small>`}</label
  >`
}

function Input({ of, value, set }: { of: Property; value: string; set: (text: string) => void }): View {
  const heard = (event: { currentTarget: { value: string } }): void => set(event.currentTarget.value)
  const options = of.options ?? (of.type === 'boolean' ? [true, false] : undefined)
  if (options !== undefined)
    return html`<select onChange=${heard} required=${of.isRequired}>
      <option value="" selected=${value === ''}></option>
      ${options.map(option => html`<option value=${textOf(option)} selected=${textOf(option) === value}>${textOf(option)}</option>`)}
    </select>`
  if (SIMPLE.has(of.type))
    return html`<input
      type=${of.type === 'string' ? 'text' : 'number'}
      step=${of.type === 'integer' ? 1 : 'any'}
      value=${value}
      required=${of.isRequired && of.type !== 'string'}
      autocomplete="off"
      onInput=${heard}
    />`
  return html`<textarea
    rows="3"
    spellcheck="false"
    placeholder="JSON"
    value=${value}
    onInput=${heard}
  ></textarea>`
}

const SIMPLE: ReadonlySet<string> = new Set(['string', 'number', 'integer'])

function propertiesOf(schema: Json | undefined): Property[] {
  const { properties, required } = schema ?? {}
  if (typeof properties !== 'object' || properties === null)
    return [
      {
        name: WHOLE,
        type: 'object',
        title: 'Arguments',
        description: '',
        options: undefined,
        usual: undefined,
        isRequired: false,
      },
    ]
  const needed = new Set(Array.isArray(required) ? (required as unknown[]) : [])
  return Object.entries(properties as Record<string, unknown>).map(([name, value]) => {
    const one = (typeof value === 'object' && value !== null ? value : {}) as Json
    return {
      name,
      type: typeof one.type === 'string' ? one.type : 'JSON',
      title: typeof one.title === 'string' ? `${one.title} (${name})` : name,
      description: typeof one.description === 'string' ? one.description : '',
      options: Array.isArray(one.enum) ? one.enum : undefined,
      usual: one.default,
      isRequired: needed.has(name),
    }
  })
}

/** The values of a form as its schema wants them, or what is wrong. */
export function filledIn(schema: Json | undefined, values: Values): Json | string {
  const found: Record<string, unknown> = {}
  for (const property of propertiesOf(schema)) {
    const text = values[property.name] ?? textOf(property.usual)
    if (text === '' && !(property.isRequired && property.type === 'string')) continue
    const value = valueOf(property, text)
    if (value === undefined) return `"${property.title}" is no ${property.type}`
    if (property.name !== WHOLE) found[property.name] = value
    else if (typeof value === 'object') Object.assign(found, value)
  }
  return found
}

/** Undefined where the text does not say such a value. */
function valueOf({ type, options }: Property, text: string): unknown {
  const option = options?.find(one => textOf(one) === text)
  if (option !== undefined) return option
  if (type === 'string') return text
  try {
    return JSON.parse(text) as unknown
  } catch {
    return type === 'JSON' ? text : undefined
  }
}

function textOf(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
