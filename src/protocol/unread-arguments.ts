import type { JsonObject } from './json/json.ts'
import { outlineOf, type OutlineBounds } from './json/outline.ts'
import { SHAPE_BOUNDS, shapeOf } from './json/shape.ts'

/** Arguments of a call that nobody has read: they go on as the bytes that they came in. */
export class UnreadArguments {
  readonly #bytes: Buffer
  readonly #onRead: () => void
  #value: JsonObject | undefined

  /** `bytes` are the JSON text of one object. `onRead` is told before somebody reads them. */
  constructor(bytes: Buffer, onRead: () => void) {
    this.#bytes = bytes
    this.#onRead = onRead
  }

  /** The bytes; undefined once they were read, as the object that they were parsed to may have been changed. */
  get bytes(): Buffer | undefined {
    return this.#value === undefined ? this.#bytes : undefined
  }

  value(): JsonObject {
    if (this.#value === undefined) {
      this.#onRead()
      this.#value = JSON.parse(this.#bytes.toString('utf8')) as JsonObject
    }
    return this.#value
  }
}

const UNREAD = new WeakMap<JsonObject, UnreadArguments>()

/** Makes `arguments` a member of `params` that is parsed when it is first read. */
export function putUnread(params: JsonObject, unread: UnreadArguments): void {
  UNREAD.set(params, unread)
  Object.defineProperty(params, 'arguments', {
    configurable: true,
    enumerable: true,
    get: () => unread.value(),
    set: (value: unknown) => {
      UNREAD.delete(params)
      Object.defineProperty(params, 'arguments', {
        value,
        configurable: true,
        enumerable: true,
        writable: true,
      })
    },
  })
}

/** The bytes of a call's arguments, as long as nobody has read them. */
export function unreadBytes(params: JsonObject): Buffer | undefined {
  return UNREAD.get(params)?.bytes
}

/**
 * The arguments of a call for who looks at their names, types and lengths only: large ones that nobody has read are not
 * parsed, and long texts in them are `LongText`. All others are there as they are.
 */
export function argumentsOutline(params: JsonObject | undefined, bounds: OutlineBounds): unknown {
  const bytes = params === undefined ? undefined : unreadBytes(params)
  return bytes === undefined ? params?.arguments : outlineOf(bytes, bounds)
}

/** Names and types of a call's arguments as JSON, without parsing large ones that nobody has read; undefined where it has none. */
export function argumentsShape(params: JsonObject | undefined): string | undefined {
  const args = argumentsOutline(params, SHAPE_BOUNDS)
  return args === undefined ? undefined : shapeOf(args)
}

/** Parameters with other members, such as `{ name }` or `{ _meta }`: as a spread, without reading large arguments. */
export function withMembers(params: JsonObject | undefined, members: JsonObject): JsonObject {
  const copy = params === undefined ? undefined : unreadCopy(params)
  return copy === undefined ? { ...params, ...members } : Object.assign(copy, members)
}

/** Parameters without one of their members: as leaving it out of a copy, without reading large arguments. */
export function withoutMember(params: JsonObject, name: string): JsonObject {
  const copy = unreadCopy(params)
  if (copy !== undefined) {
    Reflect.deleteProperty(copy, name)
    return copy
  }
  const { [name]: _left, ...others } = params
  return others
}

/** Copy of parameters with large arguments that nobody has read; undefined for all others. */
function unreadCopy(params: JsonObject): JsonObject | undefined {
  const unread = UNREAD.get(params)
  if (unread === undefined) return undefined
  const copy = Object.defineProperties({}, Object.getOwnPropertyDescriptors(params)) as JsonObject
  // Its setter would still be that of the other object.
  putUnread(copy, unread)
  return copy
}
