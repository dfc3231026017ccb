import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Answer, JsonObject, Clock, PluginApi } from '../../src/plugin.ts'
import { isObject, toolError, createUpstreamAnswer, BoundedMap } from '../../src/plugin.ts'
import { readJson, sliceStart, isTextOfJson, parseJsonText, META_KEY } from './shape-result.ts'
import { compilePick, MAX_PICK_LENGTH } from './shaping-rules.ts'

/** Limits the result count, because small results cost memory too. */
const MAX_RESULTS = 20_000
/** Estimated overhead per result. */
const ENTRY_OVERHEAD_BYTES = 512
/** After this share of its lifetime, a repeated result gets a new handle. */
const RENEW_AFTER_SHARE = 0.5
/** Short, as models repeat keys, which are useless without their owner. */
const KEY_LENGTH = 12

type HandleApi = Pick<PluginApi, 'handles' | 'getReplicaId'>

/** Complete result, before it was cut. */
interface StoredResult {
  readonly owner: string
  readonly bytes: Buffer
  /** Page size in bytes. */
  readonly page: number
  readonly handle: string
  /** Clock time in milliseconds. */
  readonly storedAt: number
}

export interface ResultStoreLimits {
  readonly bytes: number
  readonly share: number
  readonly forMs: number
}

/** Complete results of cut answers, by caller. Evicts the oldest, and those of a caller over its share first. */
export class ResultStore {
  readonly #clock: Clock
  #limits: ResultStoreLimits
  #results: BoundedMap<string, StoredResult>

  constructor(clock: Clock, limits: ResultStoreLimits) {
    this.#clock = clock
    this.#limits = limits
    this.#results = createResultMap(limits)
  }

  get size(): number {
    return this.#results.size
  }

  get bytes(): number {
    return this.#results.weight
  }

  /** Applies a new configuration's limits. */
  setLimits(limits: ResultStoreLimits): void {
    if (isDeepStrictEqual(limits, this.#limits)) return
    const before = this.#results
    this.#limits = limits
    this.#results = createResultMap(limits)
    for (const [key, result] of before.entries()) this.#addResult(key, result)
  }

  /** Stores a result and returns its handle; undefined if it exceeds the caller's share. */
  store({ handles, getReplicaId }: HandleApi, owner: string, bytes: Buffer, page: number): string | undefined {
    const { bytes: maxBytes, share, forMs } = this.#limits
    if (bytes.length + ENTRY_OVERHEAD_BYTES > Math.min(share, maxBytes)) return undefined
    const now = this.#clock.now()
    // Identical results share an entry, so that a repeated call neither fills the store nor changes its answer.
    const key = createHash('sha256')
      .update(JSON.stringify([owner, page]))
      .update(bytes)
      .digest('base64url')
      .slice(0, KEY_LENGTH)
    const before = this.#results.get(key)
    if (before !== undefined && now - before.storedAt < forMs * RENEW_AFTER_SHARE) return before.handle
    // Only replicas need a handle that names its owner and its process.
    const handle = getReplicaId() === undefined ? key : handles.seal(key, owner, forMs)
    // Copy, because the bytes may be a slice.
    const result = { owner, bytes: Buffer.from(bytes), page, handle, storedAt: now }
    this.#addResult(key, result)
    this.#clock.after(forMs, () => {
      if (this.#results.get(key) === result) this.#results.delete(key)
    })
    return handle
  }

  /** Finds a caller's result; undefined if expired, evicted or another caller's. */
  findResult({ handles }: HandleApi, owner: string, handle: string): StoredResult | undefined {
    const key = handle.length === KEY_LENGTH ? handle : handles.open(handle, owner)
    const stored = key === undefined ? undefined : this.#results.get(key)
    if (stored === undefined || stored.owner !== owner) return undefined
    return this.#clock.now() - stored.storedAt > this.#limits.forMs ? undefined : stored
  }

  #addResult(key: string, result: StoredResult): void {
    this.#results.set(key, result, result.owner, result.bytes.length + ENTRY_OVERHEAD_BYTES)
  }
}

function createResultMap({ bytes, share }: ResultStoreLimits): BoundedMap<string, StoredResult> {
  return new BoundedMap({ max: MAX_RESULTS, maxWeight: bytes, shareWeight: share })
}

/** Same message for an expired result and another caller's, so that handles reveal nothing. */
const UNKNOWN_HANDLE = 'no result found for this handle: it has expired, was evicted, or the gateway was restarted'

const MAX_HANDLE_LENGTH = 1024

type FindResult = (handle: string) => StoredResult | undefined

/** `read_result`: returns a result page by page, or the matches of an expression. */
export function readResult(args: JsonObject, find: FindResult): Answer {
  const request = parsePageRequest(args)
  if (typeof request === 'string') return toolFailure(request)
  const stored = find(request.handle)
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

function decodeResult({ bytes }: StoredResult): string {
  return bytes.toString('utf8')
}

/** A single-text result's text if it was cut, or has all; otherwise JSON. Offsets refer to it. */
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
  return isTwice || Buffer.byteLength(text) > stored.page ? text : decoded
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
