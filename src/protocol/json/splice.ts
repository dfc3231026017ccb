import type { JsonObject } from './json.ts'
import { membersOf } from './members.ts'
import { scanArray } from './scan.ts'

const LINE_ENDS = /[\r\n]/g

/** An object as JSON on one line, in which what is still as it was written in the bytes of another goes on as it is there. */
export function spliced(value: JsonObject, bytes: Buffer): string {
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
