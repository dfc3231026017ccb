import { createHash, timingSafeEqual } from 'node:crypto'

/** Text in the place of a secret. */
export const HIDDEN = '***'

/** Takes every secret out of a text. */
export type HideSecrets = (text: string) => string

/** Shorter values would blank out half of every text. */
const MIN_LENGTH = 4
/** Values of names that do not sound secret are words such as `production` unless they are this long. */
const MIN_PLAIN_LENGTH = 12
/** Longer ones, such as whole key files, are looked for as they are and in JSON only. */
const MAX_ENCODED_LENGTH = 4096
/** Values that are remembered over all reloads. */
const MAX_COUNT = 10_000
/** Values that are good for a while only, such as tokens. */
const MAX_TEMPORARY_COUNT = 2000
/** Places for marks of the beginnings of secrets; a power of two. */
const MARKS = 2 ** 14
/** Text that was cut may end with the beginning of a secret; fewer characters of one give nothing away. */
const MIN_CUT_LENGTH = 8
const CUT = '…'
const MAX_DEPTH = 200
const SECRET_NAME = /token|key|secret|pass|pwd|auth|credential|cookie|dsn|private|bearer|signature|^sig$/i

/** True when a value of this name is worth hiding: long, or short with a name that says so. */
export function isWorthHiding(name: string, value: string): boolean {
  return value.length >= (isSecretName(name) ? MIN_LENGTH : MIN_PLAIN_LENGTH)
}

/** True when a variable, header or parameter of this name holds a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name)
}

/** Hides the values of these variables that are worth it. */
export function createVariableFilter(variables: Readonly<Record<string, string>>): HideSecrets {
  const worth = Object.entries(variables).filter(([name, value]) => isWorthHiding(name, value))
  return new Secrets(worth.map(([, value]) => value)).hide
}

/** Secrets, and the one way to take them out of a text: as they are, and in the encodings that programs print them in. */
export class Secrets {
  readonly #known = new Set<string>()
  /** By their first four characters; the longest first, as a longer one may hold a shorter one. */
  readonly #forms = new Map<number, string[]>()
  /** 1 where a form begins so, by `computeMark`: most places of a text are passed over with one look. */
  readonly #marks = new Uint8Array(MARKS)

  /** Forms of values that are good for a while only, by the value; the oldest first. */
  readonly #passing = new Map<string, readonly string[]>()

  constructor(values: Iterable<string> = []) {
    this.add(values)
  }

