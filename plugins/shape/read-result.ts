import { isUtf8 } from 'node:buffer'
import type { Answer, JsonObject } from '../../src/plugin.ts'
import { isObject, refuse, RPC, toolError, createUpstreamAnswer } from '../../src/plugin.ts'
import { sliceStart } from './cut-json.ts'
import { readJson } from './cut-json.ts'
import type { StoredResult } from './result-store.ts'
import { compilePick, MAX_PICK_LENGTH } from './pick-expression.ts'
import { isTextOfJson, parseJsonText, META_KEY, formatResultUri } from './shape-result.ts'

/** Same message for an expired result and another caller's, so that handles reveal nothing. */
const UNKNOWN_HANDLE = 'no result found for this handle: it has expired, was evicted, or the gateway was restarted'

const MAX_HANDLE_LENGTH = 1024

type FindResult = (handle: string) => StoredResult | undefined

/** `read_result`: returns a result page by page, or the matches of an expression. */
export function readResult(args: JsonObject, find: FindResult): Answer {
  const request = parsePageRequest(args)
  if (typeof request === 'string') return toolFailure(request)
  const stored = find(stripScheme(request.handle))
  if (stored === undefined) return toolFailure(UNKNOWN_HANDLE)
  const text = toReadableText(stored)
  return request.pick === undefined
    ? createPage(text, request.offset, stored)
    : readPicked(request.pick, { text, offset: request.offset, stored })
}

interface PageRequest {
  readonly handle: string
  readonly pick: string | undefined
  readonly offset: number
}

/** Validates the arguments; returns a message for invalid ones. */
function parsePageRequest({ handle, pick, offset = 0 }: JsonObject): PageRequest | string {
  if (typeof handle !== 'string' || handle === '' || handle.length > MAX_HANDLE_LENGTH)
    return '"handle" must be the handle of a result'
  if (pick !== undefined && typeof pick !== 'string') return '"pick" must be a JMESPath expression'
  const isOffset = typeof offset === 'number' && Number.isSafeInteger(offset) && offset >= 0
  return isOffset ? { handle, pick, offset } : '"offset" must be a non-negative integer'
}

function readPicked(
  pick: string,
  { text, offset, stored }: { text: string; offset: number; stored: StoredResult },
): Answer {
  const compiled = compilePick(pick, MAX_PICK_LENGTH)
  if ('mistake' in compiled) return toolFailure(`"pick" is not a valid JMESPath expression: ${compiled.mistake}`)
  const result = compiled.pick.run(parseJsonText(text) ?? readJson(decodeResult(stored)))
  if ('failed' in result) return toolFailure(`"pick" failed: ${result.failed}`)
  return createPage(result.json, offset, stored)
}

/** Models may pass the URI as the handle. */
function stripScheme(handle: string): string {
  const scheme = formatResultUri('')
  return handle.startsWith(scheme) ? handle.slice(scheme.length) : handle
}

/** `resources/read`: returns the stored bytes as one document. */
export function readResource(uri: string, find: FindResult): Answer {
  const scheme = formatResultUri('')
  const isOurs = uri.startsWith(scheme) && uri.length <= MAX_HANDLE_LENGTH + scheme.length
  const stored = isOurs ? find(uri.slice(scheme.length)) : undefined
  if (stored === undefined) return refuse(RPC.invalidParams, `Resource not found: ${uri.slice(0, 200)}`, { uri })
  const mimeType = 'application/json'
  const body = isUtf8(stored.bytes) ? { text: decodeResult(stored) } : { blob: stored.bytes.toString('base64') }
  return createUpstreamAnswer({ contents: [{ uri, mimeType, ...body }], ttlMs: 0, cacheScope: 'private' })
}

function decodeResult({ bytes }: StoredResult): string {
  return bytes.toString('utf8')
}

/** Text of a single-text result, otherwise JSON. Offsets refer to it. */
function toReadableText(stored: StoredResult): string {
  const decoded = decodeResult(stored)
  const value = readJson(decoded)
  const content = isObject(value) && Array.isArray(value.content) ? (value.content as unknown[]) : []
  const [block] = content
  const isOneText = content.length === 1 && isObject(block) && block.type === 'text' && typeof block.text === 'string'
  if (!isOneText) return decoded
  const text = block.text as string
  const structured = (value as JsonObject).structuredContent
  const isTwice = structured === undefined || isTextOfJson(text, JSON.stringify(structured))
  return isTwice ? text : decoded
}

/** Returns the page as one text block, followed by a block with the next offset. */
function createPage(text: string, offset: number, { page: bytes, handle }: StoredResult): Answer {
  if (offset > text.length) return toolFailure(`"offset" is past the end: the result has ${text.length} characters`)
  const part = sliceStart(text.slice(offset, offset + bytes), bytes)
  const next = offset + part.length
  const isLast = next >= text.length
  const position = `[characters ${offset} to ${next} of ${text.length}${isLast ? '; end of result' : `; next offset: ${next}`}]`
  const content = [{ type: 'text', text: part }, ...(isLast && offset === 0 ? [] : [{ type: 'text', text: position }])]
  const more = isLast ? {} : { next }
  return createUpstreamAnswer({ content, _meta: { [META_KEY]: { handle, total: text.length, ...more } } })
}

export function toolFailure(message: string): Answer {
  return createUpstreamAnswer(toolError(message))
}
