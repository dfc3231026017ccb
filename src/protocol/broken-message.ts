import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, OPEN_ARRAY, OPEN_OBJECT, QUOTE, MAX_DEPTH } from './json/scan-json.ts'
import type { RpcId } from './jsonrpc.ts'

/** Matches an `id` member with its value. */
const ID = /^"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,64}")\s*[,}]/
const ID_AT_END = /"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,64}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/
const METHOD = /^"method"\s*:/
const OUTCOME = /^"(?:result|error)"\s*:/
/** Maximum text length matched against the patterns. */
const LOOK_AHEAD = 128
/** Maximum top-level strings to match; no valid message has as many members. */
const MAX_COMPARED = 2000
/** List entry nesting level: message, result, list, entry. */
const ENTRY_LEVEL = 4

/**
 * Finds the request id in an unreadable message; null without an id, or if it is not a reply. Stops at an id in front
 * of the result, which may be long.
 */
export function findAnsweredId(bytes: Buffer): RpcId | null {
  const { id, isCall } = readEnvelope(bytes)
  return isCall ? null : id
}

/**
 * Finds the request id in a reply with only its two ends available: undefined if it is not a reply, null if its id is
 * unknown. Many servers write the result first and the id last; the last bracket closes the message.
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
  let remaining = MAX_COMPARED
  visitTokens(bytes, (level, at) => {
    if (level !== 1 || bytes[at] !== QUOTE) return false
    if (remaining-- === 0) return true
    const text = bytes.toString('latin1', at, at + LOOK_AHEAD)
    id ??= matchId(text)
    isCall ||= METHOD.test(text)
    isAnswer ||= OUTCOME.test(text)
    return isCall || (id !== null && isAnswer)
  })
  return { id, isCall, isAnswer }
}

function matchId(text: string): RpcId | null {
  const match = ID.exec(text)?.[1]
  return match === undefined ? null : (JSON.parse(match) as RpcId)
}

/** List without the entries that nest too deeply, and the positions of these in the text. */
interface ShortenedList {
  readonly bytes: Buffer
  readonly withheld: readonly Buffer[]
}

/** Replaces list entries that nest too deeply by their names alone. */
export function removeDeepEntries(bytes: Buffer): ShortenedList {
  const retained: Buffer[] = []
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
      retained.push(bytes.subarray(from, start))
      withheld.push(bytes.subarray(start, at + 1))
      retained.push(parseEntryName(bytes.subarray(start, at + 1)))
      from = at + 1
    }
    return false
  })
  retained.push(bytes.subarray(from))
  return { bytes: Buffer.concat(retained), withheld }
}

const NAME = /"(?:name|uri|uriTemplate)"\s*:\s*("[^"\\]{1,64}")/

/** Returns an object with the entry's name alone; an invalid entry is withheld by its name. */
function parseEntryName(entry: Buffer): Buffer {
  const [, name = 'null'] = NAME.exec(entry.toString('utf8')) ?? []
  return Buffer.from(name)
}

/**
 * Visits the strings and brackets of a text that may be invalid JSON, with their nesting level (brackets count as
 * inside). Stops if `visitToken` returns true or the outermost bracket closes.
 */
function visitTokens(bytes: Buffer, visitToken: (level: number, at: number, isOpening: boolean) => boolean): void {
  let level = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (byte === QUOTE) {
      if (visitToken(level, at, true)) return
      at = findStringEnd(bytes, at)
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (visitToken(++level, at, true)) return
    } else if (isClosing(byte) && (visitToken(level--, at, false) || level <= 0)) return
  }
}

function isClosing(byte: number): boolean {
  return byte === CLOSE_OBJECT || byte === CLOSE_ARRAY
}

/** Returns the index of the closing quote, or the text length if there is none. */
function findStringEnd(bytes: Buffer, open: number): number {
  for (let at = open + 1; at < bytes.length; at++) {
    if (bytes[at] === QUOTE) return at
    if (bytes[at] === BACKSLASH) at++
  }
  return bytes.length
}
