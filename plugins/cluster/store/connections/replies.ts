import type { Reply } from '../store.ts'

const CR = 13
const MOST_BYTES = 64 * 1024 * 1024
const MOST_DEPTH = 8

/** Error that Redis tells; it is an answer like any other. */
export class RedisError extends Error {}

interface Read {
  readonly value: Reply | RedisError
  readonly next: number
}

/** Reads the replies of a Redis (RESP 2) from bytes as they come. */
export class Replies {
  #bytes: Buffer = Buffer.alloc(0)

  /** Replies that are whole now. Throws where it is no Redis that speaks, or it says too much. */
  push(chunk: Buffer): (Reply | RedisError)[] {
    const bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
    const found: (Reply | RedisError)[] = []
    let at = 0
    for (let read = readAt(bytes, 0, 0); read !== undefined; read = readAt(bytes, at, 0)) {
      found.push(read.value)
      at = read.next
    }
    this.#bytes = bytes.subarray(at)
    if (this.#bytes.length > MOST_BYTES) throw new Error('a reply is too large')
    return found
  }
}

function readAt(bytes: Buffer, at: number, depth: number): Read | undefined {
  const end = bytes.indexOf(CR, at)
  if (end < 0 || end + 1 >= bytes.length) return undefined
  const line = bytes.toString('utf8', at + 1, end)
  const next = end + 2
  switch (String.fromCharCode(bytes[at] ?? 0)) {
    case '+':
      return { value: line, next }
    case '-':
      return { value: new RedisError(line), next }
    case ':':
      return { value: numberIn(line), next }
    case '$':
      return textAt(bytes, next, numberIn(line))
    case '*':
      return listAt(bytes, next, numberIn(line), depth)
    default:
      throw new Error('that is not Redis')
  }
}

function textAt(bytes: Buffer, at: number, length: number): Read | undefined {
  if (length < 0) return { value: null, next: at }
  if (length > MOST_BYTES) throw new Error('a reply is too large')
  const end = at + length
  return end + 2 > bytes.length ? undefined : { value: bytes.toString('utf8', at, end), next: end + 2 }
}

function listAt(bytes: Buffer, at: number, length: number, depth: number): Read | undefined {
  if (length < 0) return { value: null, next: at }
  if (depth >= MOST_DEPTH) throw new Error('a reply is too deep')
  const list: Reply[] = []
  let next = at
  for (let index = 0; index < length; index++) {
    const read = readAt(bytes, next, depth + 1)
    if (read === undefined) return undefined
    list.push(read.value instanceof RedisError ? read.value.message : read.value)
    next = read.next
  }
  return { value: list, next }
}

function numberIn(line: string): number {
  const number = Number(line)
  if (!Number.isInteger(number)) throw new Error('that is not Redis')
  return number
}
