import { isObject, type JsonObject } from '../json/json.ts'

/** The first version with titles of choices beside their values, and with fields of which many may be chosen. */
export const FORMS_SINCE = '2025-11-25'

/** A form for an older client, and the way back for what is filled in. */
interface FittedForm {
  readonly params: JsonObject
  read(content: JsonObject): JsonObject
}

interface Option {
  readonly value: string
  readonly title: string | undefined
}

/** A field of which many may be chosen, as one switch for each choice. */
interface Switches {
  readonly key: string
  readonly names: ReadonlyMap<string, Option>
}

/** A form as clients of 2025-06-18 know them: titles of choices stand in `enumNames`, and a list of choices is switches. */
export function formFor(params: JsonObject): FittedForm {
  const { mode: _mode, requestedSchema, ...rest } = params
  if (!isObject(requestedSchema) || !isObject(requestedSchema.properties))
    return { params, read: content => content }
  const all = new Map(Object.entries(requestedSchema.properties))
  const lists: Switches[] = []
  const properties = [...all].flatMap(([key, schema]) => {
    const options = manyOf(schema)
    if (options === undefined) return [[key, oneFor(schema)] as const]
    const list = switchesOf(key, options, all)
    lists.push(list)
    return fieldsOf(list, schema as JsonObject)
  })
  const schema = { ...requestedSchema, properties: Object.fromEntries(properties) }
  const required = requiredOf(requestedSchema, lists)
  return {
    params: { ...rest, requestedSchema: required === undefined ? schema : { ...schema, required } },
    read: content => contentOf(content, lists),
  }
}

/** A choice of one, with its titles where older clients look for them. */
function oneFor(schema: unknown): unknown {
  if (!isObject(schema)) return schema
  const { oneOf, ...rest } = schema
  const options = optionsIn(oneOf)
  return options === undefined ? schema : { ...rest, ...choiceOf(options) }
}

function choiceOf(options: readonly Option[]): JsonObject {
  return {
    type: 'string',
    enum: options.map(({ value }) => value),
    enumNames: options.map(({ value, title }) => title ?? value),
  }
}

function manyOf(schema: unknown): readonly Option[] | undefined {
  if (!isObject(schema) || schema.type !== 'array' || !isObject(schema.items)) return undefined
  const { enum: values, anyOf, oneOf } = schema.items
  if (Array.isArray(values))
    return values.filter(value => typeof value === 'string').map(value => ({ value, title: undefined }))
  return optionsIn(anyOf) ?? optionsIn(oneOf)
}

function optionsIn(alternatives: unknown): readonly Option[] | undefined {
  if (!Array.isArray(alternatives)) return undefined
  const options = alternatives.flatMap((alternative: unknown) =>
    isObject(alternative) && typeof alternative.const === 'string'
      ? [{ value: alternative.const, title: textOr(alternative.title) }]
      : [],
  )
  return options.length === alternatives.length ? options : undefined
}

function textOr(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Names for the switches that no other field has. */
function switchesOf(key: string, options: readonly Option[], taken: ReadonlyMap<string, unknown>): Switches {
  let stem = key
  while (options.some((_option, index) => taken.has(`${stem}.${index + 1}`))) stem += '_'
  return { key, names: new Map(options.map((option, index) => [`${stem}.${index + 1}`, option])) }
}

function fieldsOf({ key, names }: Switches, schema: JsonObject): (readonly [string, JsonObject])[] {
  const label = textOr(schema.title) ?? key
  const chosen: unknown[] = Array.isArray(schema.default) ? schema.default : []
  const about = typeof schema.description === 'string' ? { description: schema.description } : {}
  return [...names].map(([name, { value, title }]) => [
    name,
    { type: 'boolean', title: `${label}: ${title ?? value}`, ...about, default: chosen.includes(value) },
  ])
}

function requiredOf({ required }: JsonObject, lists: readonly Switches[]): unknown {
  if (!Array.isArray(required)) return required
  return required.filter(name => lists.every(({ key }) => key !== name))
}

/** What was switched on, as the lists that the server asked for. */
function contentOf(content: JsonObject, lists: readonly Switches[]): JsonObject {
  const given = new Map(Object.entries(content))
  for (const { key, names } of lists) {
    const isFilled = [...names.keys()].some(name => given.has(name))
    const chosen = [...names].filter(([name]) => given.get(name) === true).map(([, { value }]) => value)
    for (const name of names.keys()) given.delete(name)
    if (isFilled) given.set(key, chosen)
  }
  return Object.fromEntries(given)
}
