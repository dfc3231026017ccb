import { createHash } from 'node:crypto'

/** Replacement for a secret. */
export const HIDDEN = '***'

/** Removes all secrets from a text. */
export type HideSecrets = (text: string) => string

/** Minimum length; shorter values would match ordinary text. */
const MIN_LENGTH = 4
/** Minimum length of values whose names do not look secret; shorter ones are words such as `production`. */
const MIN_PLAIN_LENGTH = 12
/** Longer values, such as key files, are searched verbatim and in JSON only. */
const MAX_ENCODED_LENGTH = 4096
/** Maximum values over all reloads. */
const MAX_COUNT = 10_000
/** Maximum temporary values, such as tokens. */
const MAX_TEMPORARY_COUNT = 2000
/** Prefix filter size; a power of two. */
const MARKS = 2 ** 14
/** Minimum length of a truncated secret at the end of cut text; shorter prefixes reveal nothing. */
const MIN_CUT_LENGTH = 8
const CUT = '…'
const MAX_DEPTH = 200
const SECRET_NAME = /token|key|secret|pass|pwd|auth|credential|cookie|dsn|private|bearer|signature|^sig$/i

/** Returns true if a value should be hidden: it is long, or its name looks secret. */
export function isWorthHiding(name: string, value: string): boolean {
  return value.length >= (isSecretName(name) ? MIN_LENGTH : MIN_PLAIN_LENGTH)
}

/** Returns true if a variable, header or parameter name looks secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name)
}

/** Creates a filter for the values of these variables that should be hidden. */
export function createVariableRedactor(variables: Readonly<Record<string, string>>): HideSecrets {
  const worth = Object.entries(variables).filter(([name, value]) => isWorthHiding(name, value))
  return new Secrets(worth.map(([, value]) => value)).hide
}

/** Removes secrets from text, in the encodings that programs print. */
export class Secrets {
  readonly #values = new Set<string>()
  /** By their first four characters, longest first, as a secret may contain a shorter one. */
  readonly #forms = new Map<number, string[]>()
  /** Prefix filter by `computeMark`, which skips most text positions with one lookup. */
  readonly #marks = new Uint8Array(MARKS)

  /** Encoded forms of temporary values, oldest first. */
  readonly #passing = new Map<string, readonly string[]>()

  constructor(values: Iterable<string> = []) {
    this.add(values)
  }

