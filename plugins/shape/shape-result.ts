import type { JsonObject } from '../../src/plugin.ts'
import { isObject, Payload, estimateTokens } from '../../src/plugin.ts'
import type { LeftOut } from './cut-json.ts'
import { cutJson, cutText } from './cut-json.ts'
import type { Pick } from './pick.ts'
import { without } from './pick.ts'
import { readJson } from './cut-json.ts'
import type { Rule } from './rules.ts'

/** Room for what is said of a cut. */
const NOTE_BYTES = 320
/** Bytes that a part of a text must get to be worth it. */
const MIN_TEXT_BYTES = 200
/** Member of a result's `_meta` that says what was done to it. */
export const META = 'io.tapgate/result'
/** Member of a cut object that says how much is missing. */
const MORE = '_more'

/** A result in its new form, and what was done to it. */
export interface Shaped {
  readonly result: Payload
  readonly done: readonly ('pick' | 'drop' | 'cut')[]
}

interface Shaping {
  readonly rule: Omit<Rule, 'asClient'>
  /** Expression that the caller asked for; it counts instead of the rule's. */
  readonly asked: Pick | undefined
  /** Schema of the tool's results, if it has one. */
  readonly schema: unknown
  /** Keeps the whole, and gives its handle; undefined where it is too large to be kept. */
  keep(page: number): string | undefined
}

/** Brings a result into the form that a rule wants; undefined where it has it already, as it mostly does. */
export function* shapeResult(result: Payload, shaping: Shaping): Generator<void, Shaped | undefined> {
  const { maxBytes } = shaping.rule
  const changes = (shaping.asked ?? shaping.rule.pick) !== undefined || shaping.rule.drop.length > 0
  if (!changes && result.bytes().length <= (maxBytes ?? Infinity)) return undefined
  if (result.isToolError) return undefined
  const value = readJson(result.bytes().toString('utf8'))
  const shaped = isObject(value)
    ? yield* shapedValue(new Work(value, shaping), result, shaping, changes)
    : 'unreadable'
  if (shaped !== 'unreadable') return shaped
  return maxBytes === undefined ? undefined : withheld(result, shaping)
}

function* shapedValue(
  work: Work,
  result: Payload,
  { rule, asked }: Shaping,
  changes: boolean,
): Generator<void, Shaped | undefined | 'unreadable'> {
  try {
    if (changes) yield* work.project(asked ?? rule.pick)
    yield* work.cut(rule.maxBytes)
    return work.shaped(result)
  } catch (error) {
    // Nested so deeply that it cannot be written any more.
    if (error instanceof RangeError) return 'unreadable'
    throw error
  }
}

/** A result that nobody can read, such as one nested a million times: nothing of it is given on, and the whole is kept. */
function withheld(result: Payload, shaping: Shaping): Shaped {
  const handle = shaping.keep(shaping.rule.maxBytes ?? 0)
  const text = note({ offset: 0, tokens: estimateTokens(result.bytes().length), handle })
  const meta = { [META]: metaOf(handle, undefined) }
  return {
    result: Payload.of({ content: [{ type: 'text', text }], _meta: meta }, result.era),
    done: ['cut'],
  }
}

/** One result on its way to another form. What comes in is never changed in place. */
class Work {
  readonly #shaping: Shaping
  readonly #value: JsonObject
  #content: readonly unknown[]
  #structured: unknown
  readonly #done: Shaped['done'][number][] = []
  #meta: JsonObject | undefined

  constructor(value: JsonObject, shaping: Shaping) {
    this.#shaping = shaping
    this.#value = value
    this.#content = Array.isArray(value.content) ? (value.content as unknown[]) : []
    this.#structured = value.structuredContent
  }

