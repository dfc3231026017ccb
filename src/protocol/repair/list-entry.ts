import { isObject, type JsonObject } from '../json/json.ts'
import { type Kind, LISTS } from '../methods.ts'
import { withSafeIcons } from '../uri.ts'
import { outputSchemaProblem } from './output-schema.ts'

/** Entry of a list that strict clients can read, and the fields of it that they could not. */
interface RepairedEntry {
  readonly entry: JsonObject
  readonly dropped: readonly string[]
}

/** Returns a value that is right, a repaired one, or undefined if there is none; notes what it drops. */
type Field = (value: unknown, path: string, dropped: string[]) => unknown
type Fields = Readonly<Record<string, Field>>

const text: Field = value => (typeof value === 'string' ? value : undefined)
const bool: Field = value => (typeof value === 'boolean' ? value : undefined)
const number: Field = value => (Number.isFinite(value) ? value : undefined)
const anyObject: Field = value => (isObject(value) ? value : undefined)

function oneOf(...words: readonly unknown[]): Field {
  return value => (words.includes(value) ? value : undefined)
}

function object(fields: Fields): Field {
  return (value, path, dropped) =>
    isObject(value) ? repairMembers(value, fields, `${path}.`, dropped) : undefined
}

/** A list without the elements that cannot be repaired, or that lack what they need. */
function repairElements(field: Field, needed?: string): Field {
  return (value, path, dropped) => {
    if (!Array.isArray(value)) return undefined
    const list = value as unknown[]
    const kept = list.map((element, index) => {
      const repaired = field(element, `${path}[${index}]`, dropped)
      const isKept = needed === undefined || (isObject(repaired) && repaired[needed] !== undefined)
      if (isKept && repaired !== undefined) return repaired
      dropped.push(`${path}[${index}]`)
      return undefined
    })
    return kept.every((element, index) => element === list[index])
      ? list
      : kept.filter(element => element !== undefined)
  }
}

const DATE_TIME =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

const dateTime: Field = value => {
  const date = typeof value === 'string' ? DATE_TIME.exec(value)?.[1] : undefined
  return date !== undefined && new Date(date).toISOString().startsWith(date) ? value : undefined
}

const priority: Field = value => (typeof value === 'number' && value >= 0 && value <= 1 ? value : undefined)

const icons = repairElements(
  object({ src: text, mimeType: text, sizes: repairElements(text), theme: oneOf('light', 'dark') }),
  'src',
)

const COMMON: Fields = { title: text, description: text, icons, _meta: anyObject }

const annotations = object({
  audience: repairElements(oneOf('user', 'assistant')),
  priority,
  lastModified: dateTime,
})

const CONTENT: Fields = { ...COMMON, name: text, mimeType: text, annotations }

/** A property that is no schema says nothing of its values; one that is `false` forbids them. */
const property: Field = (value, path, dropped) => {
  if (isObject(value)) return value
  if (value !== true && value !== false && value !== null) dropped.push(path)
  return value === false ? { not: {} } : {}
}

const properties: Field = (value, path, dropped) => {
  if (!isObject(value)) return undefined
  const repaired = Object.entries(value).map(([name, schema]) => [
    name,
    property(schema, `${path}.${name}`, dropped),
  ])
  return repaired.every(([name, schema]) => value[name as string] === schema)
    ? value
    : Object.fromEntries(repaired)
}

const SCHEMA: Fields = { $schema: text, properties, required: repairElements(text) }

/** Arguments are an object, whatever the schema says or does not say. */
const inputSchema: Field = (value, path, dropped) => {
  const schema = isObject(value) ? repairMembers(value, SCHEMA, `${path}.`, dropped) : undefined
  if (schema === undefined) return undefined
  if (schema.type === 'object') return schema
  if (schema.type !== undefined && schema.type !== null) dropped.push(`${path}.type`)
  return { ...schema, type: 'object' }
}

const outputSchema: Field = (value, path, dropped) => {
  const schema = isObject(value) ? repairMembers(value, SCHEMA, `${path}.`, dropped) : undefined
  return schema !== undefined && outputSchemaProblem(schema) === undefined ? schema : undefined
}

const FIELDS: Readonly<Record<Kind, Fields>> = {
  tools: {
    ...COMMON,
    inputSchema,
    outputSchema,
    annotations: object({
      title: text,
      readOnlyHint: bool,
      destructiveHint: bool,
      idempotentHint: bool,
      openWorldHint: bool,
    }),
    execution: object({ taskSupport: oneOf('required', 'optional', 'forbidden') }),
  },
  prompts: {
    ...COMMON,
    arguments: repairElements(object({ name: text, title: text, description: text, required: bool }), 'name'),
  },
  resources: { ...CONTENT, size: number },
  resourceTemplates: CONTENT,
}

/**
 * Makes an entry of a server's list readable for strict clients: null means absent, and an optional field of a wrong type is
 * dropped. Returns the very same entry if nothing is wrong, and why not if it cannot be repaired.
 */
export function repairEntry(kind: Kind, value: unknown): RepairedEntry | { readonly problem: string } {
  const { key } = LISTS[kind]
  if (!isObject(value)) return { problem: 'it is no object' }
  if (typeof value[key] !== 'string') return { problem: `it has no "${key}"` }
  const dropped: string[] = []
  const entry = withSafeIcons(repairMembers(value, FIELDS[kind], '', dropped))
  return { entry: withNeeded(kind, entry, value[key]), dropped }
}

function withNeeded(kind: Kind, entry: JsonObject, key: string): JsonObject {
  if (kind === 'tools' && entry.inputSchema === undefined)
    return { ...entry, inputSchema: { type: 'object' } }
  return entry.name === undefined ? { ...entry, name: key } : entry
}

/** The object without members that are null, and with the repaired ones; the very same object if all are right. */
function repairMembers(value: JsonObject, fields: Fields, path: string, dropped: string[]): JsonObject {
  let isRepaired = false
  const members = Object.entries(value).flatMap<[string, unknown]>(([key, member]) => {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined
    if (field === undefined) return [[key, member]]
    const kept = member === null ? undefined : field(member, path + key, dropped)
    if (kept === member) return [[key, member]]
    isRepaired = true
    if (kept !== undefined) return [[key, kept]]
    if (member !== null) dropped.push(path + key)
    return []
  })
  return isRepaired ? Object.fromEntries(members) : value
}
