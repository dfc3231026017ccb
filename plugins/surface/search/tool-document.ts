import type { CatalogEntry, JsonObject } from '../../../src/plugin.ts'
import { isObject } from '../../../src/plugin.ts'

/** Searchable tool fields. */
export interface ToolDocument {
  readonly id: number
  readonly name: string
  readonly server: string
  readonly title: string
  /** The description's first sentence. */
  readonly lead: string
  readonly rest: string
  readonly args: string
  readonly values: string
}

/** Maximum description characters; the end of a long one adds cost but no results. */
const MAX_TEXT_LENGTH = 1200
/** Maximum characters after the first sentence, and of argument names. Argument descriptions add no results. */
const MAX_REST_LENGTH = 200
const MAX_JOINED_LENGTH = 600
const MAX_VALUES = 50
const MAX_DEPTH = 4

export function createToolDocument(entry: CatalogEntry, id: number): ToolDocument {
  const { value, exposed, upstream } = entry
  const texts: CollectedTexts = { names: [], values: [] }
  collectSchemaTexts(value.inputSchema, texts, 0)
  const description = toSearchText(value.description)
  const lead = extractFirstSentence(description)
  return {
    id,
    name: exposed,
    server: upstream,
    title: getTitle(value),
    lead,
    rest: description.slice(lead.length, lead.length + MAX_REST_LENGTH),
    args: joinBounded(texts.names),
    values: joinBounded(texts.values),
  }
}

/** Returns the first sentence on one line. */
export function extractFirstSentence(text: string): string {
  const start = text.trimStart()
  const [line = ''] = start.split(/\n\s*\n|\r|\n(?=\s*(?:Args|Parameters|Returns|Example|[-*#]))/, 1)
  const end = /[.!?](?=\s|$)|[。！？]/u.exec(line)
  return end === null ? line : line.slice(0, end.index + end[0].length)
}

function getTitle(value: JsonObject): string {
  const { title, annotations } = value
  return typeof title === 'string' ? title : toSearchText(isObject(annotations) ? annotations.title : undefined)
}

interface CollectedTexts {
  readonly names: string[]
  readonly values: string[]
}

function collectSchemaTexts(schema: unknown, into: CollectedTexts, depth: number): void {
  if (!isObject(schema) || depth > MAX_DEPTH) return
  const { properties, items, enum: values } = schema
  if (isObject(properties))
    for (const [name, property] of Object.entries(properties)) {
      into.names.push(name)
      if (!isObject(property)) continue
      collectSchemaTexts(property, into, depth + 1)
    }
  if (Array.isArray(values))
    for (const value of values.slice(0, MAX_VALUES)) if (typeof value === 'string') into.values.push(value)
  collectSchemaTexts(items, into, depth + 1)
}

function toSearchText(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, MAX_TEXT_LENGTH) : ''
}

function joinBounded(texts: readonly string[]): string {
  return texts.join(' ').slice(0, MAX_JOINED_LENGTH)
}
