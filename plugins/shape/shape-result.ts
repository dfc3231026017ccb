import type { JsonObject } from '../../src/plugin.ts'
import { isObject, Payload, estimateTokens } from '../../src/plugin.ts'
import type { CompiledPick, ShapingRule } from './shaping-rules.ts'
import { removePath } from './shaping-rules.ts'

/** Text with a number that JavaScript may not represent exactly, such as 2^53+1 or 1e400. */
const INEXACT = /\d{16}|\d[eE]\+?\d{3}/
/** Missing in the TypeScript library types. */
const { rawJSON, isRawJSON: isNumberText } = JSON as unknown as {
  rawJSON(text: string): object
  isRawJSON(value: unknown): boolean
}

/** Parses JSON and preserves the text of inexact numbers; undefined for invalid JSON. */
export function readJson(text: string): unknown {
  try {
    return INEXACT.test(text) ? (JSON.parse(text, keepNumberText) as unknown) : JSON.parse(text)
  } catch {
    return undefined
  }
}

function keepNumberText(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source
  return typeof value === 'number' && source !== undefined && source !== String(value) ? rawJSON(source) : value
}

/** Share for a text's start; the end gets the remainder. */
const HEAD_SHARE = 0.7

/** Cuts a text to its start and end within a byte budget. Offsets count UTF-16 units. */
function splitHeadAndTail(text: string, budget: number): { head: string; tail: string; leftOut: number } {
  const head = sliceStart(text, Math.floor(budget * HEAD_SHARE))
  const tail = sliceEnd(text.slice(head.length), Math.ceil(budget * (1 - HEAD_SHARE)))
  return { head, tail, leftOut: text.length - head.length - tail.length }
}

/** Longest prefix within a byte budget; never splits a character. */
export function sliceStart(text: string, budget: number): string {
  const bytes = Buffer.from(text.slice(0, budget + 1))
  if (text.length <= budget && bytes.length <= budget) return text
  // A stream keeps an incomplete character for its next part.
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, budget), { stream: true })
}

function sliceEnd(text: string, budget: number): string {
  const bytes = Buffer.from(text.slice(-budget))
  let start = Math.max(0, bytes.length - budget)
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) start++
  return bytes.toString('utf8', start)
}

const ELLIPSIS = '…'
/** Characters that strings may have for each item that lists may have. */
const CHARACTERS_PER_ITEM = 16

interface LeftOut {
  items: number
  members: number
  characters: number
}

interface CutValue {
  readonly value: unknown
  readonly leftOut: LeftOut
}

interface CutOptions {
  /** False if a schema may require members: cut only strings and lists. */
  readonly dropsMembers: boolean
}

/**
 * Cuts a JSON value to a byte budget: lists and objects keep their first items, and strings their start. The same
 * limit applies to all of them: the largest one that fits.
 */
export function cutJson(value: unknown, budget: number, options: CutOptions): CutValue {
  const fits = (cut: CutValue): boolean => Buffer.byteLength(JSON.stringify(cut.value)) <= budget
  let best = limitValue(value, 0, options)
  let low = 0
  let high = 1
  for (let cut = limitValue(value, high, options); fits(cut); cut = limitValue(value, high, options)) {
    if (Object.values(cut.leftOut).every(count => count === 0)) return cut
    best = cut
    low = high
    high *= 2
  }
  while (high - low > 1) {
    const middle = (low + high) >> 1
    const cut = limitValue(value, middle, options)
    if (fits(cut)) [low, best] = [middle, cut]
    else high = middle
  }
  return best
}

function limitValue(whole: unknown, limit: number, { dropsMembers }: CutOptions): CutValue {
  const leftOut: LeftOut = { items: 0, members: 0, characters: 0 }
  const cut = (value: unknown): unknown => {
    if (typeof value === 'string') {
      const length = toCharBoundary(value, limit * CHARACTERS_PER_ITEM)
      if (value.length <= length + 1) return value
      leftOut.characters += value.length - length
      return value.slice(0, length) + ELLIPSIS
    }
    if (Array.isArray(value)) {
      leftOut.items += Math.max(0, value.length - limit)
      return value.slice(0, limit).map(cut)
    }
    if (!isObject(value) || isNumberText(value)) return value
    const entries = Object.entries(value)
    const kept = dropsMembers ? entries.slice(0, limit) : entries
    leftOut.members += entries.length - kept.length
    return Object.fromEntries(kept.map(([key, inner]) => [key, cut(inner)]))
  }
  return { value: cut(whole), leftOut }
}

