import { OPEN_OBJECT } from '../json/bytes.ts'
import { editMembers, membersOf, valueOf, type Member } from '../json/members.ts'
import type { Payload } from '../payload.ts'
import { LATEST_LEGACY_VERSION } from '../versions.ts'
import { blocksFor, messageFor } from './blocks.ts'
import { STRUCTURED_SINCE } from './reader.ts'

/** Result members that only the modern era knows. */
const MODERN_MEMBERS: readonly string[] = ['resultType', 'ttlMs', 'cacheScope']

/** What changes in a result: members that go, and the JSON texts of those that come. */
interface Edit {
  readonly drop: Set<string>
  readonly add: string[]
}

/** A result of which the members are known, and whose wire form it is in. */
interface Source {
  readonly bytes: Buffer
  readonly members: readonly Member[]
  readonly isLegacy: boolean
}

/** What a version does not have in the results of these methods. */
const CHANGES: ReadonlyMap<string, (source: Source, version: string, edit: Edit) => void> = new Map([
  ['tools/call', changeToolResult],
  ['tasks/result', changeToolResult],
  ['prompts/get', changePrompt],
])

/**
 * A result as a legacy client of this version reads it. What a legacy server said passes as the bytes it came in where the
 * client speaks the newest legacy version, or has all that the result holds.
 */
export function toLegacyResult(payload: Payload, method = '', version = LATEST_LEGACY_VERSION): Buffer {
  const bytes = payload.bytes()
  const isLegacy = payload.era === 'legacy'
  const change = CHANGES.get(method)
  if (isLegacy && (change === undefined || version >= LATEST_LEGACY_VERSION)) return bytes
  const members = membersOf(bytes)
  const edit: Edit = { drop: new Set(isLegacy ? [] : MODERN_MEMBERS), add: [] }
  change?.({ bytes, members, isLegacy }, version, edit)
  if (edit.add.length === 0 && !members.some(({ key }) => edit.drop.has(key))) return bytes
  return editMembers(bytes, members, edit.drop, edit.add.join(','))
}

function changeToolResult(source: Source, version: string, edit: Edit): void {
  const content = valueOf(source.bytes, source.members, 'content')
  const copy = changeStructured(source, version, edit)
  if (copy === undefined && version >= LATEST_LEGACY_VERSION) return
  const blocks = blocksFor(content ?? EMPTY_LIST, version)
  if (blocks === undefined) return
  const isCopied = copy !== undefined && !blocks.hasText
  if (!isCopied && !blocks.isChanged) return
  const parts = blocks.parts()
  if (isCopied) parts.push(JSON.stringify({ type: 'text', text: copy }))
  replace(edit, 'content', `[${parts.join(',')}]`)
}

const EMPTY_LIST = Buffer.from('[]')

/**
 * Legacy structured content is an object, and older than 2025-06-18 there is none. Returns the JSON text that the client
 * should have among the content instead; undefined when it gets the value as it is.
 */
function changeStructured(
  { bytes, members, isLegacy }: Source,
  version: string,
  edit: Edit,
): string | undefined {
  const value = valueOf(bytes, members, 'structuredContent')
  if (value === undefined) return undefined
  if (version < STRUCTURED_SINCE) edit.drop.add('structuredContent')
  // What a legacy server says is in the legacy form already, null for nothing included.
  else if (isLegacy || value[0] === OPEN_OBJECT) return undefined
  const text = value.toString('utf8')
  if (version >= STRUCTURED_SINCE) replace(edit, 'structuredContent', `{"result":${text}}`)
  return isLegacy && text === 'null' ? undefined : text
}

function changePrompt({ bytes, members }: Source, version: string, edit: Edit): void {
  if (version >= LATEST_LEGACY_VERSION) return
  const text = valueOf(bytes, members, 'messages')?.toString('utf8')
  const messages: unknown = text === undefined ? undefined : JSON.parse(text)
  if (!Array.isArray(messages)) return
  const changed = (messages as unknown[]).map(message => messageFor(message, version))
  if (changed.some((message, index) => message !== messages[index]))
    replace(edit, 'messages', JSON.stringify(changed))
}

function replace({ drop, add }: Edit, key: string, text: string): void {
  drop.add(key)
  add.push(`"${key}":${text}`)
}
