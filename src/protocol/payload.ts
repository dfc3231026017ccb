import type { JsonObject } from './json/json.ts'
import { mayRewriteNumbers, parseJson, stringifyJson } from './json/json.ts'
import { editObject, findMemberValue, mayHaveMember } from './json/members.ts'
import type { Era } from './methods.ts'

const TRUE = Buffer.from('true')

/**
 * A result that may still be the bytes it came in. `value()` parses on first use, `bytes()` writes on first use;
 * a result that nobody reads is never parsed. Never mutate what `value()` returns: make a new Payload.
 *
 * ```ts
 * const shout = Payload.of({ ...payload.value(), loud: true }, payload.era)
 * ```
 */
export class Payload {
  /** The era whose wire form it is in; undefined for results of our own making, which fit both. */
  readonly era: Era | undefined
  /**
   * Until when its sender lets it be kept, in milliseconds of the clock. A cache sets it, and moves it when the sender
   * has said the same again; without one it is as fresh as its `ttlMs` says.
   */
  freshUntil: number | undefined = undefined
  /** True where it came with a member of a type that results of most methods do not have there, or without any list. */
  isUnusual = false
  #bytes: Buffer | undefined
  #value: JsonObject | undefined
  #isToolError: boolean | undefined

  private constructor(bytes: Buffer | undefined, value: JsonObject | undefined, era: Era | undefined) {
    this.#bytes = bytes
    this.#value = value
    this.era = era
  }

  /** A result as received: the JSON text of one object; with what is known of its `isError`, which then is not looked for. */
  static fromBytes(bytes: Buffer, era?: Era, isToolError?: boolean): Payload {
    const payload = new Payload(bytes, undefined, era)
    payload.#isToolError = isToolError
    return payload
  }

  /** A result of our own making. */
  static of(value: JsonObject, era?: Era): Payload {
    return new Payload(undefined, value, era)
  }

  value(): JsonObject {
    this.#value ??= JSON.parse((this.#bytes as Buffer).toString('utf8')) as JsonObject
    return this.#value
  }

  bytes(): Buffer {
    this.#bytes ??= Buffer.from(JSON.stringify(this.#value))
    return this.#bytes
  }

  /** Tells whether a tool reports a failure in it (`isError`). Members are walked only where the text may say so. */
  get isToolError(): boolean {
    this.#isToolError ??=
      mayHaveMember(this.bytes(), 'isError') &&
      findMemberValue(this.bytes(), 'isError')?.equals(TRUE) === true
    return this.#isToolError
  }

  /** Payload made of another one: numbers that JavaScript cannot write keep their text, where they are as they were. */
  derive(before: Payload): Payload {
    const bytes = before.#bytes
    if (this.#value === undefined || this.#bytes !== undefined || bytes === undefined) return this
    if (before.era !== this.era) return this
    const text = bytes.toString('utf8')
    // Most results have no such number, and are not parsed a second time.
    if (!mayRewriteNumbers(text)) return this
    return Payload.fromBytes(Buffer.from(stringifyJson(this.#value, parseJson(text) as JsonObject)), this.era)
  }

  /** A copy without some of its members and with others, spliced into the bytes: no other member is touched. */
  edit(without: readonly string[], put: JsonObject = {}): Payload {
    const added = JSON.stringify(put).slice(1, -1)
    return Payload.fromBytes(editObject(this.bytes(), new Set(without), added), this.era)
  }
}
