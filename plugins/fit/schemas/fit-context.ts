import type { JsonObject } from '../../../src/plugin.ts'
import { isObject } from '../../../src/plugin.ts'

/** Schemas inside one that are looked at; more are no work for a model. */
const MAX_NODES = 20_000
/** Depth to which schemas are looked at. */
const MAX_DEPTH = 48

/** A tool's schema cannot be brought into a form that its reader takes. */
export class UnfitError extends Error {}

/** Work on one schema: what it is about, what was done, and how much of it. */
export class FitContext {
  readonly root: JsonObject
  /** Changes in words. */
  readonly notes = new Set<string>()
  /** References that are being put in their place, from the outermost on. */
  readonly openReferences: string[] = []
  #nodes = 0

  constructor(root: JsonObject) {
    this.root = root
  }

  /** Counts a schema; throws where there are too many, or they lie too deep. */
  countSchema(depth: number): void {
    if (++this.#nodes > MAX_NODES)
      throw new UnfitError(`its schema has more than ${MAX_NODES} parts when references are followed`)
    if (depth > MAX_DEPTH) throw new UnfitError(`its schema is deeper than ${MAX_DEPTH} levels`)
  }

  addNote(text: string): void {
    this.notes.add(text)
  }
}

/** The object with each member as `change` wants it, or the very same where nothing changed; `undefined` takes a member out. */
export function mapMembers(object: JsonObject, change: (key: string, value: unknown) => unknown): JsonObject {
  let isSame = true
  const entries: [string, unknown][] = []
  for (const [key, value] of Object.entries(object)) {
    const made = change(key, value)
    if (made !== value) isSame = false
    if (made !== undefined) entries.push([key, made])
  }
  return isSame ? object : Object.fromEntries(entries)
}

/** The list with each item as `change` wants it, or the very same where nothing changed. */
export function mapItems(list: readonly unknown[], change: (item: unknown) => unknown): readonly unknown[] {
  const made = list.map(change)
  return made.every((item, index) => item === list[index]) ? list : made
}

/** The object without some of its members; the very same where it has none of them. */
export function omitMembers(object: JsonObject, keys: ReadonlySet<string>): JsonObject {
  return mapMembers(object, (key, value) => (keys.has(key) ? undefined : value))
}

/** The schemas of a member such as `anyOf`. */
export function readSchemaList(schema: JsonObject, key: string): readonly unknown[] | undefined {
  const list = schema[key]
  return Array.isArray(list) ? (list as unknown[]) : undefined
}

/** The strings of a member such as `required`. */
export function readStrings(schema: JsonObject, key: string): string[] {
  const list = schema[key]
  return Array.isArray(list) ? list.filter(one => typeof one === 'string') : []
}

/** A member that is a map of schemas, such as `properties`. */
export function readSchemaMap(schema: JsonObject, key: string): JsonObject {
  const map = schema[key]
  return isObject(map) ? map : {}
}
