import type { JsonObject } from './json/json.ts'
import { mayRewriteNumbers, parseJson, stringifyJson } from './json/json.ts'
import { editObject, findMemberValue, mayHaveMember } from './json/json-members.ts'
import type { Era } from './methods.ts'

const TRUE = Buffer.from('true')

/**
 * Result that may still be the received bytes. `value()` parses on first use, `bytes()` serializes on first use; an
 * unread
 * result is never parsed. Never mutate the object from `value()`: create a new Payload.
 *
 * ```ts
 * const shout = Payload.of({ ...payload.value(), loud: true }, payload.era)
 * ```
 */
export class Payload {
  /** Wire form era; undefined for results created by the gateway, which are valid in both. */
  readonly era: Era | undefined
  /**
   * Time until which the sender allows caching, in clock milliseconds; set by a cache, and extended by revalidation.
   * If unset, `ttlMs` decides.
   */
  freshUntil: number | undefined = undefined
  /** True if a member has an unexpected type for most methods, or there is no list. */
  isUnusual = false
  /** True if the received text may contain `null` as a value. */
  hasNull = false
  #bytes: Buffer | undefined
  #value: JsonObject | undefined
  #isToolError: boolean | undefined

  private constructor(bytes: Buffer | undefined, value: JsonObject | undefined, era: Era | undefined) {
    this.#bytes = bytes
    this.#value = value
    this.era = era
  }

  /** Creates a payload from received JSON text of one object; `isToolError` and `value` if already known. */
  static fromBytes(bytes: Buffer, era?: Era, isToolError?: boolean, value?: JsonObject): Payload {
    const payload = new Payload(bytes, value, era)
    payload.#isToolError = isToolError
    return payload
  }

  /** Creates a payload from a value. */
  static of(value: JsonObject, era?: Era): Payload {
    return new Payload(undefined, value, era)
  }

  value(): JsonObject {
    this.#value ??= JSON.parse((this.#bytes as Buffer).toString('utf8')) as JsonObject
    return this.#value
  }

  /** The value if it is already parsed. */
  get parsed(): JsonObject | undefined {
    return this.#value
  }

  bytes(): Buffer {
    this.#bytes ??= Buffer.from(JSON.stringify(this.#value))
    return this.#bytes
  }

  /** True for a tool failure (`isError`). Members are walked only if the text may contain it. */
  get isToolError(): boolean {
    this.#isToolError ??=
      mayHaveMember(this.bytes(), 'isError') && findMemberValue(this.bytes(), 'isError')?.equals(TRUE) === true
    return this.#isToolError
  }

  /**
   * Marks the payload as derived from another: unchanged numbers that JavaScript cannot represent keep their text.
   */
  derive(before: Payload): Payload {
    const bytes = before.#bytes
    if (this.#value === undefined || this.#bytes !== undefined || bytes === undefined) return this
    if (before.era !== this.era) return this
    const text = bytes.toString('utf8')
    // Most results have no such number and are not parsed again.
    if (!mayRewriteNumbers(text)) return this
    return Payload.fromBytes(Buffer.from(stringifyJson(this.#value, parseJson(text) as JsonObject)), this.era)
  }

  /** Copies the payload with members dropped and added, spliced into the bytes. */
  edit(without: readonly string[], put: JsonObject = {}): Payload {
    const added = JSON.stringify(put).slice(1, -1)
    return Payload.fromBytes(editObject(this.bytes(), new Set(without), added), this.era)
  }
}
