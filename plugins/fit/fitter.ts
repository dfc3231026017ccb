import { createHash } from 'node:crypto'
import type { CatalogEntry, JsonObject } from '../../src/plugin.ts'
import { isObject } from '../../src/plugin.ts'
import type { Characters, ClientProfile } from './profiles.ts'
import type { FitSchema } from './schemas/fit-schema.ts'
import { fitSchema } from './schemas/fit-schema.ts'

/** Characters of the hash behind a name that was changed. */
const HASH = 6
const LONGER_HASH = 12
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
  const fits = (name: string): boolean =>
    name.length <= longest && (characters === 'any' || /^[A-Za-z0-9_-]+$/.test(name))
  const taken = new Set(names.filter(fits))
  const wanted = names.filter(name => !fits(name))
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
    if (isShared) made = withHash(plain(name), name, longest, HASH)
    if (taken.has(made)) made = withHash(plain(name), name, longest, LONGER_HASH)
    taken.add(made)
    fitted.set(name, made)
  }
  return fitted
}

/** One name by itself. A name that only had odd characters gets no hash, unless they were all it had. */
function fitName(name: string, longest: number): string {
  const made = plain(name)
  if (made.length <= longest && /[A-Za-z0-9]/.test(made)) return made
  return withHash(made, name, longest, HASH)
}

/** Odd characters become one underscore each run; a long name is cut before it is looked at. */
function plain(name: string): string {
  return name.slice(0, 1024).replace(/[^A-Za-z0-9_-]+/g, '_')
}

function withHash(text: string, name: string, longest: number, length: number): string {
  return `${shortened(text, longest - length - 1)}_${hashOf(name).slice(0, length)}`
}

function hashOf(name: string): string {
  const bytes = createHash('sha256').update(name).digest()
  return [...bytes].map(byte => ALPHABET[byte & 31] ?? '').join('')
}

/** A text with its longest words shortened until it fits: first their vowels go, then their ends, then the end of all. */
function shortened(text: string, longest: number): string {
  const parts = text.split(/([_-]+|(?<=[a-z0-9])(?=[A-Z]))/)
  let length = text.length
  for (const [index, shorten] of steps(parts)) {
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

type Step = readonly [index: number, shorten: (word: string) => string]

/** Ways to shorten a name, tried one after the other. The first word mostly names the server, and is left whole the longest. */
function steps(parts: readonly string[]): Step[] {
  const lengthOf = (index: number): number => parts[index]?.length ?? 0
  const order = [...parts.keys()].slice(1).sort((a, b) => lengthOf(b) - lengthOf(a) || b - a)
  return [
    ...order.map((index): Step => [index, withoutVowels]),
    ...order.map((index): Step => [index, cut]),
    [0, withoutVowels],
    [0, cut],
  ]
}

function cut(word: string): string {
  return word.slice(0, MIN_LENGTH)
}

function withoutVowels(word: string): string {
  const short = word.slice(0, 1) + word.slice(1).replace(/[aeiou]/gi, '')
  return short.length < MIN_LENGTH ? word.slice(0, MIN_LENGTH) : short
}

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
