import { OPEN_ARRAY, OPEN_OBJECT, QUOTE, scanArray, scanObject } from './scan.ts'
import { measureText } from './wasm/proof.ts'

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

/** How much of a value an outline shows. */
export interface OutlineBounds {
  /** Levels of objects whose members are there; deeper ones have none. */
  readonly depth: number
  /** Most members of one object. */
  readonly members: number
}

/**
 * A value whose JSON text is proven, for who looks at its names, types and lengths only: texts that are long are `LongText`,
 * and lists have their length and no elements.
 */
export function outlineOf(bytes: Buffer, bounds: OutlineBounds): unknown {
  const first = bytes[0]
  if (first === QUOTE) return text(bytes)
  if (first === OPEN_OBJECT) return object(bytes, bounds)
  return first === OPEN_ARRAY ? list(bytes) : (JSON.parse(bytes.toString('latin1')) as unknown)
}

function text(bytes: Buffer): unknown {
  if (bytes.length <= LONG) return JSON.parse(bytes.toString('utf8')) as unknown
  return new LongText(measureText(bytes, 1) ?? (JSON.parse(bytes.toString('utf8')) as string).length)
}

function object(bytes: Buffer, { depth, members }: OutlineBounds): Readonly<Record<string, unknown>> {
  // A name may be `__proto__`.
  const shown = Object.create(null) as Record<string, unknown>
  if (depth === 0) return shown
  let left = members
  scanObject(bytes, 0, bytes.length, (nameStart, nameEnd, start, end) => {
    const name = JSON.parse(bytes.toString('utf8', nameStart - 1, nameEnd + 1)) as string
    shown[name] = outlineOf(bytes.subarray(start, end), { depth: depth - 1, members })
    return --left > 0
  })
  return shown
}

function list(bytes: Buffer): readonly unknown[] {
  let length = 0
  scanArray(bytes, () => void length++)
  return new Array<unknown>(length)
}
