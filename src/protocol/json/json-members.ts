import { COMMA as COMMA_BYTE, scanObject } from './scan-json.ts'

/** Position of a member: `start` of its name, `end` of its value. */
export interface Member {
  readonly key: string
  readonly start: number
  readonly valueStart: number
  readonly end: number
}

/** Lists the members of an object's JSON text in order, without parsing values. */
export function parseMembers(object: Buffer): Member[] {
  const members: Member[] = []
  scanObject(object, 0, object.length, (keyStart, keyEnd, valueStart, end) => {
    members.push({ key: decodeKey(object, keyStart, keyEnd), start: keyStart - 1, valueStart, end })
  })
  return members
}

/** Returns the JSON text of a member's value; the last one if the name is duplicated. */
export function getMemberValue(object: Buffer, members: readonly Member[], key: string): Buffer | undefined {
  const member = members.findLast(candidate => candidate.key === key)
  return member && object.subarray(member.valueStart, member.end)
}

/** Returns true if an object may have this member, by text search; names may be escaped. */
export function mayHaveMember(object: Buffer, key: string): boolean {
  return object.includes(`"${key}"`) || object.includes('\\u')
}

/** Finds the JSON text of a member's value, without parsed members. */
export function findMemberValue(object: Buffer, key: string): Buffer | undefined {
  return getMemberValue(object, parseMembers(object), key)
}

/** Drops members from an object's JSON text and prepends others. All other bytes stay unchanged. */
export function editMembers(
  object: Buffer,
  members: readonly Member[],
  drop: ReadonlySet<string>,
  add: string,
): Buffer {
  return Buffer.concat(editToPieces(object, members, drop, add))
}

/** Edits an object into pieces that reference the original bytes. */
export function editToPieces(
  object: Buffer,
  members: readonly Member[],
  drop: ReadonlySet<string>,
  add: string,
): Buffer[] {
  const pieces: Buffer[] = [Buffer.from(`{${add}`)]
  let isFirst = add === ''
  // Adjacent members stay one piece.
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

/** Edits an object whose members have not been parsed. */
export function editObject(object: Buffer, drop: ReadonlySet<string>, add: string): Buffer {
  return editMembers(object, parseMembers(object), drop, add)
}

/** Decodes a member name from the text between its quotes. */
export function decodeKey(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('latin1', start, end)
  return text.includes('\\') ? (JSON.parse(`"${bytes.toString('utf8', start, end)}"`) as string) : text
}

const COMMA = Buffer.from(',')
const CLOSE = Buffer.from('}')
