import type { Json } from '../../types.ts'

/** A value that a form asks for, by the schema that says so. */
export interface Field {
  /** Place in the arguments, as a JSON pointer; the key of its text. */
  readonly path: string
  /** Name of the member; empty for a whole. */
  readonly name: string
  readonly title: string
  readonly description: string
  /** Kind in a word, for people. */
  readonly says: string
  readonly isRequired: boolean
  /** Default of the schema. */
  readonly usual: unknown
  readonly kind: Kind
}

export interface Option {
  readonly value: unknown
  readonly title: string
}

/** A way to ask for a value. */
export type Kind =
  /** A text; `input` is the type of the control, none for one of many lines. */
  | { readonly is: 'text'; readonly input: string | undefined; readonly limits: Limits }
  | { readonly is: 'number'; readonly isWhole: boolean; readonly limits: Limits }
  /** One of a few, or several of them. */
  | { readonly is: 'choice'; readonly options: readonly Option[]; readonly isMany: boolean }
  /** Texts or numbers, one a line. */
  | { readonly is: 'lines'; readonly isNumber: boolean }
  | { readonly is: 'group'; readonly fields: readonly Field[] }
  /** One of several forms. */
  | { readonly is: 'variants'; readonly variants: readonly Field[] }
  | { readonly is: 'json' }

/** Bounds as the browser checks them. */
export type Limits = Readonly<Record<string, string | number>>

/** Controls that browsers have for a format. A date with a time has none: theirs leave the zone out. */
const INPUTS: Readonly<Record<string, string>> = { date: 'date', email: 'email', uri: 'url', url: 'url' }

const SHAPES: Readonly<Record<string, string>> = {
  'date-time': '2026-11-23T10:00:00Z',
  time: '10:00:00Z',
  duration: 'P1DT2H',
  uuid: '00000000-0000-4000-8000-000000000000',
}

/** Deeper schemas, such as those that name themselves, are written as JSON. */
const DEEPEST = 5
/** A schema that a server made to be endless ends here; what is left is written as JSON. */
const MOST_PARTS = 2000

/** The field of a whole schema. */
export function fieldOf(schema: unknown): Field {
  return new Reader(isObject(schema) ? schema : {}).field(
    schema,
    { path: '', name: '', isRequired: false },
    0,
  )
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

interface Place {
  readonly path: string
  readonly name: string
  readonly isRequired: boolean
}

/** Reads a schema with what it refers to. */
class Reader {
  readonly #root: Json
  #parts = 0

  constructor(root: Json) {
    this.#root = root
  }

  field(given: unknown, place: Place, depth: number): Field {
    const schema = this.#whole(given, depth)
    const kind = this.#kind(schema, place, depth)
    const { title, description } = schema
    const named = typeof title === 'string' && title !== '' ? title : ''
    return {
      ...place,
      title: named || place.name || 'Arguments',
      description: typeof description === 'string' ? description : '',
      says: saidOf(schema, kind),
      usual: 'const' in schema ? schema.const : schema.default,
      kind,
    }
  }

  #kind(schema: Json, place: Place, depth: number): Kind {
    const options = optionsOf(schema)
    if (options !== undefined) return { is: 'choice', options, isMany: false }
    if (depth > DEEPEST || this.#parts > MOST_PARTS) return { is: 'json' }
    const variants = listIn(schema.oneOf) ?? listIn(schema.anyOf)
    if (variants !== undefined) return this.#variants(schema, variants, place, depth)
    const simple = simpleKind(schema)
    if (simple !== undefined) return simple
    if (typeOf(schema) === 'array') return this.#list(schema, depth)
    if (isObject(schema.properties)) return { is: 'group', fields: this.#members(schema, place.path, depth) }
    return { is: 'json' }
  }

  #members({ properties, required }: Json, path: string, depth: number): Field[] {
    const needed = new Set<unknown>(Array.isArray(required) ? required : [])
    return Object.entries(isObject(properties) ? properties : {}).map(([name, one]) =>
      this.field(one, { path: `${path}/${escaped(name)}`, name, isRequired: needed.has(name) }, depth + 1),
    )
  }

  /** Properties beside `oneOf` belong to each variant. */
  #variants(
    { oneOf: _one, anyOf: _any, ...shared }: Json,
    all: readonly unknown[],
    place: Place,
    depth: number,
  ): Kind {
    const real = all.filter(one => !(isObject(one) && one.type === 'null'))
    const [only] = real
    if (real.length === 1) return this.#kind(merged([shared, this.#whole(only, depth)]), place, depth + 1)
    const variants = real.map((one, at) => {
      const { title, description: _description, ...rest } = merged([shared, this.#whole(one, depth)])
      const named = typeof title === 'string' && title !== shared.title ? title : undefined
      const field = this.field(rest, { ...place, path: `${place.path}/${at}~` }, depth + 1)
      return { ...field, title: named ?? variantTitle(field, at) }
    })
    return { is: 'variants', variants }
  }

  #list({ items, uniqueItems }: Json, depth: number): Kind {
    const each = this.#whole(items, depth)
    const options = optionsOf(each)
    if (options !== undefined && uniqueItems !== false) return { is: 'choice', options, isMany: true }
    const type = typeOf(each)
    if (type === 'string' && each.oneOf === undefined) return { is: 'lines', isNumber: false }
    return type === 'number' || type === 'integer' ? { is: 'lines', isNumber: true } : { is: 'json' }
  }

  /** A schema with what it refers to, and with all parts of `allOf`. */
  #whole(given: unknown, depth: number): Json {
    if (!isObject(given) || ++this.#parts > MOST_PARTS) return {}
    const { $ref, allOf, ...own } = given
    const parts =
      Array.isArray(allOf) && depth <= DEEPEST ? allOf.map(one => this.#whole(one, depth + 1)) : []
    const meant = typeof $ref === 'string' && depth <= DEEPEST ? this.#whole(this.#at($ref), depth + 1) : {}
    return merged([meant, ...parts, own])
  }

  #at(reference: string): unknown {
    if (!reference.startsWith('#/')) return undefined
    const names = reference.slice(2).split('/').map(unescaped)
    return names.reduce<unknown>(
      (at, name) => (isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined),
      this.#root,
    )
  }
}

function merged(parts: readonly Json[]): Json {
  const [first = {}, ...others] = parts
  return others.reduce<Json>((sum, one) => {
    const properties = {
      ...(isObject(sum.properties) ? sum.properties : {}),
      ...(isObject(one.properties) ? one.properties : {}),
    }
    const required = [sum.required, one.required].flatMap(names =>
      Array.isArray(names) ? (names as unknown[]) : [],
    )
    return {
      ...sum,
      ...one,
      ...(Object.keys(properties).length === 0 ? {} : { properties }),
      ...(required.length === 0 ? {} : { required }),
    }
  }, first)
}

function simpleKind(schema: Json): Kind | undefined {
  const type = typeOf(schema)
  const limits = limitsOf(schema)
  if (type === 'string') return { is: 'text', input: inputOf(schema), limits }
  if (type !== 'number' && type !== 'integer') return undefined
  return { is: 'number', isWhole: type === 'integer', limits }
}

/** Values that a schema names one by one, with their titles. */
function optionsOf(schema: Json): readonly Option[] | undefined {
  if ('const' in schema) return [{ value: schema.const, title: textOf(schema.const) }]
  const { enum: values, enumNames } = schema
  if (Array.isArray(values)) {
    const names = Array.isArray(enumNames) ? (enumNames as unknown[]) : []
    return values.map((value: unknown, at) => ({ value, title: String(names[at] ?? textOf(value)) }))
  }
  const titled = listIn(schema.oneOf) ?? listIn(schema.anyOf)
  if (titled?.every(one => isObject(one) && 'const' in one) === true)
    return (titled as Json[]).map(one => ({
      value: one.const,
      title: String(one.title ?? textOf(one.const)),
    }))
  return typeOf(schema) === 'boolean'
    ? [true, false].map(value => ({ value, title: String(value) }))
    : undefined
}

function listIn(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) && value.length > 0 ? (value as unknown[]) : undefined
}

