import type { JsonObject } from '../../../src/plugin.ts'
import type { Dialect } from '../client-profiles.ts'

/** Maximum subschemas. */
const MAX_NODES = 20_000
const MAX_DEPTH = 48

/** Thrown if a schema cannot be adapted to the client. */
export class UnfitError extends Error {}

/** State while one schema is adapted: its root, the changes made, and the node count. */
export class FitContext {
  readonly root: JsonObject
  readonly isForGemini: boolean
  /** Change descriptions. */
  readonly notes = new Set<string>()
  /** References that are being inlined, outermost first. */
  readonly openReferences: string[] = []
  #nodes = 0

  constructor(root: JsonObject, dialect: Dialect) {
    this.root = root
    this.isForGemini = dialect === 'gemini'
  }

  /** Counts a subschema. @throws UnfitError if there are too many or they are nested too deeply */
  countSchema(depth: number): void {
    if (++this.#nodes > MAX_NODES)
      throw new UnfitError(`the schema has more than ${MAX_NODES} parts when references are resolved`)
    if (depth > MAX_DEPTH) throw new UnfitError(`the schema is nested deeper than ${MAX_DEPTH} levels`)
  }

  addNote(text: string): void {
    this.notes.add(text)
  }
}

/** Maps each member; returns the same object if nothing changed. Returning `undefined` removes a member. */
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

/** Maps each item; returns the same list if nothing changed. */
export function mapItems(list: readonly unknown[], change: (item: unknown) => unknown): readonly unknown[] {
  const made = list.map(change)
  return made.every((item, index) => item === list[index]) ? list : made
}

/** Omits members; returns the same object if it has none of them. */
export function omitMembers(object: JsonObject, keys: ReadonlySet<string>): JsonObject {
  return mapMembers(object, (key, value) => (keys.has(key) ? undefined : value))
}

/** Reads a schema list such as `anyOf`. */
export function readSchemaList(schema: JsonObject, key: string): readonly unknown[] | undefined {
  const list = schema[key]
  return Array.isArray(list) ? (list as unknown[]) : undefined
}
