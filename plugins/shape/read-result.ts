import { isUtf8 } from 'node:buffer'
import type { Answer, JsonObject } from '../../src/plugin.ts'
import { isObject, refuse, RPC, toolError, createUpstreamAnswer } from '../../src/plugin.ts'
import { firstBytes } from './cut-json.ts'
import { readJson } from './cut-json.ts'
import type { StoredResult } from './kept-results.ts'
import { compilePick, MAX_ASKED } from './pick.ts'
import { isSameJson, jsonIn, META, uriOf } from './shape-result.ts'

/** The same words for a result that is gone, and for one of somebody else. */
const UNKNOWN =
  'no result is kept for you under this handle: its time is over, newer results have taken its place, or the gateway was restarted'

const MAX_HANDLE = 1024

/** Finds what the caller has a handle of. */
type Find = (handle: string) => StoredResult | undefined

/** `read_result`: a whole result page by page, or what an expression picks of it. */
export function readResult(given: JsonObject, find: Find): Answer {
  const asked = askedOf(given)
  if (typeof asked === 'string') return failed(asked)
  const kept = find(withoutScheme(asked.handle))
  if (kept === undefined) return failed(UNKNOWN)
  const text = readable(kept)
  return asked.pick === undefined
    ? page(text, asked.offset, kept)
    : picked(asked.pick, { text, offset: asked.offset, kept })
}

interface AskedPage {
  readonly handle: string
  readonly pick: string | undefined
  readonly offset: number
}

/** Arguments as they may be; or what is wrong with them. */
function askedOf({ handle, pick, offset = 0 }: JsonObject): AskedPage | string {
  if (typeof handle !== 'string' || handle === '' || handle.length > MAX_HANDLE)
    return '"handle" must be the handle of a result'
  if (pick !== undefined && typeof pick !== 'string') return '"pick" must be a JMESPath expression'
  const isOffset = typeof offset === 'number' && Number.isSafeInteger(offset) && offset >= 0
  return isOffset ? { handle, pick, offset } : '"offset" must be a whole number of characters, 0 or more'
}

function picked(
  pick: string,
  { text, offset, kept }: { text: string; offset: number; kept: StoredResult },
): Answer {
  const compiled = compilePick(pick, MAX_ASKED)
  if ('mistake' in compiled) return failed(`"pick" is no JMESPath expression: ${compiled.mistake}`)
  const found = compiled.pick.run(jsonIn(text) ?? readJson(wholeOf(kept)))
  if ('failed' in found) return failed(`"pick" found nothing: ${found.failed}`)
  return page(found.json, offset, kept)
}

/** A model may give the URI where the handle is wanted. */
function withoutScheme(handle: string): string {
  const scheme = uriOf('')
  return handle.startsWith(scheme) ? handle.slice(scheme.length) : handle
}

/** `resources/read`: the whole as one document, the bytes as they were kept. */
export function readResource(uri: string, find: Find): Answer {
  const scheme = uriOf('')
  const isOurs = uri.startsWith(scheme) && uri.length <= MAX_HANDLE + scheme.length
  const kept = isOurs ? find(uri.slice(scheme.length)) : undefined
  if (kept === undefined)
    return refuse(RPC.invalidParams, `Resource not found: ${uri.slice(0, 200)}`, { uri })
  const mimeType = 'application/json'
  const body = isUtf8(kept.bytes) ? { text: wholeOf(kept) } : { blob: kept.bytes.toString('base64') }
  return createUpstreamAnswer({ contents: [{ uri, mimeType, ...body }], ttlMs: 0, cacheScope: 'private' })
}

function wholeOf({ bytes }: StoredResult): string {
  return bytes.toString('utf8')
}

/** Text of a result that is one text; every other as JSON. Offsets count in it. */
function readable(kept: StoredResult): string {
  const whole = wholeOf(kept)
  const value = readJson(whole)
  const content = isObject(value) && Array.isArray(value.content) ? (value.content as unknown[]) : []
  const [block] = content
  const isOneText =
    content.length === 1 && isObject(block) && block.type === 'text' && typeof block.text === 'string'
  if (!isOneText) return whole
  const text = block.text as string
  const structured = (value as JsonObject).structuredContent
  const isTwice = structured === undefined || isSameJson(text, JSON.stringify(structured))
  return isTwice ? text : whole
}

/** One page: the text alone, so that pages make the whole again, and after it where the next one begins. */
function page(text: string, offset: number, { page: bytes, handle }: StoredResult): Answer {
  if (offset > text.length) return failed(`"offset" is behind the end: there are ${text.length} characters`)
  const part = firstBytes(text.slice(offset, offset + bytes), bytes)
  const next = offset + part.length
  const isLast = next >= text.length
  const said = `[characters ${offset} to ${next} of ${text.length}${isLast ? '; this is the end' : `; the next begin at offset ${next}`}]`
  const content = [
    { type: 'text', text: part },
    ...(isLast && offset === 0 ? [] : [{ type: 'text', text: said }]),
  ]
  const more = isLast ? {} : { next }
  return createUpstreamAnswer({ content, _meta: { [META]: { handle, total: text.length, ...more } } })
}

export function failed(why: string): Answer {
  return createUpstreamAnswer(toolError(why))
}
