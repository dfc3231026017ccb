import { createHash } from 'node:crypto'
import type { CatalogEntry, JsonObject } from '../../src/plugin.ts'
import { isObject } from '../../src/plugin.ts'
import type { Characters, ClientProfile } from './profiles.ts'
import type { FitSchema } from './schemas/fit-schema.ts'
import { fitSchema } from './schemas/fit-schema.ts'

/** Characters of the hash behind a name that was changed. */
const HASH_LENGTH = 6
const LONG_HASH_LENGTH = 12
/** The least that is left of a word. */
const MIN_LENGTH = 3
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'

/**
 * Fits names to a length and to letters, digits, `_` and `-`. Each is fitted by itself, so that it stays the same whatever else is
 * listed; only where two become one do both get a hash of their real names. Real names are left to those who have them.
 */
export function fitNames(
  names: readonly string[],
  longest: number,
  characters: Characters = 'word',
): Map<string, string> {
  const isValidName = (name: string): boolean =>
    name.length <= longest && (characters === 'any' || /^[A-Za-z0-9_-]+$/.test(name))
  const taken = new Set(names.filter(isValidName))
  const wanted = names.filter(name => !isValidName(name))
  const counts = new Map<string, number>()
  const first = wanted.map(name => {
    const made = fitName(name, longest)
    counts.set(made, (counts.get(made) ?? 0) + 1)
    return made
  })
  const fitted = new Map<string, string>()
  for (const [index, name] of wanted.entries()) {
    let made = first[index] ?? ''
    const isShared = taken.has(made) || (counts.get(made) ?? 0) > 1
    if (isShared) made = appendHash(replaceOddCharacters(name), name, longest, HASH_LENGTH)
    if (taken.has(made)) made = appendHash(replaceOddCharacters(name), name, longest, LONG_HASH_LENGTH)
    taken.add(made)
    fitted.set(name, made)
  }
  return fitted
}

/** One name by itself. A name that only had odd characters gets no hash, unless they were all it had. */
function fitName(name: string, longest: number): string {
  const made = replaceOddCharacters(name)
  if (made.length <= longest && /[A-Za-z0-9]/.test(made)) return made
  return appendHash(made, name, longest, HASH_LENGTH)
}

/** Odd characters become one underscore each run; a long name is cut before it is looked at. */
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

/** A text with its longest words shortened until it fits: first their vowels go, then their ends, then the end of all. */
function shortenName(text: string, longest: number): string {
  const parts = text.split(/([_-]+|(?<=[a-z0-9])(?=[A-Z]))/)
  let length = text.length
  for (const [index, shorten] of listShorteningSteps(parts)) {
    if (length <= longest) break
    const word = parts[index] ?? ''
    if (word.length <= MIN_LENGTH || /^[_-]/.test(word)) continue
    const short = shorten(word)
    length += short.length - word.length
    parts[index] = short
  }
  return parts
    .join('')
    .slice(0, longest)
    .replace(/[_-]+$/, '')
}

type ShorteningStep = readonly [index: number, shorten: (word: string) => string]

/** Ways to shorten a name, tried one after the other. The first word mostly names the server, and is left whole the longest. */
function listShorteningSteps(parts: readonly string[]): ShorteningStep[] {
  const getLength = (index: number): number => parts[index]?.length ?? 0
  const order = [...parts.keys()].slice(1).sort((a, b) => getLength(b) - getLength(a) || b - a)
  return [
    ...order.map((index): ShorteningStep => [index, dropVowels]),
    ...order.map((index): ShorteningStep => [index, truncateWord]),
    [0, dropVowels],
    [0, truncateWord],
  ]
}

function truncateWord(word: string): string {
  return word.slice(0, MIN_LENGTH)
}

function dropVowels(word: string): string {
  const short = word.slice(0, 1) + word.slice(1).replace(/[aeiou]/gi, '')
  return short.length < MIN_LENGTH ? word.slice(0, MIN_LENGTH) : short
}

/** Names are never fitted to less than this. */
const MIN_NAME_LIMIT = 16

/** One tool that a client is shown in another form, or not at all, and why. */
interface ListChange {
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
export interface FittedList {
  readonly entries: readonly CatalogEntry[]
  readonly changes: readonly ListChange[]
  /** Tools in it. */
  readonly tools: number
}

/** Fits lists of tools to one client. What was fitted once is remembered as long as the server's own words for it. */
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
      profile.longestName === undefined
        ? Infinity
        : Math.max(MIN_NAME_LIMIT, profile.longestName - prefix.length)
    this.#prefixNote = prefix === '' ? '' : ` with ${prefix} before it`
  }

  /** The list as the client takes it: the very same entries where there is nothing to fit. */
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
      const shown = names.get(exposed)
      const changed = this.#replaceSchema(value, fitted.schema)
      if (shown === undefined && changed === value) {
        made.push(entry)
        continue
      }
      made.push({ ...entry, exposed: shown ?? exposed, value: changed })
      const notes = shown === undefined ? fitted.notes : [this.#formatNameReason(exposed), ...fitted.notes]
      changes.push({ upstream, name: exposed, ...(shown === undefined ? {} : { shown }), notes })
    }
    return { entries: made, changes, tools: made.length }
  }

  #formatNameReason(name: string): string {
    const { longestName = 0 } = this.profile
    return name.length > this.#maxNameLength
      ? `its name has ${name.length} characters, and the client takes ${longestName}${this.#prefixNote}`
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
  #replaceSchema(value: JsonObject, inputSchema: JsonObject): JsonObject {
    if (value.inputSchema === inputSchema) return value
    const known = this.#values.get(value)
    if (known !== undefined) return known
    const made = { ...value, inputSchema }
    this.#values.set(value, made)
    return made
  }
}
