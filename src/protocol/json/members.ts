import type { JsonObject } from './json.ts'
import { isObject } from './json.ts'
import { COMMA as COMMA_BYTE, scanObject } from './scan.ts'

/** Members that are named, over all levels. */
const MAX_MEMBERS = 64
const MAX_DEPTH = 3
const MAX_KEY_LENGTH = 64

/** Names and types of a call's arguments as JSON, without any value: `{"path":"string","deep":{"n":"number"}}`; undefined if it has none. */
export function describeArguments(params: JsonObject | undefined): string | undefined {
  const args = params?.arguments
  return args === undefined ? undefined : describeShape(args, MAX_DEPTH, { left: MAX_MEMBERS })
}

function describeShape(value: unknown, depth: number, budget: { left: number }): string {
  if (Array.isArray(value)) return '"array"'
  if (isObject(value)) return depth > 0 ? describeMembers(value, depth - 1, budget) : '"object"'
  return value === null ? '"null"' : `"${typeof value}"`
}

function describeMembers(
  value: Readonly<Record<string, unknown>>,
  depth: number,
  budget: { left: number },
): string {
  const parts: string[] = []
  for (const key in value) {
    if (budget.left-- <= 0) {
      parts.push('"…":"more"')
      break
    }
    parts.push(`${JSON.stringify(key.slice(0, MAX_KEY_LENGTH))}:${describeShape(value[key], depth, budget)}`)
  }
  return `{${parts.join(',')}}`
}

/** Place of a member in its object's JSON text: `start` is its name's, `end` its value's. */
export interface Member {
  readonly key: string
  readonly start: number
  readonly valueStart: number
  readonly end: number
}

/** The members of an object's JSON text, in order; no value is parsed. */
export function parseMembers(object: Buffer): Member[] {
  const members: Member[] = []
  scanObject(object, 0, object.length, (keyStart, keyEnd, valueStart, end) => {
    members.push({ key: decodeKey(object, keyStart, keyEnd), start: keyStart - 1, valueStart, end })
  })
  return members
}

/** The JSON text of a member's value; of the last one, where a name stands twice. */
export function getMemberValue(object: Buffer, members: readonly Member[], key: string): Buffer | undefined {
  const member = members.findLast(candidate => candidate.key === key)
  return member && object.subarray(member.valueStart, member.end)
}

/** Tells by a text search whether an object can have a member of this name; a name may be written with escapes. */
export function mayHaveMember(object: Buffer, key: string): boolean {
  return object.includes(`"${key}"`) || object.includes('\\u')
}

/** The JSON text of a member's value, for who has not walked the members yet. */
export function findMemberValue(object: Buffer, key: string): Buffer | undefined {
  return getMemberValue(object, parseMembers(object), key)
}

/** An object's JSON text with some members dropped and others put first. Everything else stays as it came. */
export function editMembers(
  object: Buffer,
  members: readonly Member[],
  drop: ReadonlySet<string>,
  add: string,
): Buffer {
  return Buffer.concat(editToPieces(object, members, drop, add))
}

/** The same in pieces, of which those that came are no copies. */
export function editToPieces(
  object: Buffer,
  members: readonly Member[],
  drop: ReadonlySet<string>,
  add: string,
): Buffer[] {
  const pieces: Buffer[] = [Buffer.from(`{${add}`)]
  let isFirst = add === ''
  // Members that stand side by side go on as one piece.
  let from = -1
  let to = -1
  for (const { key, start, end } of members) {
    if (drop.has(key)) continue
    const isBeside = from >= 0 && start === to + 1 && object[to] === COMMA_BYTE
    if (!isBeside) {
      if (from >= 0) pieces.push(object.subarray(from, to))
      if (!isFirst) pieces.push(COMMA)
      isFirst = false
      from = start
    }
    to = end
  }
  if (from >= 0) pieces.push(object.subarray(from, to))
  pieces.push(CLOSE)
  return pieces
}

/** The same for who has not walked the members yet. */
export function editObject(object: Buffer, drop: ReadonlySet<string>, add: string): Buffer {
  return editMembers(object, parseMembers(object), drop, add)
}

/** A member's name, as text between its quotes. */
export function decodeKey(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('latin1', start, end)
  return text.includes('\\') ? (JSON.parse(`"${bytes.toString('utf8', start, end)}"`) as string) : text
}

const COMMA = Buffer.from(',')
const CLOSE = Buffer.from('}')