  shaped({ era }: Payload): Shaped | undefined {
    if (this.#done.length === 0 && this.#meta === undefined) return undefined
    const { content: _content, structuredContent: _structured, _meta, ...rest } = this.#value
    const value = {
      ...rest,
      content: this.#content,
      ...(this.#structured === undefined ? {} : { structuredContent: this.#structured }),
      ...(this.#meta === undefined
        ? { _meta }
        : { _meta: { ...(isObject(_meta) ? _meta : {}), [META]: this.#meta } }),
    }
    return { result: Payload.fromBytes(Buffer.from(JSON.stringify(value)), era), done: this.#done }
  }

  /** Leaves paths out, and picks: of what is structured, or of JSON in the one text. Other text has nothing to pick from. */
  *project(pick: Pick | undefined): Generator<void> {
    const source = this.#structured ?? this.#onlyJson()
    if (source === undefined) return
    const dropped = this.#shaping.rule.drop.reduce<unknown>(without, source)
    const found = pick?.run(dropped)
    if (found?.failed !== undefined) {
      this.#meta = { failed: `pick: ${found.failed}` }
      return
    }
    if (found !== undefined) this.#become('pick', found.json)
    else if (dropped !== source) this.#become('drop', JSON.stringify(dropped))
  }

  #become(how: 'pick' | 'drop', json: string): void {
    this.#done.push(how)
    const value = readJson(json)
    this.#structured = this.#structured !== undefined && isObject(value) ? value : undefined
    this.#replaceTexts(json)
  }

  /** JSON of the one text that there is. */
  #onlyJson(): unknown {
    const [only, another] = this.#content.filter(isText)
    return only === undefined || another !== undefined ? undefined : jsonIn(only.text)
  }

  /** One text in the place of all. */
  #replaceTexts(text: string): void {
    const first = this.#content.find(isText)
    const others = this.#content.filter(block => !isText(block) || block === first)
    const block = { type: 'text', text }
    this.#content =
      first === undefined
        ? [block, ...others]
        : others.map(other => (other === first ? { ...first, text } : other))
  }

  /** Cuts what is too large, text and structure each on their own, as a client shows the model one of them. */
  *cut(maxBytes = Infinity): Generator<void> {
    const sizes = this.#content.map(textBytes)
    const isLong = sizes.reduce((all, size) => all + size, 0) > maxBytes
    const structure = this.#structured === undefined ? '' : JSON.stringify(this.#structured)
    const isLarge = Buffer.byteLength(structure) > maxBytes
    yield
    if (!isLong && !isLarge) return
    const handle = this.#shaping.keep(maxBytes)
    yield
    this.#done.push('cut')
    let structured: string | undefined
    if (isLarge) structured = yield* this.#cutStructure(maxBytes, handle)
    if (isLong) yield* this.#cutTexts(maxBytes, handle, structure, structured)
    else if (isLarge) this.#content = [...this.#content, { type: 'text', text: note({ offset: 0, handle }) }]
    this.#meta = { ...this.#meta, ...metaOf(handle, this.#meta?.leftOut as LeftOut | undefined) }
  }

  *#cutStructure(maxBytes: number, handle: string | undefined): Generator<void, string> {
    const { schema } = this.#shaping
    const dropsMembers = !isObject(schema)
    const cut = yield* cutJson(this.#structured, maxBytes - NOTE_BYTES, { dropsMembers })
    if (cut === undefined || !isObject(cut.value)) {
      this.#structured = {}
      return '{}'
    }
    this.#meta = { leftOut: cut.leftOut }
    this.#structured = isClosed(schema) ? cut.value : { ...cut.value, [MORE]: more(cut.leftOut, handle) }
    return JSON.stringify(this.#structured)
  }

  /** Texts that fit stay; the one that does not is cut, and what comes after it is left out. */
  *#cutTexts(
    maxBytes: number,
    handle: string | undefined,
    before: string,
    after: string | undefined,
  ): Generator<void> {
    const isOne = this.#content.filter(block => textBytes(block) > 0).length === 1
    let left = maxBytes - (isOne ? NOTE_BYTES : 2 * NOTE_BYTES)
    let leftOut = 0
    const kept: unknown[] = []
    for (const block of this.#content) {
      const size = textBytes(block)
      if (size <= left) {
        kept.push(block)
        left -= size
        continue
      }
      const text = textOf(block)
      const room = left
      left = 0
      if (after !== undefined && isSameJson(text, before)) kept.push(withText(block, after))
      else if (room >= MIN_TEXT_BYTES)
        kept.push(withText(block, yield* this.#shorter(text, room, handle, isOne)))
      else leftOut += size
    }
    this.#content = kept
    if (leftOut > 0)
      this.#content = [
        ...this.#content,
        { type: 'text', text: note({ offset: 0, tokens: estimateTokens(leftOut), handle }) },
      ]
  }

  /** JSON as JSON with fewer items, other text by its two ends. */
  *#shorter(
    text: string,
    room: number,
    handle: string | undefined,
    hasOffset: boolean,
  ): Generator<void, string> {
    const json = jsonIn(text)
    const cut = json === undefined ? undefined : yield* cutJson(json, room, { dropsMembers: true })
    if (cut !== undefined) {
      this.#meta ??= { leftOut: cut.leftOut }
      const said = more(cut.leftOut, handle)
      if (Array.isArray(cut.value)) return JSON.stringify([...(cut.value as unknown[]), said])
      return JSON.stringify({ ...(cut.value as JsonObject), [MORE]: said })
    }
    const { head, tail, leftOut } = cutText(text, room)
    const middle = text.slice(head.length, text.length - tail.length)
    const offset = hasOffset ? head.length : 0
    this.#meta ??= { leftOut: { items: 0, members: 0, characters: leftOut } }
    return `${head}\n${note({ offset, tokens: estimateTokens(middle), handle })}\n${tail}`
  }
}

/** True for a schema that forbids members which it does not name. */
function isClosed(schema: unknown): boolean {
  return isObject(schema) && (schema.additionalProperties === false || schema.unevaluatedProperties === false)
}

/** The members that say how much is missing and how to get it. */
function more(leftOut: LeftOut, handle: string | undefined): JsonObject {
  const { items, members, characters } = leftOut
  return { more: items || members || characters, ...(handle === undefined ? { kept: false } : { handle }) }
}

function metaOf(handle: string | undefined, leftOut: LeftOut | undefined): JsonObject {
  const kept = handle === undefined ? { kept: false } : { handle, uri: uriOf(handle) }
  return { ...kept, ...(leftOut === undefined ? {} : { leftOut }) }
}

/** URI of a whole result. */
export function uriOf(handle: string): string {
  return `tapgate://result/${handle}`
}

interface OmissionNote {
  readonly offset: number
  readonly tokens?: number
  readonly handle: string | undefined
}

/** Words for a model where something is missing. */
function note({ offset, tokens, handle }: OmissionNote): string {
  const missing = tokens === undefined ? 'a part is' : `about ${tokens} tokens are`
  if (handle === undefined) return `[${missing} left out here; the whole is too large to be kept]`
  const at = offset === 0 ? '' : `, "offset": ${offset}`
  return `[${missing} left out here; read_result has the whole: {"handle": "${handle}"${at}}]`
}

interface TextBlock extends JsonObject {
  readonly text: string
}

function isText(block: unknown): block is TextBlock {
  return isObject(block) && block.type === 'text' && typeof block.text === 'string'
}

/** Text of a block, or of the resource in it; everything else stays as it is. */
function textOf(block: unknown): string {
  if (isText(block)) return block.text
  const resource = isObject(block) && block.type === 'resource' ? block.resource : undefined
  return isObject(resource) && typeof resource.text === 'string' ? resource.text : ''
}

function textBytes(block: unknown): number {
  return Buffer.byteLength(textOf(block))
}

function withText(block: unknown, text: string): unknown {
  if (isText(block)) return { ...block, text }
  const { resource, ...rest } = block as JsonObject
  return { ...rest, resource: { ...(resource as JsonObject), text } }
}

/** The object or list that a text is as JSON; undefined for other text. */
export function jsonIn(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined
  const value = readJson(text)
  return typeof value === 'object' && value !== null ? value : undefined
}

/** True if a text says what compact JSON does. */
export function isSameJson(text: string, json: string): boolean {
  return json !== '' && (text === json || JSON.stringify(jsonIn(text)) === json)
}
