import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  MAX_DEPTH,
} from './json/scan.ts'
import type { RpcId } from './jsonrpc.ts'

/** A name, and what follows it where it is an id. */
const ID = /^"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,64}")\s*[,}]/
const ID_AT_END = /"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,64}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/
const METHOD = /^"method"\s*:/
const OUTCOME = /^"(?:result|error)"\s*:/
/** Longest text that is compared with them. */
const LOOK_AHEAD = 128
/** Most strings of the message's own level that are compared with them; no message has so many members. */
const MAX_COMPARED = 2000
/** Level of the entries of a list: message, result, list, entry. */
const ENTRY_LEVEL = 4

/**
 * Finds the id of the request that an unreadable message answers; null where it has none, or is no answer. An id in front of a
 * result is enough: the rest, which may be long, is not read.
 */
export function findReplyId(bytes: Buffer): RpcId | null {
  const { id, isCall } = readEnvelope(bytes)
  return isCall ? null : id
}

/**
 * Finds the id of the request that a message answers of which only both ends are known: undefined if it is no answer, null if
 * its id is unknown. Many servers write the result first and the id last; the last bracket closes the message itself.
 */
export function findSkippedReplyId(head: Buffer, tail: Buffer): RpcId | null | undefined {
  const { id, isCall, isAnswer } = readEnvelope(head)
  if (isCall || !isAnswer) return undefined
  const last = ID_AT_END.exec(tail.toString('latin1'))?.[1]
  return id ?? (last === undefined ? null : (JSON.parse(last) as RpcId))
}

interface PartialEnvelope {
  readonly id: RpcId | null
  readonly isCall: boolean
  readonly isAnswer: boolean
}

function readEnvelope(bytes: Buffer): PartialEnvelope {
  let id: RpcId | null = null
  let isCall = false
  let isAnswer = false
  let left = MAX_COMPARED
  visitTokens(bytes, (level, at) => {
    if (level !== 1 || bytes[at] !== QUOTE) return false
    if (left-- === 0) return true
    const text = bytes.toString('latin1', at, at + LOOK_AHEAD)
    id ??= matchId(text)
    isCall ||= METHOD.test(text)
    isAnswer ||= OUTCOME.test(text)
    return isCall || (id !== null && isAnswer)
  })
  return { id, isCall, isAnswer }
}

function matchId(text: string): RpcId | null {
  const found = ID.exec(text)?.[1]
  return found === undefined ? null : (JSON.parse(found) as RpcId)
}

/** A list without the entries that nest too deep, and where in the text those stood. */
interface ShortenedList {
  readonly bytes: Buffer
  readonly withheld: readonly Buffer[]
}

/**
 * The message that answers a list method, with only the names of the entries that nest deeper than any message may.
 */
export function removeDeepEntries(bytes: Buffer): ShortenedList {
  const kept: Buffer[] = []
  const withheld: Buffer[] = []
  let from = 0
  let start = -1
  let deepest = 0
  visitTokens(bytes, (level, at, isOpening) => {
    if (level > deepest) deepest = level
    if (level !== ENTRY_LEVEL || bytes[at] === QUOTE) return false
    if (isOpening) {
      start = at
      deepest = level
    } else if (deepest > MAX_DEPTH && start >= 0) {
      kept.push(bytes.subarray(from, start))
      withheld.push(bytes.subarray(start, at + 1))
      kept.push(parseEntryName(bytes.subarray(start, at + 1)))
      from = at + 1
    }
    return false
  })
  kept.push(bytes.subarray(from))
  return { bytes: Buffer.concat(kept), withheld }
}

const NAME = /"(?:name|uri|uriTemplate)"\s*:\s*("[^"\\]{1,64}")/

/** The name alone replaces an entry: what is no object is withheld by its name. */
function parseEntryName(entry: Buffer): Buffer {
  const [, name = 'null'] = NAME.exec(entry.toString('utf8')) ?? []
  return Buffer.from(name)
}

/**
 * Visits the strings and brackets of a text that may be no JSON, with the level that they are on: a bracket is on its inside.
 * Ends where `visit` says that it has seen enough, or the outermost bracket is closed.
 */
function visitTokens(bytes: Buffer, visit: (level: number, at: number, isOpening: boolean) => boolean): void {
  let level = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (byte === QUOTE) {
      if (visit(level, at, true)) return
      at = findStringEnd(bytes, at)
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (visit(++level, at, true)) return
    } else if (isClosing(byte) && (visit(level--, at, false) || level <= 0)) return
  }
}

function isClosing(byte: number): boolean {
  return byte === CLOSE_OBJECT || byte === CLOSE_ARRAY
}

/** Index of the quote that ends the string; the length of the text where there is none. */
function findStringEnd(bytes: Buffer, open: number): number {
  for (let at = open + 1; at < bytes.length; at++) {
    if (bytes[at] === QUOTE) return at
    if (bytes[at] === BACKSLASH) at++
  }
  return bytes.length
}
