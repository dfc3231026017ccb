import type { JsonObject } from './json/json.ts'
import { membersOf } from './json/members.ts'
import { scanArray } from './json/scan.ts'
import type { Payload } from './payload.ts'

/** Parameters as they were written, where JavaScript would write them otherwise. */
interface Source {
  readonly bytes: Buffer
  readonly hasExactNumbers: boolean
}

const SOURCES = new WeakMap<JsonObject, Source>()
const LINE_ENDS = /[\r\n]/g

/** Remembers how parameters were written, for as long as somebody holds them. */
export function rememberSource(params: JsonObject, bytes: Buffer, hasExactNumbers: boolean): void {
  SOURCES.set(params, { bytes, hasExactNumbers })
}

/** The value of a result that goes on as it was written, such as a client's reply to a server. */
export function valueAsWritten(payload: Payload): JsonObject {
  const value = payload.value()
  rememberSource(value, payload.bytes(), false)
  return value
}

/** Tells whether the numbers of parameters are the same to every reader; 2^53+1 and 1e400 are not to JavaScript. */
export function hasExactNumbers(params: JsonObject | undefined): boolean {
  return params === undefined || SOURCES.get(params)?.hasExactNumbers !== false
}

/** Parameters as JSON on one line. What is still as it was received is written as it was then, byte for byte. */
export function paramsText(params: JsonObject, received: JsonObject | undefined): string {
  const source = received === undefined ? undefined : SOURCES.get(received)
  return source === undefined ? JSON.stringify(params) : spliced(params, source.bytes)
}

/** Parameters as text, for another process that cannot see how they were received. */
export interface WrittenParams {
  readonly text: string
  readonly hasExactNumbers: boolean
}

/** The text of parameters that JavaScript would write otherwise; undefined where it would not. */
export function writtenParams(
  params: JsonObject | undefined,
  received: JsonObject | undefined,
): WrittenParams | undefined {
  if (params === undefined || received === undefined || !SOURCES.has(received)) return undefined
  return { text: paramsText(params, received), hasExactNumbers: hasExactNumbers(received) }
}

/** The reverse, in the other process. */
export function readWritten({ text, hasExactNumbers: isExact }: WrittenParams): JsonObject {
  const params = JSON.parse(text) as JsonObject
  rememberSource(params, Buffer.from(text), isExact)
  return params
}

/** Parameters with each number as the text it goes out as, for who repeats them elsewhere; as they are where JavaScript writes the same. */
export function withNumbersAsWritten(
  params: JsonObject | undefined,
  received: JsonObject | undefined,
): JsonObject | undefined {
  const written = writtenParams(params, received)
  return written === undefined ? params : (JSON.parse(written.text, numberAsWritten) as JsonObject)
}

function numberAsWritten(_name: string, value: unknown, place?: { readonly source?: string }): unknown {
  return typeof value === 'number' ? place?.source : value
}

function spliced(value: JsonObject, bytes: Buffer): string {
  const then = JSON.parse(bytes.toString('utf8')) as JsonObject
  const parts: string[] = []
  for (const { start, valueStart, end } of membersOf(bytes)) {
    const name = bytes.toString('utf8', start, valueStart)
    const key = JSON.parse(name.slice(0, name.lastIndexOf(':'))) as string
    if (!Object.hasOwn(value, key) || value[key] === undefined) continue
    const now = value[key]
    if (isSame(now, then[key])) parts.push(bytes.toString('utf8', start, end).replace(LINE_ENDS, ' '))
    else parts.push(`${JSON.stringify(key)}:${changed(now, then[key], bytes.subarray(valueStart, end))}`)
  }
  for (const key of Object.keys(value))
    if (!Object.hasOwn(then, key) && value[key] !== undefined)
      parts.push(`${JSON.stringify(key)}:${JSON.stringify(value[key])}`)
  return `{${parts.join(',')}}`
}

/** Compared by what they hold: a plugin may have written into the very object that it was given. */
function isSame(now: unknown, then: unknown): boolean {
  return JSON.stringify(now) === JSON.stringify(then)
}

function changed(now: unknown, then: unknown, bytes: Buffer): string {
  if (Array.isArray(now) && Array.isArray(then)) return splicedList(now, then, bytes)
  return isPlainObject(now) && isPlainObject(then) ? spliced(now, bytes) : JSON.stringify(now)
}

/** A list in which what is as it was goes on as it was written: by its place in a list of the same length, else by the order. */
function splicedList(now: readonly unknown[], then: readonly unknown[], bytes: Buffer): string {
  const written: Buffer[] = []
  scanArray(bytes, (start, end) => written.push(bytes.subarray(start, end)))
  const texts = then.map(element => JSON.stringify(element))
  const place = now.length === then.length ? samePlace : nextOf(texts)
  const parts = now.map((element, index) => {
    const text = JSON.stringify(element) as string | undefined
    const at = place(index, text)
    const source = at === undefined ? undefined : written[at]
    if (at === undefined || source === undefined) return text ?? 'null'
    return text === texts[at]
      ? source.toString('utf8').replace(LINE_ENDS, ' ')
      : (changed(element, then[at], source) ?? 'null')
  })
  return `[${parts.join(',')}]`
}

const samePlace = (index: number): number => index

/** Finds the next element with a text, after the one that was found last. */
function nextOf(texts: readonly string[]): (index: number, text: string | undefined) => number | undefined {
  const places = new Map<string, number[]>()
  for (let at = texts.length - 1; at >= 0; at--) {
    const text = texts[at] ?? ''
    const known = places.get(text)
    if (known === undefined) places.set(text, [at])
    else known.push(at)
  }
  let least = 0
  return (_index, text = 'null') => {
    const left = places.get(text) ?? []
    let at = left.pop()
    while (at !== undefined && at < least) at = left.pop()
    if (at !== undefined) least = at + 1
    return at
  }
}

function isPlainObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !('toJSON' in value)
}
