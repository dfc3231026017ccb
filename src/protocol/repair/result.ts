import { isObject, type JsonObject } from '../json/json.ts'
import { keyText } from '../json/members.ts'
import { OPEN_ARRAY, OPEN_OBJECT, scanArray, scanObject } from '../json/scan.ts'
import { Payload } from '../payload.ts'

/** Methods whose results clients validate, and that are passed on as bytes, each with the list in its result. */
const METHODS: ReadonlyMap<string, string | undefined> = new Map([
  ['tools/call', 'content'],
  ['tasks/result', 'content'],
  ['prompts/get', 'messages'],
  ['resources/read', 'contents'],
  ['completion/complete', undefined],
])
/** Members that hold a list of blocks, and those of a block that hold one more. */
const LISTS: readonly string[] = ['content', 'messages', 'contents']
const INNER: readonly string[] = ['content', 'resource', 'annotations']
/** Optional members of results; of others a null may mean something. */
const OPTIONAL: readonly string[] = ['_meta', 'isError', 'structuredContent', 'annotations', 'description']
const NULLS = [Buffer.from(':null'), Buffer.from(': null')]
const FIRST_OF_NULL = 0x6e

/**
 * The result without members that are null where the specification has none, as null means absent, and without optional members of a
 * wrong type; a list that is absent is empty. The very same result if it has none, which two searches in its bytes tell most of the time.
 */
export function repairResult(method: string, result: Payload): Payload {
  if (!METHODS.has(method)) return result
  const bytes = result.bytes()
  const isUnusual = result.isUnusual && METHODS.get(method) !== undefined
  if (!isUnusual && (!mayHaveNull(bytes) || !hasNull(bytes, result))) return result
  return Payload.of(repaired(method, result), result.era).madeOf(result)
}

function mayHaveNull(bytes: Buffer): boolean {
  return NULLS.some(text => bytes.includes(text))
}

/** Tells whether a null of the result's own members is to be dropped; a modern server may have structured content that is null. */
function isDropped(key: string, { era }: Payload): boolean {
  return LISTS.includes(key) || (OPTIONAL.includes(key) && !(era === 'modern' && key === 'structuredContent'))
}

function hasNull(bytes: Buffer, result: Payload): boolean {
  let isFound = false
  scanObject(bytes, 0, bytes.length, (keyStart, keyEnd, start, end) => {
    const key = keyText(bytes, keyStart, keyEnd)
    if (bytes[start] === FIRST_OF_NULL) isFound ||= isDropped(key, result)
    else if (!isFound && bytes[start] === OPEN_ARRAY && LISTS.includes(key))
      isFound = hasNullBlock(bytes.subarray(start, end))
  })
  return isFound
}

function hasNullBlock(list: Buffer): boolean {
  if (!mayHaveNull(list)) return false
  let isFound = false
  scanArray(list, (start, end) => {
    isFound ||= list[start] === OPEN_OBJECT && hasNullMember(list.subarray(start, end))
  })
  return isFound
}

function hasNullMember(block: Buffer): boolean {
  if (!mayHaveNull(block)) return false
  let isFound = false
  scanObject(block, 0, block.length, (keyStart, keyEnd, start, end) => {
    if (block[start] === FIRST_OF_NULL) isFound = true
    else if (block[start] === OPEN_OBJECT && INNER.includes(keyText(block, keyStart, keyEnd)))
      isFound ||= hasNullMember(block.subarray(start, end))
  })
  return isFound
}

function repaired(method: string, result: Payload): JsonObject {
  const value = result.value()
  const list = METHODS.get(method)
  const members = Object.entries(value).flatMap<[string, unknown]>(([key, member]) => {
    if (key === list) return [[key, coerceToList(key, member).map(withoutNullMembers)]]
    if (member === null && isDropped(key, result)) return []
    return isOfWrongType(key, member, result) ? [] : [[key, member]]
  })
  if (list !== undefined && !Object.hasOwn(value, list) && isComplete(value)) members.push([list, []])
  return Object.fromEntries(members)
}

/** False for a task that was made, or a question. */
function isComplete({ resultType = 'complete', task }: JsonObject): boolean {
  return resultType === 'complete' && !isObject(task)
}

/** A list whose only entry stands alone, or a text that stands for a block, is one nevertheless. */
function coerceToList(key: string, member: unknown): readonly unknown[] {
  if (Array.isArray(member)) return member
  if (key === 'content' && typeof member === 'string') return [{ type: 'text', text: member }]
  return isObject(member) ? [member] : []
}

function isOfWrongType(key: string, member: unknown, { era }: Payload): boolean {
  if (key === 'isError') return typeof member !== 'boolean'
  // A modern server may have structured content of any type.
  return (key === '_meta' || (key === 'structuredContent' && era !== 'modern')) && !isObject(member)
}

function withoutNullMembers(block: unknown): unknown {
  if (!isObject(block)) return block
  const members = Object.entries(block).flatMap<[string, unknown]>(([key, member]) => {
    if (member === null) return []
    return [[key, INNER.includes(key) ? withoutNullMembers(member) : member]]
  })
  return Object.fromEntries(members)
}