  /** From here on these are hidden too; nothing is forgotten, as old ones may still be valid elsewhere. */
  add(values: Iterable<string>): void {
    for (const value of values) {
      if (value.length < MIN_LENGTH || this.#known.has(value) || this.#known.size >= MAX_COUNT) continue
      this.#known.add(value)
      for (const form of listForms(value)) this.#addForm(form)
    }
  }

  /** The same for one that is good for a while only, such as a token: of many the oldest are forgotten. */
  addTemporary(value: string): void {
    if (value.length < MIN_PLAIN_LENGTH || this.#known.has(value) || this.#passing.has(value)) return
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
    // Bytes are read four times as fast as the characters of a string; the low byte of each is enough for a mark.
    const bytes = Buffer.from(text, 'latin1')
    let shown = ''
    let from = 0
    let cut = -1
    for (let at = this.#nextMark(bytes, 0); at >= 0; at = this.#nextMark(bytes, Math.max(at + 1, from))) {
      if (cut < at) cut = findCut(text, at)
      const length = this.#matchLength(text, at, cut)
      if (length === 0) continue
      shown += text.slice(from, at) + HIDDEN
      from = at + length
    }
    return from === 0 ? text : shown + text.slice(from)
  }

  /** Index of the next place at which a secret may begin; -1 for none. */
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

  /** False for one that is there already. */
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
    const left = (this.#forms.get(head) ?? []).filter(one => one !== form)
    if (left.length === 0) this.#forms.delete(head)
    else this.#forms.set(head, left)
  }

  /** Number of characters from here on that are a secret, which may be cut at `cut`; 0 for none. */
  #matchLength(text: string, at: number, cut: number): number {
    const forms = this.#forms.get(readHead(text, at))
    if (forms === undefined) return 0
    const whole = forms.find(form => text.startsWith(form, at))
    if (whole !== undefined) return whole.length
    if (cut === Infinity || cut - at < MIN_CUT_LENGTH) return 0
    const rest = text.slice(at, cut)
    return forms.some(form => form.startsWith(rest)) ? rest.length : 0
  }
}

/** The same data without secrets in its texts, keys and numbers; the very same where there are none. */
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

/** The same error, with what it says of itself without secrets. */
export function redactThrown(thrown: unknown, hide: HideSecrets): unknown {
  if (!(thrown instanceof Error)) return thrown
  const error: Error & { detail?: unknown } = thrown
  error.message = hide(error.message)
  if (typeof error.detail === 'string') error.detail = hide(error.detail)
  if (thrown.stack !== undefined) thrown.stack = hide(thrown.stack)
  return thrown
}

/** An error is shown by its stack, which begins with its message. */
function redactErrorStack(error: Error, hide: HideSecrets): unknown {
  const stack = error.stack ?? error.message
  const shown = hide(stack)
  return shown === stack ? error : shown
}

/** Index of the next place from here on at which a text was cut; looked for again only behind it, as texts may be long. */
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

/** The low bits of the first four characters, of which only the last two count. */
function computeMark(form: string): number {
  return (((form.charCodeAt(2) & 0xff) << 8) | (form.charCodeAt(3) & 0xff)) & (MARKS - 1)
}

function listForms(value: string): string[] {
  const json = encodeForJson(value)
  // A server may print one line of a key file.
  const lines = value.split(/\r?\n/).filter(line => line.length >= MIN_PLAIN_LENGTH)
  const plain = [value, json, encodeForJson(json), ...lines]
  const forms =
    value.length > MAX_ENCODED_LENGTH ? plain : [...plain, ...encodeVariants(value.toWellFormed())]
  return [...new Set(forms)].filter(form => form.length >= MIN_LENGTH)
}

function encodeVariants(value: string): string[] {
  const bytes = Buffer.from(value)
  const hex = bytes.toString('hex')
  const percent = hex.replace(/../g, '%$&')
  const units = value.replace(/[^]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const html = value
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;')
  return [
    ...[hex, hex.toUpperCase(), percent, percent.toUpperCase()],
    ...encodeForUrl(value),
    ...[units, upperEscapes(units), encodeForAsciiJson(value)],
    ...[html, html.replaceAll("'", '&#39;'), html.replaceAll("'", '&#x27;')],
    ...encodeBase64(bytes).flatMap(text => [text, text.replaceAll('+', '-').replaceAll('/', '_')]),
  ]
}

/** Programs differ in what they leave as it is in a URL. */
function encodeForUrl(value: string): string[] {
  const url = encodeURIComponent(value)
  const strict = url.replace(/[!'()*]/g, mark => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
  const form = strict.replaceAll('~', '%7E').replaceAll('%2A', '*').replaceAll('%20', '+')
  const all = [
    url,
    strict,
    strict.replaceAll('%20', '+'),
    strict.replaceAll('%2F', '/'),
    form,
    encodeURI(value),
  ]
  return [...all, ...all.map(lowerEscapes), encodeURIComponent(url)]
}

function encodeForJson(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/** As programs write JSON that keep to ASCII. */
function encodeForAsciiJson(value: string): string {
  return encodeForJson(value).replace(
    /[^\x20-\x7e]/g,
    unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function lowerEscapes(text: string): string {
  return text.replace(/%../g, escape => escape.toLowerCase())
}

function upperEscapes(text: string): string {
  return text.replace(/(?<=\\u)..../g, digits => digits.toUpperCase())
}

/** Forms of a value of which there may be many: those that a program shows without wanting to. */
function listTemporaryForms(value: string): string[] {
  const bytes = Buffer.from(value)
  const hex = bytes.toString('hex')
  const inBase64 = encodeBase64(bytes).flatMap(text => [text, text.replaceAll('+', '-').replaceAll('/', '_')])
  return [value, encodeURIComponent(value.toWellFormed()), hex, hex.toUpperCase(), ...inBase64]
}

/** Base64 of a whole value, and what is always the same of it wherever it stands in a longer text, such as behind `user:`. */
function encodeBase64(bytes: Buffer): string[] {
  const within = [0, 1, 2].map(before => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    return text.slice(Math.ceil((8 * before) / 6), Math.floor((8 * (before + bytes.length)) / 6))
  })
  return [bytes.toString('base64'), ...within]
}

/** Digest of a secret, to keep and look it up by. A secret of ours has 256 random bits, so one round is as good as many. */
export function hashSecret(secret: string): string {
  return hashText(secret).toString('base64')
}

/** Compares a secret with what somebody sent, in a time that says nothing. */
export function isSameSecret(secret: string, sent: string): boolean {
  return timingSafeEqual(hashText(secret), hashText(sent))
}

function hashText(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** The cookie of a name, in the `cookie` headers of a request; undefined where there is none, or more than one. */
export function parseCookie(headers: readonly string[], name: string): string | undefined {
  const all = headers.flatMap(line => line.split(';').map(one => one.trim()))
  const [own, ...more] = all.filter(one => one.startsWith(`${name}=`))
  // Two of one name: somebody else has set one of them.
  return own === undefined || more.length > 0 ? undefined : own.slice(name.length + 1)
}