/** Moves an index out of a surrogate pair. */
function toCharBoundary(text: string, index: number): number {
  const code = text.charCodeAt(index - 1)
  return code >= 0xd800 && code <= 0xdbff && index < text.length ? index - 1 : index
}

/** Bytes reserved for the omission note. */
const NOTE_BYTES = 320
/** Minimum bytes for a shortened text. */
const MIN_TEXT_BYTES = 200
/** Member of a result's `_meta` that describes the shaping. */
export const META_KEY = 'io.tapgate/result'
/** Member of a cut object that counts the omissions. */
const MORE_MEMBER = '_more'

interface ShapedResult {
  readonly result: Payload
  readonly done: readonly ('pick' | 'drop' | 'cut')[]
}

interface ShapingOptions {
  readonly rule: Omit<ShapingRule, 'asClient'>
  /** Caller's expression; replaces the rule's. */
  readonly requestedPick: CompiledPick | undefined
  /** The tool's output schema, if any. */
  readonly schema: unknown
  /** Stores the complete result and returns its handle; undefined if too large. */
  store(page: number): string | undefined
}

/** Shapes a result; undefined if no change is needed. */
export function shapeResult(result: Payload, shaping: ShapingOptions): ShapedResult | undefined {
  const { rule, requestedPick } = shaping
  const projects = requestedPick !== undefined || rule.pick !== undefined || rule.drop.length > 0
  const { maxBytes = Infinity } = rule
  if ((!projects && result.bytes().length <= maxBytes) || result.isToolError) return undefined
  const value = readJson(result.bytes().toString('utf8'))
  try {
    if (isObject(value)) return new ResultShaper(value, shaping).shape(result, projects)
  } catch (error) {
    throwUnlessTooDeep(error)
  }
  return maxBytes === Infinity ? undefined : withholdResult(result, shaping)
}

function throwUnlessTooDeep(error: unknown): void {
  if (!(error instanceof RangeError)) throw error
}

/** Replaces an unreadable result, such as one nested a million times, and stores the original. */
function withholdResult(result: Payload, shaping: ShapingOptions): ShapedResult {
  const handle = shaping.store(shaping.rule.maxBytes ?? 0)
  const text = formatOmissionNote({ offset: 0, tokens: estimateTokens(result.bytes().length), handle })
  const meta = { [META_KEY]: createMeta(handle, undefined) }
  return {
    result: Payload.of({ content: [{ type: 'text', text }], _meta: meta }, result.era),
    done: ['cut'],
  }
}

/** Shapes one result; never changes the input in place. */
class ResultShaper {
  readonly #shaping: ShapingOptions
  readonly #value: JsonObject
  #content: readonly unknown[]
  #structured: unknown
  readonly #done: ShapedResult['done'][number][] = []
  #meta: JsonObject | undefined

  constructor(value: JsonObject, shaping: ShapingOptions) {
    this.#shaping = shaping
    this.#value = value
    this.#content = Array.isArray(value.content) ? (value.content as unknown[]) : []
    this.#structured = value.structuredContent
  }

