import type { CatalogEntry, JsonObject } from '../../../src/plugin.ts'
import { isObject } from '../../../src/plugin.ts'

/** A tool as it is searched for: texts by where they stand. */
export interface ToolText {
  readonly id: number
  readonly name: string
  readonly server: string
  readonly title: string
  /** The first sentence of its description. */
  readonly lead: string
  readonly rest: string
  readonly args: string
  readonly values: string
}

/** Most characters of a description that are searched: the end of a long one finds nothing, and costs as much as its beginning. */
const MAX_COUNT = 1200
/** Most characters behind its first sentence, and of the names of arguments. The texts of arguments find nothing that the rest does not. */
const MAX_REMAINING = 200
const MAX_NAMES = 600
const MAX_VALUES = 50
const MAX_DEPTH = 4

/** The texts of a tool. */
export function toolText(entry: CatalogEntry, id: number): ToolText {
  const { value, exposed, upstream } = entry
  const texts: SchemaTexts = { names: [], values: [] }
  readSchema(value.inputSchema, texts, 0)
  const description = text(value.description)
  const lead = firstSentence(description)
  return {
    id,
    name: exposed,
    server: upstream,
    title: titleOf(value),
    lead,
    rest: description.slice(lead.length, lead.length + MAX_REMAINING),
    args: bounded(texts.names),
    values: bounded(texts.values),
  }
}

/** The first sentence of a text, on one line. */
export function firstSentence(whole: string): string {
  const start = whole.trimStart()
  const [line = ''] = start.split(/\n\s*\n|\r|\n(?=\s*(?:Args|Parameters|Returns|Example|[-*#]))/, 1)
  const end = /[.!?](?=\s|$)|[。！？]/u.exec(line)
  return end === null ? line : line.slice(0, end.index + end[0].length)
}

function titleOf(value: JsonObject): string {
  const { title, annotations } = value
  return typeof title === 'string' ? title : text(isObject(annotations) ? annotations.title : undefined)
}

interface SchemaTexts {
  readonly names: string[]
  readonly values: string[]
}

function readSchema(schema: unknown, into: SchemaTexts, depth: number): void {
  if (!isObject(schema) || depth > MAX_DEPTH) return
  const { properties, items, enum: values } = schema
  if (isObject(properties))
    for (const [name, property] of Object.entries(properties)) {
      into.names.push(name)
      if (!isObject(property)) continue
      readSchema(property, into, depth + 1)
    }
  if (Array.isArray(values))
    for (const value of values.slice(0, MAX_VALUES)) if (typeof value === 'string') into.values.push(value)
  readSchema(items, into, depth + 1)
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, MAX_COUNT) : ''
}

function bounded(texts: readonly string[]): string {
  return texts.join(' ').slice(0, MAX_NAMES)
}
