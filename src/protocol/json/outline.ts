import { COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE, scanArray, skipSpace, skipValue } from './scan.ts'
import { measureText, proven } from './wasm/proof.ts'

/** Bytes of a text that is read; of longer ones only the length is. */
const LONG = 1024

/** Stands in an outline for a text that was not read. */
export class LongText {
  /** Characters, as JavaScript counts them. */
  readonly length: number

  constructor(length: number) {
    this.length = length
  }
}

/** Bounds on what an outline shows of a value. */
export interface OutlineBounds {
  /** Levels of objects whose members are there; deeper ones have none. */
  readonly depth: number
  /** Most members of one object. */
  readonly members: number
}

/**
 * The value of a JSON text that is proven, for who looks at its names, types and lengths only: texts that are long are
 * `LongText`, and lists have their length and no elements.
 */
export function outlineOf(bytes: Buffer, bounds: OutlineBounds): unknown {
  return outlineAt(bytes, 0, bounds).value
}

/** A value, and where its text ends. */
interface Outlined {
  readonly value: unknown
  readonly end: number
}

function outlineAt(bytes: Buffer, at: number, bounds: OutlineBounds): Outlined {
  const first = bytes[at]
  if (first === QUOTE) return textAt(bytes, at)
  if (first === OPEN_OBJECT && bounds.depth > 0) return objectAt(bytes, at, bounds)
  const end = skipValue(bytes, at, bytes.length)
  if (first === OPEN_OBJECT) return { value: Object.create(null), end }
  const own = bytes.subarray(at, end)
  return { value: first === OPEN_ARRAY ? listOf(own) : JSON.parse(own.toString('latin1')), end }
}

/** One pass over the bytes finds the end of a text, and how long it is. */
function textAt(bytes: Buffer, at: number): Outlined {
  const measured = measureText(bytes, at + 1)
  const end = measured < 0 ? skipValue(bytes, at, bytes.length) : measured
  if (measured >= 0 && end - at > LONG) return { value: new LongText(proven.units), end }
  const text = JSON.parse(bytes.toString('utf8', at, end)) as string
  return { value: end - at > LONG ? new LongText(text.length) : text, end }
}

function objectAt(bytes: Buffer, open: number, { depth, members }: OutlineBounds): Outlined {
  // A name may be `__proto__`.
  const value = Object.create(null) as Record<string, unknown>
  const length = bytes.length
  let at = skipSpace(bytes, open + 1, length)
  for (let left = members; left > 0 && bytes[at] === QUOTE; left--) {
    const nameEnd = skipValue(bytes, at, length)
    const name = JSON.parse(bytes.toString('utf8', at, nameEnd)) as string
    const colon = skipSpace(bytes, nameEnd, length)
    const member = outlineAt(bytes, skipSpace(bytes, colon + 1, length), { depth: depth - 1, members })
    value[name] = member.value
    at = skipSpace(bytes, member.end, length)
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1, length)
  }
  // Where there are more members, its end is found by passing over all of it.
  return { value, end: bytes[at] === QUOTE ? skipValue(bytes, open, length) : at + 1 }
}

function listOf(bytes: Buffer): readonly unknown[] {
  let length = 0
  scanArray(bytes, () => void length++)
  return new Array<unknown>(length)
}
