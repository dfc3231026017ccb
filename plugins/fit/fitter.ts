import { isObject, type CatalogEntry, type JsonObject } from '../../src/plugin.ts'
import { fitNames } from './names.ts'
import type { ClientProfile } from './profiles.ts'
import { fitSchema, type FitSchema } from './schemas/fit-schema.ts'

/** Names are never fitted to less than this. */
const SHORTEST_LIMIT = 16

/** One tool that a client is shown in another form, or not at all, and why. */
interface Change {
  readonly upstream: string
  /** Its real name. */
  readonly name: string
  /** The name that is shown, where it is another one. */
  readonly shown?: string
  /** Changes that were made, in words. */
  readonly notes: readonly string[]
  /** Why it is not shown. */
  readonly unfit?: string
}

/** A list in the form that one client takes. */
export interface Fitted {
  readonly entries: readonly CatalogEntry[]
  readonly changes: readonly Change[]
  /** Tools in it. */
  readonly tools: number
}

/** Fits lists of tools to one client. What was fitted once is remembered as long as the server's own words for it. */
export class Fitter {
  readonly profile: ClientProfile
  readonly #longest: number
  readonly #limits: string
  readonly #schemas = new WeakMap<object, FitSchema>()
  readonly #values = new WeakMap<JsonObject, JsonObject>()

  constructor(profile: ClientProfile, server: string) {
    this.profile = profile
    const prefix = profile.prefix.replaceAll('{server}', server)
    this.#longest =
      profile.longestName === undefined
        ? Infinity
        : Math.max(SHORTEST_LIMIT, profile.longestName - prefix.length)
    this.#limits = prefix === '' ? '' : ` with ${prefix} before it`
  }

  /** The list as the client takes it: the very same entries where there is nothing to fit. */
  fit(entries: readonly CatalogEntry[]): Fitted {
    if (this.profile.dialect === 'full' && this.#longest === Infinity)
      return { entries, changes: [], tools: entries.length }
    const names = fitNames(
      entries.map(({ exposed }) => exposed),
      this.#longest,
      this.profile.characters,
    )
    const made: CatalogEntry[] = []
    const changes: Change[] = []
    for (const entry of entries) {
      const { upstream, exposed, value } = entry
      const fitted = this.#fitSchema(value)
      if ('unfit' in fitted) {
        changes.push({ upstream, name: exposed, notes: [], unfit: fitted.unfit })
        continue
      }
      const shown = names.get(exposed)
      const changed = this.#valueWith(value, fitted.schema)
      if (shown === undefined && changed === value) {
        made.push(entry)
        continue
      }
      made.push({ ...entry, exposed: shown ?? exposed, value: changed })
      const notes = shown === undefined ? fitted.notes : [this.#whyNamed(exposed), ...fitted.notes]
      changes.push({ upstream, name: exposed, ...(shown === undefined ? {} : { shown }), notes })
    }
    return { entries: made, changes, tools: made.length }
  }

  #whyNamed(name: string): string {
    const { longestName = 0 } = this.profile
    return name.length > this.#longest
      ? `its name has ${name.length} characters, and the client takes ${longestName}${this.#limits}`
      : 'its name has other characters than letters, digits, "_" and "-"'
  }

  #fitSchema({ inputSchema }: JsonObject): FitSchema {
    if (!isObject(inputSchema)) return fitSchema(inputSchema, this.profile.dialect)
    const known = this.#schemas.get(inputSchema)
    if (known !== undefined) return known
    const made = fitSchema(inputSchema, this.profile.dialect)
    this.#schemas.set(inputSchema, made)
    return made
  }

  /** A tool with another schema; the same object each time, so that lists can be compared. */
  #valueWith(value: JsonObject, inputSchema: JsonObject): JsonObject {
    if (value.inputSchema === inputSchema) return value
    const known = this.#values.get(value)
    if (known !== undefined) return known
    const made = { ...value, inputSchema }
    this.#values.set(value, made)
    return made
  }
}