/** The type that is no null; of what names its members it is clear. */
function typeOf({ type, properties, items }: Json): string | undefined {
  const types = (Array.isArray(type) ? (type as unknown[]) : [type]).filter(one => one !== 'null')
  if (types.length === 1 && typeof types[0] === 'string') return types[0]
  if (types.length > 1 || type !== undefined) return undefined
  return properties !== undefined ? 'object' : items !== undefined ? 'array' : undefined
}

/** Texts of many lines are what most tools take; one that is of a form, or short, has one line. */
const SHORT = 120

function inputOf({ format, pattern, maxLength }: Json): string | undefined {
  if (typeof format === 'string') return INPUTS[format] ?? 'text'
  return typeof pattern === 'string' || (typeof maxLength === 'number' && maxLength <= SHORT)
    ? 'text'
    : undefined
}

function limitsOf(schema: Json): Limits {
  const { minimum, maximum, minLength, maxLength, multipleOf, format } = schema
  const shape = typeof format === 'string' ? SHAPES[format] : undefined
  const all = { min: minimum, max: maximum, minLength, maxLength, step: multipleOf, placeholder: shape }
  const given = Object.entries(all).filter(
    ([, value]) => typeof value === 'number' || typeof value === 'string',
  )
  return Object.fromEntries(given) as Limits
}

function saidOf(schema: Json, kind: Kind): string {
  const type = typeOf(schema)
  if (kind.is === 'lines') return 'one a line'
  if (kind.is === 'variants') return 'one of these'
  if (kind.is === 'choice' && kind.isMany) return 'any of these'
  const { format } = schema
  if (type === 'string' && typeof format === 'string') return format
  return type ?? (kind.is === 'group' ? 'object' : 'JSON')
}

function variantTitle({ says, kind }: Field, at: number): string {
  if (kind.is !== 'group') return says
  const fixed = kind.fields.find(one => one.kind.is === 'choice' && one.kind.options.length === 1)
  if (fixed !== undefined) return `${fixed.name}: ${textOf(fixed.usual)}`
  const names = kind.fields.map(({ name }) => name).join(', ')
  return names === '' ? `Form ${at + 1}` : names
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

function unescaped(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** A value as it stands in a field. */
export function textOf(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
