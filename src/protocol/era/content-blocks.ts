import { OPEN_ARRAY, OPEN_OBJECT, QUOTE, scanArray, skipSpace } from '../json/scan-json.ts'
import type { JsonObject } from '../json/json.ts'
import { isObject } from '../json/json.ts'
import { parseMembers, getMemberValue } from '../json/json-members.ts'
import { LATEST_LEGACY_VERSION } from '../methods.ts'

/** Content types with the first version that supports them. */
const SINCE: ReadonlyMap<string, string> = new Map([
  ['text', ''],
  ['image', ''],
  ['resource', ''],
  ['audio', '2025-03-26'],
  ['resource_link', '2025-06-18'],
])

/** Content blocks adapted for one client version. */
interface AdaptedBlocks {
  readonly isChanged: boolean
  readonly hasText: boolean
  /** Encodes the adapted blocks as JSON texts. */
  encodeBlocks(): string[]
}

/** Converts a block for a legacy version; unsupported blocks become text. */
export function adaptBlock(block: JsonObject, version: string): JsonObject {
  if (hasType(version, typeof block.type === 'string' ? block.type : undefined)) return block
  const { annotations, _meta } = block
  return {
    type: 'text',
    text: describeBlock(block, version),
    ...(annotations === undefined ? {} : { annotations }),
    ...(_meta === undefined ? {} : { _meta }),
  }
}

/** Adapts the blocks of a JSON list and parses only those that must change; undefined if not a list. */
export function adaptBlocks(list: Buffer, version: string): AdaptedBlocks | undefined {
  if (list[skipSpace(list, 0, list.length)] !== OPEN_ARRAY) return undefined
  const blocks: { readonly bytes: Buffer; readonly type: string | undefined }[] = []
  scanArray(list, (start, end) => {
    const bytes = list.subarray(start, end)
    blocks.push({ bytes, type: readBlockType(bytes) })
  })
  return {
    isChanged: blocks.some(({ type }) => !hasType(version, type)),
    hasText: blocks.some(({ type }) => type === 'text'),
    encodeBlocks: () => blocks.map(({ bytes, type }) => encodeBlockAsText(bytes, type, version)),
  }
}

function encodeBlockAsText(block: Buffer, type: string | undefined, version: string): string {
  const text = block.toString('utf8')
  return hasType(version, type) ? text : JSON.stringify(adaptBlock(JSON.parse(text) as JsonObject, version))
}

function readBlockType(block: Buffer): string | undefined {
  if (block[0] !== OPEN_OBJECT) return undefined
  const type = getMemberValue(block, parseMembers(block), 'type')
  return type?.[0] === QUOTE ? (JSON.parse(type.toString('utf8')) as string) : undefined
}

/** The newest legacy version receives unknown types unchanged, as its clients ignore them. */
function hasType(version: string, type: string | undefined): boolean {
  const since = type === undefined ? '' : SINCE.get(type)
  return version >= LATEST_LEGACY_VERSION || (since !== undefined && version >= since)
}

function describeBlock(block: JsonObject, version: string): string {
  if (block.type === 'resource_link') return formatLink(block)
  if (block.type === 'audio') return formatAudio(block, version)
  return `[content of type ${JSON.stringify(block.type)}, not supported by MCP ${version}]\n${JSON.stringify(block)}`
}

function formatLink({ uri, name, title, mimeType, description }: JsonObject): string {
  const label = [title, name].find(text => typeof text === 'string' && text !== '')
  const type = typeof mimeType === 'string' ? ` (${mimeType})` : ''
  const more = typeof description === 'string' && description !== '' ? `\n${description}` : ''
  return `[resource link${label === undefined ? '' : ` "${String(label)}"`}: ${String(uri)}${type}]${more}`
}

function formatAudio({ data, mimeType }: JsonObject, version: string): string {
  const type = typeof mimeType === 'string' ? ` of type ${mimeType}` : ''
  const size = typeof data === 'string' ? `, ${Buffer.byteLength(data, 'base64')} bytes` : ''
  return `[audio${type}${size}, not supported by MCP ${version}]`
}

/** Converts a prompt message for a legacy version; returns the same object if nothing changes. */
export function adaptMessage(message: unknown, version: string): unknown {
  if (!isObject(message)) return message
  const { content } = message
  const changed = Array.isArray(content) ? adaptList(content, version) : adaptContent(content, version)
  return changed === content ? message : { ...message, content: changed }
}

function adaptList(list: readonly unknown[], version: string): readonly unknown[] {
  const changed = list.map(block => adaptContent(block, version))
  return changed.some((block, index) => block !== list[index]) ? changed : list
}

function adaptContent(block: unknown, version: string): unknown {
  return isObject(block) ? adaptBlock(block, version) : block
}