  shape({ era }: Payload, projects: boolean): ShapedResult | undefined {
    const { rule, requestedPick } = this.#shaping
    if (projects) this.#project(requestedPick ?? rule.pick)
    this.#cutToLimit(rule.maxBytes)
    if (this.#done.length === 0 && this.#meta === undefined) return undefined
    const { content: _content, structuredContent: _structured, _meta, ...rest } = this.#value
    const value = {
      ...rest,
      content: this.#content,
      ...(this.#structured === undefined ? {} : { structuredContent: this.#structured }),
      ...(this.#meta === undefined
        ? { _meta }
        : { _meta: { ...(isObject(_meta) ? _meta : {}), [META_KEY]: this.#meta } }),
    }
    return { result: Payload.fromBytes(Buffer.from(JSON.stringify(value)), era), done: this.#done }
  }

  /** Applies drop and pick to the structured content, or to JSON in a single text block. */
  #project(pick: CompiledPick | undefined): void {
    const source = this.#structured ?? this.#parseOnlyText()
    if (source === undefined) return
    const dropped = this.#shaping.rule.drop.reduce<unknown>(removePath, source)
    const result = pick?.run(dropped)
    if (result?.failed !== undefined) {
      this.#meta = { failed: `pick: ${result.failed}` }
      return
    }
    if (result !== undefined) this.#setJson('pick', result.json)
    else this.#setJson('drop', JSON.stringify(dropped))
  }

  #setJson(change: 'pick' | 'drop', json: string): void {
    this.#done.push(change)
    const value = readJson(json)
    this.#structured = this.#structured !== undefined && isObject(value) ? value : undefined
    this.#replaceTextBlocks(json)
  }

  #parseOnlyText(): unknown {
    const [only, another] = this.#content.filter(isTextBlock)
    return only === undefined || another !== undefined ? undefined : parseJsonText(only.text)
  }

  /** Replaces all text blocks with one. */
  #replaceTextBlocks(text: string): void {
    const first = this.#content.find(isTextBlock)
    const remainingBlocks = this.#content.filter(block => !isTextBlock(block) || block === first)
    const block = { type: 'text', text }
    this.#content =
      first === undefined
        ? [block, ...remainingBlocks]
        : remainingBlocks.map(sibling => (sibling === first ? { ...first, text } : sibling))
  }

  /** Cuts text and structured content separately, because a client shows the model only one of them. */
  #cutToLimit(maxBytes = Infinity): void {
    const sizes = this.#content.map(countTextBytes)
    const isLong = sizes.reduce((all, size) => all + size, 0) > maxBytes
    const structure = this.#structured === undefined ? '' : JSON.stringify(this.#structured)
    const isLarge = Buffer.byteLength(structure) > maxBytes
    if (!isLong && !isLarge) return
    const handle = this.#shaping.store(maxBytes)
    this.#done.push('cut')
    let structured: string | undefined
    if (isLarge) structured = this.#cutStructured(maxBytes, handle)
    if (isLong) this.#cutTexts(maxBytes, handle, structure, structured)
    else if (isLarge)
      this.#content = [...this.#content, { type: 'text', text: formatOmissionNote({ offset: 0, handle }) }]
    this.#meta = { ...this.#meta, ...createMeta(handle, this.#meta?.leftOut as LeftOut | undefined) }
  }

  #cutStructured(maxBytes: number, handle: string | undefined): string {
    const { schema } = this.#shaping
    const { value, leftOut } = cutJson(this.#structured, maxBytes - NOTE_BYTES, { dropsMembers: !isObject(schema) })
    this.#meta = { leftOut }
    this.#structured = isClosed(schema)
      ? value
      : { ...(value as JsonObject), [MORE_MEMBER]: describeOmission(leftOut, handle) }
    return JSON.stringify(this.#structured)
  }

  /** Keeps texts that fit, shortens the first that does not, and omits the rest. */
  #cutTexts(maxBytes: number, handle: string | undefined, before: string, after: string | undefined): void {
    const isOne = this.#content.filter(block => countTextBytes(block) > 0).length === 1
    let remainingBytes = maxBytes - (isOne ? NOTE_BYTES : 2 * NOTE_BYTES)
    let leftOut = 0
    const blocks: unknown[] = []
    for (const block of this.#content) {
      const size = countTextBytes(block)
      if (size <= remainingBytes) {
        blocks.push(block)
        remainingBytes -= size
        continue
      }
      const text = getBlockText(block)
      const maxTextBytes = remainingBytes
      remainingBytes = 0
      if (after !== undefined && isTextOfJson(text, before)) blocks.push(replaceBlockText(block, after))
      else if (maxTextBytes >= MIN_TEXT_BYTES)
        blocks.push(replaceBlockText(block, this.#shortenText(text, maxTextBytes, handle, isOne)))
      else leftOut += size
    }
    this.#content = blocks
    if (leftOut > 0)
      this.#content = [
        ...this.#content,
        { type: 'text', text: formatOmissionNote({ offset: 0, tokens: estimateTokens(leftOut), handle }) },
      ]
  }

  /** Shortens JSON by items, and other text to its start and end. */
  #shortenText(text: string, maxBytes: number, handle: string | undefined, hasOffset: boolean): string {
    const json = parseJsonText(text)
    if (json !== undefined) {
      const cut = cutJson(json, maxBytes, { dropsMembers: true })
      this.#meta ??= { leftOut: cut.leftOut }
      const omission = describeOmission(cut.leftOut, handle)
      if (Array.isArray(cut.value)) return JSON.stringify([...(cut.value as unknown[]), omission])
      return JSON.stringify({ ...(cut.value as JsonObject), [MORE_MEMBER]: omission })
    }
    const { head, tail, leftOut } = splitHeadAndTail(text, maxBytes)
    const middle = text.slice(head.length, text.length - tail.length)
    const offset = hasOffset ? head.length : 0
    this.#meta ??= { leftOut: { items: 0, members: 0, characters: leftOut } }
    return `${head}\n${formatOmissionNote({ offset, tokens: estimateTokens(middle), handle })}\n${tail}`
  }
}

/** True if the schema forbids unknown members. */
function isClosed(schema: unknown): boolean {
  return isObject(schema) && (schema.additionalProperties === false || schema.unevaluatedProperties === false)
}

/** Members that count the omissions and give the handle. */
function describeOmission(leftOut: LeftOut, handle: string | undefined): JsonObject {
  const { items, members, characters } = leftOut
  return { more: items || members || characters, ...(handle === undefined ? { kept: false } : { handle }) }
}

function createMeta(handle: string | undefined, leftOut: LeftOut | undefined): JsonObject {
  const storedFields = handle === undefined ? { kept: false } : { handle }
  return { ...storedFields, ...(leftOut === undefined ? {} : { leftOut }) }
}

interface OmissionNote {
  readonly offset: number
  readonly tokens?: number
  readonly handle: string | undefined
}

/** Omission note for the model. */
function formatOmissionNote({ offset, tokens, handle }: OmissionNote): string {
  const missing = tokens === undefined ? 'a part' : `about ${tokens} tokens`
  if (handle === undefined) return `[${missing} omitted; the complete result is too large to be stored]`
  const at = offset === 0 ? '' : `, "offset": ${offset}`
  return `[${missing} omitted; read the complete result with read_result: {"handle": "${handle}"${at}}]`
}

interface TextBlock extends JsonObject {
  readonly text: string
}

function isTextBlock(block: unknown): block is TextBlock {
  return isObject(block) && block.type === 'text' && typeof block.text === 'string'
}

/** Text of a block or its embedded resource; otherwise empty. */
function getBlockText(block: unknown): string {
  if (isTextBlock(block)) return block.text
  const resource = isObject(block) && block.type === 'resource' ? block.resource : undefined
  return isObject(resource) && typeof resource.text === 'string' ? resource.text : ''
}

function countTextBytes(block: unknown): number {
  return Buffer.byteLength(getBlockText(block))
}

function replaceBlockText(block: unknown, text: string): unknown {
  if (isTextBlock(block)) return { ...block, text }
  const { resource, ...rest } = block as JsonObject
  return { ...rest, resource: { ...(resource as JsonObject), text } }
}

/** Parses a text that is a JSON object or list; undefined otherwise. */
export function parseJsonText(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined
  const value = readJson(text)
  return typeof value === 'object' && value !== null ? value : undefined
}

/** True if a text equals the compact JSON. */
export function isTextOfJson(text: string, json: string): boolean {
  return json !== '' && (text === json || JSON.stringify(parseJsonText(text)) === json)
}
