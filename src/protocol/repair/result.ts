import { isObject, type JsonObject } from '../json/json.ts'
import { keyText } from '../json/members.ts'
import { OPEN_ARRAY, OPEN_OBJECT, scanArray, scanObject } from '../json/scan.ts'
import { Payload } from '../payload.ts'

/** Methods whose results clients validate, and that are passed on as bytes. */
const METHODS: ReadonlySet<string> = new Set([
  'tools/call',
  'tasks/result',
  'prompts/get',
  'resources/read',
  'completion/complete',
])
/** Members that hold a list of blocks, and those of a block that hold one more. */
const LISTS: readonly string[] = ['content', 'messages', 'contents']
const INNER: readonly string[] = ['content', 'resource', 'annotations']
/** Optional members of results; of others a null may mean something. */
const OPTIONAL: readonly string[] = ['_meta', 'isError', 'structuredContent', 'annotations', 'description']
const NULLS = [Buffer.from(':null'), Buffer.from(': null')]
const FIRST_OF_NULL = 0x6e

/**
 * The result without members that are null where the specification has none: null means absent. The very same result if it has
 * none, which two searches in its bytes tell most of the time.
 */
export function repairResult(method: string, result: Payload): Payload {
  if (!METHODS.has(method)) return result
  const bytes = result.bytes()
  if (!mayHaveNull(bytes) || !hasNull(bytes, result)) return result
  return Payload.of(withoutNulls(result.value(), result), result.era).madeOf(result)
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

function withoutNulls(value: JsonObject, result: Payload): JsonObject {
  const members = Object.entries(value).flatMap<[string, unknown]>(([key, member]) => {
    if (member === null && isDropped(key, result)) return LISTS.includes(key) ? [[key, []]] : []
    if (!LISTS.includes(key) || !Array.isArray(member)) return [[key, member]]
    return [[key, (member as unknown[]).map(withoutNullMembers)]]
  })
  return Object.fromEntries(members)
}

function withoutNullMembers(block: unknown): unknown {
  if (!isObject(block)) return block
  const members = Object.entries(block).flatMap<[string, unknown]>(([key, member]) => {
    if (member === null) return []
    return [[key, INNER.includes(key) ? withoutNullMembers(member) : member]]
  })
  return Object.fromEntries(members)
}
