import type { JsonObject } from '../../src/plugin.ts'
import { isObject, Payload, estimateTokens } from '../../src/plugin.ts'
import type { LeftOut } from './cut-json.ts'
import { cutJson, splitHeadAndTail } from './cut-json.ts'
import type { CompiledPick } from './pick-expression.ts'
import { removePath } from './pick-expression.ts'
import { readJson } from './cut-json.ts'
import type { ShapingRule } from './shaping-rules.ts'

/** Bytes reserved for the omission note. */
const NOTE_BYTES = 320
/** Minimum bytes for a shortened text. */
const MIN_TEXT_BYTES = 200
/** Member of a result's `_meta` that describes the shaping. */
export const META_KEY = 'io.tapgate/result'
/** Member of a cut object that counts the omissions. */
const MORE_MEMBER = '_more'

export interface ShapedResult {
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
export function* shapeResult(result: Payload, shaping: ShapingOptions): Generator<void, ShapedResult | undefined> {
  const { maxBytes } = shaping.rule
  const changes = (shaping.requestedPick ?? shaping.rule.pick) !== undefined || shaping.rule.drop.length > 0
  if (!changes && result.bytes().length <= (maxBytes ?? Infinity)) return undefined
  if (result.isToolError) return undefined
  const value = readJson(result.bytes().toString('utf8'))
  const shaped = isObject(value)
    ? yield* shapeValue(new ResultShaper(value, shaping), result, shaping, changes)
    : 'unreadable'
  if (shaped !== 'unreadable') return shaped
  return maxBytes === undefined ? undefined : withholdResult(result, shaping)
}

function* shapeValue(
  work: ResultShaper,
  result: Payload,
  { rule, requestedPick }: ShapingOptions,
  changes: boolean,
): Generator<void, ShapedResult | undefined | 'unreadable'> {
  try {
    if (changes) yield* work.project(requestedPick ?? rule.pick)
    yield* work.cutToLimit(rule.maxBytes)
    return work.toShapedResult(result)
  } catch (error) {
    // Nested too deeply to serialize.
    if (error instanceof RangeError) return 'unreadable'
    throw error
  }
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

  toShapedResult({ era }: Payload): ShapedResult | undefined {
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
  *project(pick: CompiledPick | undefined): Generator<void> {
    const source = this.#structured ?? this.#parseOnlyText()
    if (source === undefined) return
    const dropped = this.#shaping.rule.drop.reduce<unknown>(removePath, source)
    const result = pick?.run(dropped)
    if (result?.failed !== undefined) {
      this.#meta = { failed: `pick: ${result.failed}` }
      return
    }
    if (result !== undefined) this.#setJson('pick', result.json)
    else if (dropped !== source) this.#setJson('drop', JSON.stringify(dropped))
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
  *cutToLimit(maxBytes = Infinity): Generator<void> {
    const sizes = this.#content.map(countTextBytes)
    const isLong = sizes.reduce((all, size) => all + size, 0) > maxBytes
    const structure = this.#structured === undefined ? '' : JSON.stringify(this.#structured)
    const isLarge = Buffer.byteLength(structure) > maxBytes
    yield
    if (!isLong && !isLarge) return
    const handle = this.#shaping.store(maxBytes)
    yield
    this.#done.push('cut')
    let structured: string | undefined
    if (isLarge) structured = yield* this.#cutStructured(maxBytes, handle)
    if (isLong) yield* this.#cutTexts(maxBytes, handle, structure, structured)
    else if (isLarge)
      this.#content = [...this.#content, { type: 'text', text: formatOmissionNote({ offset: 0, handle }) }]
    this.#meta = { ...this.#meta, ...createMeta(handle, this.#meta?.leftOut as LeftOut | undefined) }
  }

  *#cutStructured(maxBytes: number, handle: string | undefined): Generator<void, string> {
    const { schema } = this.#shaping
    const dropsMembers = !isObject(schema)
    const cut = yield* cutJson(this.#structured, maxBytes - NOTE_BYTES, { dropsMembers })
    if (cut === undefined || !isObject(cut.value)) {
      this.#structured = {}
      return '{}'
    }
    this.#meta = { leftOut: cut.leftOut }
    this.#structured = isClosed(schema)
      ? cut.value
      : { ...cut.value, [MORE_MEMBER]: describeOmission(cut.leftOut, handle) }
    return JSON.stringify(this.#structured)
  }

  /** Keeps texts that fit, shortens the first that does not, and omits the rest. */
  *#cutTexts(maxBytes: number, handle: string | undefined, before: string, after: string | undefined): Generator<void> {
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
        blocks.push(replaceBlockText(block, yield* this.#shortenText(text, maxTextBytes, handle, isOne)))
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
  *#shortenText(
    text: string,
    maxBytes: number,
    handle: string | undefined,
    hasOffset: boolean,
  ): Generator<void, string> {
    const json = parseJsonText(text)
    const cut = json === undefined ? undefined : yield* cutJson(json, maxBytes, { dropsMembers: true })
    if (cut !== undefined) {
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
  const storedFields = handle === undefined ? { kept: false } : { handle, uri: formatResultUri(handle) }
  return { ...storedFields, ...(leftOut === undefined ? {} : { leftOut }) }
}

export function formatResultUri(handle: string): string {
  return `tapgate://result/${handle}`
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
