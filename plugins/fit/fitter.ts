import { createHash } from 'node:crypto'
import type { CatalogEntry, JsonObject } from '../../src/plugin.ts'
import { isObject } from '../../src/plugin.ts'
import type { Characters, ClientProfile } from './client-profiles.ts'
import type { FitSchema } from './fit-schema.ts'
import { fitSchema } from './fit-schema.ts'

/** Hash length in characters, appended to a changed name. */
const HASH_LENGTH = 6
const LONG_HASH_LENGTH = 12
/** Lengths that words are shortened to. */
const MAX_WORD_LENGTH = 12
const MIN_WORD_LENGTH = 3
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'

/**
 * Fits names to a length and character set. Each name is fitted independently, so it stays stable when the list
 * changes; if two collide, both get a hash of their original names. Valid names are never changed.
 */
export function fitNames(
  names: readonly string[],
  longest: number,
  characters: Characters = 'word',
): Map<string, string> {
  const isValidName = (name: string): boolean =>
    name.length <= longest && (characters === 'any' || /^[A-Za-z0-9_-]+$/.test(name))
  const used = new Set(names.filter(isValidName))
  const invalidNames = names.filter(name => !isValidName(name))
  const counts = new Map<string, number>()
  const first = invalidNames.map(name => {
    const made = fitName(name, longest)
    counts.set(made, (counts.get(made) ?? 0) + 1)
    return made
  })
  const fitted = new Map<string, string>()
  for (const [index, name] of invalidNames.entries()) {
    let made = first[index] ?? ''
    const isShared = used.has(made) || (counts.get(made) ?? 0) > 1
    if (isShared) made = appendHash(replaceOddCharacters(name), name, longest, HASH_LENGTH)
    if (used.has(made)) made = appendHash(replaceOddCharacters(name), name, longest, LONG_HASH_LENGTH)
    used.add(made)
    fitted.set(name, made)
  }
  return fitted
}

/** Fits one name. Replacing invalid characters adds no hash unless nothing else remains. */
function fitName(name: string, longest: number): string {
  const made = replaceOddCharacters(name)
  if (made.length <= longest && /[A-Za-z0-9]/.test(made)) return made
  return appendHash(made, name, longest, HASH_LENGTH)
}

/** Replaces each run of invalid characters by one underscore; cuts long names first to bound the work. */
function replaceOddCharacters(name: string): string {
  return name.slice(0, 1024).replace(/[^A-Za-z0-9_-]+/g, '_')
}

function appendHash(text: string, name: string, longest: number, length: number): string {
  return `${shortenName(text, longest - length - 1)}_${hashName(name).slice(0, length)}`
}

function hashName(name: string): string {
  const bytes = createHash('sha256').update(name).digest()
  return [...bytes].map(byte => ALPHABET[byte & 31] ?? '').join('')
}

/** Shortens all words but the first, which usually names the server, then cuts the end. */
function shortenName(text: string, longest: number): string {
  const [first = '', ...parts] = text.split(/([_-]+|(?<=[a-z0-9])(?=[A-Z]))/)
  let short = text
  for (let length = MAX_WORD_LENGTH; short.length > longest && length >= MIN_WORD_LENGTH; length--)
    short = first + parts.map(part => part.slice(0, length)).join('')
  return short.slice(0, longest).replace(/[_-]+$/, '')
}

/** Minimum limit after the prefix is subtracted. */
const MIN_NAME_LIMIT = 16

/** A tool that is renamed, rewritten or hidden for a client. */
interface ListChange {
  readonly upstream: string
  /** Original name. */
  readonly name: string
  /** Displayed name, if different. */
  readonly shown?: string
  /** Change descriptions. */
  readonly notes: readonly string[]
  /** Reason why the tool is hidden. */
  readonly unfit?: string
}

/** A list in the form that a client accepts. */
export interface FittedList {
  readonly entries: readonly CatalogEntry[]
  readonly changes: readonly ListChange[]
  readonly tools: number
}

/** Fits tool lists to one client. Results are cached by the server's own objects. */
export class Fitter {
  readonly profile: ClientProfile
  readonly #maxNameLength: number
  readonly #prefixNote: string
  readonly #schemas = new WeakMap<object, FitSchema>()
  readonly #values = new WeakMap<JsonObject, JsonObject>()

  constructor(profile: ClientProfile, server: string) {
    this.profile = profile
    const prefix = profile.prefix.replaceAll('{server}', server)
    this.#maxNameLength =
      profile.longestName === undefined ? Infinity : Math.max(MIN_NAME_LIMIT, profile.longestName - prefix.length)
    this.#prefixNote = prefix === '' ? '' : ` including the prefix ${prefix}`
  }

  /** Returns the fitted list; the same entries if nothing changes. */
  fit(entries: readonly CatalogEntry[]): FittedList {
    if (this.profile.dialect === 'full' && this.#maxNameLength === Infinity)
      return { entries, changes: [], tools: entries.length }
    const names = fitNames(
      entries.map(({ exposed }) => exposed),
      this.#maxNameLength,
      this.profile.characters,
    )
    const made: CatalogEntry[] = []
    const changes: ListChange[] = []
    for (const entry of entries) {
      const { upstream, exposed, value } = entry
      const fitted = this.#fitSchema(value)
      if ('unfit' in fitted) {
        changes.push({ upstream, name: exposed, notes: [], unfit: fitted.unfit })
        continue
      }
      const newName = names.get(exposed)
      const changed = this.#replaceSchema(value, fitted.schema)
      if (newName === undefined && changed === value) {
        made.push(entry)
        continue
      }
      made.push({ ...entry, exposed: newName ?? exposed, value: changed })
      const notes = newName === undefined ? fitted.notes : [this.#formatNameReason(exposed), ...fitted.notes]
      changes.push({ upstream, name: exposed, ...(newName === undefined ? {} : { shown: newName }), notes })
    }
    return { entries: made, changes, tools: made.length }
  }

  #formatNameReason(name: string): string {
    const { longestName = 0 } = this.profile
    return name.length > this.#maxNameLength
      ? `the name has ${name.length} characters, and the client allows ${longestName}${this.#prefixNote}`
      : 'the name contains characters other than letters, digits, "_" and "-"'
  }

  #fitSchema({ inputSchema }: JsonObject): FitSchema {
    if (!isObject(inputSchema)) return fitSchema(inputSchema, this.profile.dialect)
    const cached = this.#schemas.get(inputSchema)
    if (cached !== undefined) return cached
    const made = fitSchema(inputSchema, this.profile.dialect)
    this.#schemas.set(inputSchema, made)
    return made
  }

  /** Replaces the schema; returns the same object each time so that lists can be compared. */
  #replaceSchema(value: JsonObject, inputSchema: JsonObject): JsonObject {
    if (value.inputSchema === inputSchema) return value
    const cached = this.#values.get(value)
    if (cached !== undefined) return cached
    const made = { ...value, inputSchema }
    this.#values.set(value, made)
    return made
  }
}
