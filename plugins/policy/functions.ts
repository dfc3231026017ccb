import { createRequire } from 'node:module'
import { posix } from 'node:path'
import type * as Re2 from 're2js'
import { globs } from '../../src/plugin.ts'

/** Most work of all regular expressions in one evaluation: characters times the size of the pattern. */
const MAX_STEPS = 10_000_000
const MAX_PATTERN = 500
/** Instructions of one pattern. */
const MAX_PROGRAM = 1000
const HTTP = /^https?:$/
const CONTROLS = /[\0-\x20\x7f\\]/
const SEGMENT = /(^|\/)\.{1,2}(\/|$)|\/\/|\0|\\/

const load = createRequire(import.meta.url)

/** Functions that expressions have beside those of CEL. Each set has its own patterns, prepared when rules are loaded. */
export class Functions {
  readonly #patterns = new Map<string, Pattern>()
  readonly #globs = new Map<string, (text: string) => boolean>()
  #steps = 0

  /** A new evaluation begins: it has all of its work before it. */
  begin(): void {
    this.#steps = 0
  }

  /** Prepares a constant; says why it cannot be used, if so. */
  prepare(name: string, text: string): string | undefined {
    if (name === 're') return this.#preparePattern(text)
    if (name === 'glob') this.#globs.set(text, globs(text))
    if (/^get/.test(name)) return timeZoneProblem(text)
    return undefined
  }

  #preparePattern(text: string): string | undefined {
    if (text.length > MAX_PATTERN) return `the pattern has more than ${MAX_PATTERN} characters`
    const { RE2JS } = load('re2js') as typeof Re2
    try {
      const compiled = RE2JS.compile(text)
      const size = compiled.programSize()
      if (size > MAX_PROGRAM) return 'the pattern is too large: it repeats too much'
      this.#patterns.set(text, { size, find: given => compiled.matcher(given).find() })
      return undefined
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }

  /** Tells whether a regular expression (RE2) is found anywhere in a text. */
  re(text: string, pattern: string): boolean {
    const known = this.#patterns.get(pattern)
    if (known === undefined) throw new Error('the pattern was not prepared')
    this.#steps += text.length * known.size
    if (this.#steps > MAX_STEPS) throw new Error('the text is too long for re()')
    return known.find(text)
  }

  glob(text: string, pattern: string): boolean {
    const matches = this.#globs.get(pattern)
    if (matches === undefined) throw new Error('the pattern was not prepared')
    return matches(text)
  }
}

interface Pattern {
  readonly size: number
  readonly find: (text: string) => boolean
}

/**
 * Tells whether an absolute path is a directory or something below it, with `..` put in its place. Links are not followed: only the
 * server can do that.
 */
export function within(path: string, directory: string): boolean {
  if (!directory.startsWith('/') || SEGMENT.test(directory))
    throw new Error('within() wants an absolute directory without ".." and "//"')
  if (!path.startsWith('/') || path.includes('\0') || path.includes('\\')) return false
  const base = directory.endsWith('/') ? directory.slice(0, -1) : directory
  // Most paths are plain already, and to make one so costs more than all else here.
  const own = SEGMENT.test(path) ? posix.normalize(path) : path
  return own.startsWith(base) && (own.length === base.length || own[base.length] === '/')
}

/** The host of an http(s) URL, in lower case and without a port. Whatever two readers may read differently fails. */
export function hostOf(url: string): string {
  if (CONTROLS.test(url)) throw new Error('host() wants a URL without spaces, controls and backslashes')
  const { protocol, username, password, hostname } = new URL(url)
  if (!HTTP.test(protocol) || !/^https?:\/\//i.test(url)) throw new Error('host() wants an http or https URL')
  if (username !== '' || password !== '') throw new Error('host() wants a URL without a user')
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname
}

/** Bytes of a value as JSON. */
export function sizeInBytes(value: unknown): bigint {
  return BigInt(Buffer.byteLength(JSON.stringify(value) ?? ''))
}

function timeZoneProblem(text: string): string | undefined {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text })
    return undefined
  } catch {
    return `there is no time zone "${text}"`
  }
}