  /** Adds permanent secrets; they are never evicted, as peers may still accept old ones. */
  add(values: Iterable<string>): void {
    for (const value of values) {
      if (value.length < MIN_LENGTH || this.#values.has(value) || this.#values.size >= MAX_COUNT) continue
      this.#values.add(value)
      for (const form of listForms(value)) this.#addForm(form)
    }
  }

  /** Adds a temporary secret such as a token; the oldest are evicted. */
  addTemporary(value: string): void {
    if (value.length < MIN_PLAIN_LENGTH || this.#values.has(value) || this.#passing.has(value)) return
    const forms = [...new Set(listTemporaryForms(value))]
    this.#passing.set(
      value,
      forms.filter(form => this.#addForm(form)),
    )
    const [oldest] = this.#passing
    if (oldest === undefined || this.#passing.size <= MAX_TEMPORARY_COUNT) return
    this.#passing.delete(oldest[0])
    for (const form of oldest[1]) this.#dropForm(form)
  }

  readonly hide: HideSecrets = text => {
    if (this.#forms.size === 0) return text
    // Bytes are read four times as fast as characters; the low byte is enough for the filter.
    const bytes = Buffer.from(text, 'latin1')
    let redacted = ''
    let from = 0
    let cut = -1
    for (let at = this.#nextMark(bytes, 0); at >= 0; at = this.#nextMark(bytes, Math.max(at + 1, from))) {
      if (cut < at) cut = findCut(text, at)
      const length = this.#matchLength(text, at, cut)
      if (length === 0) continue
      redacted += text.slice(from, at) + HIDDEN
      from = at + length
    }
    return from === 0 ? text : redacted + text.slice(from)
  }

  /** Returns the next index at which a secret may begin; -1 for none. */
  #nextMark(bytes: Buffer, from: number): number {
    const marks = this.#marks
    const end = bytes.length
    let head = 0
    for (let at = from; at < end; at++) {
      head = (head << 8) | (bytes[at] as number)
      if (marks[head & (MARKS - 1)] === 1 && at - from >= MIN_LENGTH - 1) return at - MIN_LENGTH + 1
    }
    return -1
  }

  /** Returns false if the form is known. */
  #addForm(form: string): boolean {
    const head = readHead(form, 0)
    const same = this.#forms.get(head)
    this.#marks[computeMark(form)] = 1
    if (same === undefined) this.#forms.set(head, [form])
    else if (same.includes(form)) return false
    else {
      same.push(form)
      same.sort((a, b) => b.length - a.length)
    }
    return true
  }

  #dropForm(form: string): void {
    const head = readHead(form, 0)
    const remaining = (this.#forms.get(head) ?? []).filter(one => one !== form)
    if (remaining.length === 0) this.#forms.delete(head)
    else this.#forms.set(head, remaining)
  }

  /** Returns the length of the secret at `at`, which may be truncated at `cut`; 0 for none. */
  #matchLength(text: string, at: number, cut: number): number {
    const forms = this.#forms.get(readHead(text, at))
    if (forms === undefined) return 0
    const match = forms.find(form => text.startsWith(form, at))
    if (match !== undefined) return match.length
    if (cut === Infinity || cut - at < MIN_CUT_LENGTH) return 0
    const truncated = text.slice(at, cut)
    return forms.some(form => form.startsWith(truncated)) ? truncated.length : 0
  }
}

/** Removes secrets from strings, keys and numbers; returns the same value if there are none. */
export function redactValue<T>(value: T, hide: HideSecrets, depth = 0): T {
  return redactAny(value, hide, depth) as T
}

function redactAny(value: unknown, hide: HideSecrets, depth: number): unknown {
  if (typeof value === 'string') return hide(value)
  if (typeof value === 'number') return hide(String(value)) === String(value) ? value : HIDDEN
  if (typeof value !== 'object' || value === null) return value
  if (depth > MAX_DEPTH) return HIDDEN
  if (value instanceof Error) return redactErrorStack(value, hide)
  return Array.isArray(value) ? redactList(value, hide, depth) : redactMap(value, hide, depth)
}

function redactList(value: readonly unknown[], hide: HideSecrets, depth: number): readonly unknown[] {
  const items = value.map(item => redactAny(item, hide, depth + 1))
  return items.every((item, i) => item === value[i]) ? value : items
}

function redactMap(value: object, hide: HideSecrets, depth: number): object {
  const before = Object.entries(value)
  const entries = before.map(([key, inner]) => [hide(key), redactAny(inner, hide, depth + 1)] as const)
  const isSame = entries.every(([key, inner], i) => key === before[i]?.[0] && inner === before[i][1])
  return isSame ? value : Object.fromEntries(entries)
}

/** Removes secrets from an error. */
export function redactThrown(thrown: unknown, hide: HideSecrets): unknown {
  if (!(thrown instanceof Error)) return thrown
  const error: Error & { detail?: unknown } = thrown
  error.message = hide(error.message)
  if (typeof error.detail === 'string') error.detail = hide(error.detail)
  if (thrown.stack !== undefined) thrown.stack = hide(thrown.stack)
  return thrown
}

/** Errors are displayed by their stack, which begins with the message. */
function redactErrorStack(error: Error, hide: HideSecrets): unknown {
  const stack = error.stack ?? error.message
  const redacted = hide(stack)
  return redacted === stack ? error : redacted
}

/** Returns the next index at which the text was cut; cached, as texts may be long. */
function findCut(text: string, at: number): number {
  const cut = text.indexOf(CUT, at)
  return cut < 0 ? Infinity : cut
}

function readHead(text: string, at: number): number {
  return (
    (text.charCodeAt(at) << 24) ^
    (text.charCodeAt(at + 1) << 16) ^
    (text.charCodeAt(at + 2) << 8) ^
    text.charCodeAt(at + 3)
  )
}

/** Hashes the first four characters to a few bits. */
function computeMark(form: string): number {
  return (((form.charCodeAt(2) & 0xff) << 8) | (form.charCodeAt(3) & 0xff)) & (MARKS - 1)
}

function listForms(value: string): string[] {
  const json = encodeForJson(value)
  // A server may print a single line of a key file.
  const lines = value.split(/\r?\n/).filter(line => line.length >= MIN_PLAIN_LENGTH)
  const plain = [value, json, encodeForJson(json), ...lines]
  const forms = value.length > MAX_ENCODED_LENGTH ? plain : [...plain, ...encodeVariants(value.toWellFormed())]
  return [...new Set(forms)].filter(form => form.length >= MIN_LENGTH)
}

function encodeVariants(value: string): string[] {
  const bytes = Buffer.from(value)
  const hex = bytes.toString('hex')
  const percent = hex.replace(/../g, '%$&')
  const units = value.replace(/[^]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const html = value.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;')
  return [
    ...[hex, hex.toUpperCase(), percent, percent.toUpperCase()],
    ...encodeForUrl(value),
    ...[units, upperEscapes(units), encodeForAsciiJson(value)],
    ...[html, html.replaceAll("'", '&#39;'), html.replaceAll("'", '&#x27;')],
    ...encodeBase64(bytes).flatMap(text => [text, text.replaceAll('+', '-').replaceAll('/', '_')]),
  ]
}

/** Programs differ in which characters they leave unencoded in a URL. */
function encodeForUrl(value: string): string[] {
  const url = encodeURIComponent(value)
  const strict = url.replace(/[!'()*]/g, mark => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
  const form = strict.replaceAll('~', '%7E').replaceAll('%2A', '*').replaceAll('%20', '+')
  const all = [url, strict, strict.replaceAll('%20', '+'), strict.replaceAll('%2F', '/'), form, encodeURI(value)]
  return [...all, ...all.map(lowerEscapes), encodeURIComponent(url)]
}

function encodeForJson(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/** ASCII-only JSON encoding. */
function encodeForAsciiJson(value: string): string {
  return encodeForJson(value).replace(/[^\x20-\x7e]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function lowerEscapes(text: string): string {
  return text.replace(/%../g, escape => escape.toLowerCase())
}

function upperEscapes(text: string): string {
  return text.replace(/(?<=\\u)..../g, digits => digits.toUpperCase())
}

/** Lists the forms of a temporary value that programs print by accident. */
function listTemporaryForms(value: string): string[] {
  const bytes = Buffer.from(value)
  const hex = bytes.toString('hex')
  const inBase64 = encodeBase64(bytes).flatMap(text => [text, text.replaceAll('+', '-').replaceAll('/', '_')])
  return [value, encodeURIComponent(value.toWellFormed()), hex, hex.toUpperCase(), ...inBase64]
}

/** Encodes a value in base64, and the invariant part within a longer text, for example after `user:`. */
function encodeBase64(bytes: Buffer): string[] {
  const within = [0, 1, 2].map(before => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    return text.slice(Math.ceil((8 * before) / 6), Math.floor((8 * (before + bytes.length)) / 6))
  })
  return [bytes.toString('base64'), ...within]
}

/** Hashes a secret for storage and lookup. Our secrets have 256 random bits, so a single round is enough. */
export function hashSecret(secret: string): string {
  return hashText(secret).toString('base64')
}

function hashText(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** Parses a cookie from `cookie` headers; undefined if missing or duplicated. */
export function parseCookie(headers: readonly string[], name: string): string | undefined {
  const all = headers.flatMap(line => line.split(';').map(one => one.trim()))
  const [own, ...more] = all.filter(one => one.startsWith(`${name}=`))
  // A duplicate cookie was set by another party.
  return own === undefined || more.length > 0 ? undefined : own.slice(name.length + 1)
}
