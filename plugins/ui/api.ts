import type { HttpReply, HttpRequest, JsonObject } from '../../src/plugin.ts'
import { GatewayError, isObject, parseParams, getErrorMessage } from '../../src/plugin.ts'
import type { Reader } from './admission.ts'

/** A request to the API, from a reader who may send it. */
export interface Question {
  readonly http: HttpRequest
  readonly reader: Reader
  /** A parameter of the query. */
  text(name: string): string | undefined
  /** A whole number of the query. @throws ApiError unless it is within these bounds */
  count(name: string, bounds?: { readonly min: number; readonly max: number; readonly usual: number }): number
  /** The body of a POST. */
  readonly body: JsonObject
}

/** Type of a member of a body, or all that it may be; `?` for one that may be missing. */
type Member = 'string' | 'object' | 'string?' | 'object?' | 'boolean?' | readonly string[]

/** One operation of the API. */
export interface Route {
  /** True if it changes something, has a server do something, or shows what callers have said. */
  readonly acts?: true
  /** True if it is for the owner alone, who has opened a link. */
  readonly isForOwner?: true
  readonly body?: Readonly<Record<string, Member>>
  run(question: Question): unknown
}

/** Routes by method and name, such as `GET calls`. */
export type Routes = Readonly<Record<string, Route>>

/** A stream of events in place of a value that is sent as JSON. */
export class EventReply {
  readonly body: AsyncIterable<string>

  constructor(body: AsyncIterable<string>) {
    this.body = body
  }
}

/** A refusal of the API in words for people. */
export class ApiError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Rows of one page of a list. */
export const ROWS = { min: 1, max: 500, usual: 100 }
const ANY = { min: 0, max: Number.MAX_SAFE_INTEGER, usual: 0 }

/** Bytes of a body: a pasted configuration may be large. */
const MAX_BODY = 1024 * 1024
const MAX_TEXT = 4096

/** Answers are data, in no frame, and for no other origin. */
const HEADERS = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}
/** Keeps proxies from buffering a stream. */
const EVENTS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
}

/** Replaces the secrets in a text. */
export type Hide = (text: string) => string

/** A value as JSON, with every secret in its texts hidden. */
export function safeJson(value: unknown, hide: Hide): string {
  const text = JSON.stringify(value, (_, member: unknown) =>
    typeof member === 'string' ? hide(member) : member,
  ) as string | undefined
  return text ?? 'null'
}

export function jsonReply(value: unknown, hide: Hide): HttpReply {
  return { status: 200, headers: HEADERS, body: safeJson(value, hide) }
}

export function errorReply(status: number, message: string, more: JsonObject = {}): HttpReply {
  return { status, headers: HEADERS, body: JSON.stringify({ error: { message, ...more } }) }
}

/** Refuses a request for something that is not there. */
export function missing(message: string): never {
  throw new ApiError(404, message)
}

/** Answers the request of a reader. */
export async function answer(
  route: Route,
  { http, reader }: Pick<Question, 'http' | 'reader'>,
  hide: Hide,
): Promise<HttpReply> {
  if (route.acts === true && !reader.acts) return errorReply(403, 'this needs the scope for acting')
  if (route.isForOwner === true && !reader.isOwner)
    return errorReply(403, 'this is for the owner, who opens the page with "gateway ui"')
  try {
    const body = http.method === 'POST' ? await readBody(route, http) : {}
    const value = await route.run({ http, reader, body, ...queryReader(http) })
    return value instanceof EventReply
      ? { status: 200, headers: { ...HEADERS, ...EVENTS }, body: value.body }
      : jsonReply(value, hide)
  } catch (thrown) {
    return failure(thrown, hide)
  }
}

export function failure(thrown: unknown, hide: Hide): HttpReply {
  if (thrown instanceof ApiError) return errorReply(thrown.status, thrown.message)
  if (!(thrown instanceof GatewayError)) return errorReply(500, hide(getErrorMessage(thrown)))
  const { code, message, hint, detail } = thrown
  const more = JSON.parse(safeJson({ code, hint, detail }, hide)) as JsonObject
  return errorReply(409, hide(message), more)
}

function queryReader({ query }: HttpRequest): Pick<Question, 'text' | 'count'> {
  const text = (name: string): string | undefined => query.get(name)?.slice(0, MAX_TEXT) || undefined
  return {
    text,
    count(name, { min, max, usual } = ANY) {
      const number = Number(text(name) ?? usual)
      if (!Number.isInteger(number) || number < min || number > max)
        throw new ApiError(400, `"${name}" must be a number from ${min} to ${max}`)
      return number
    },
  }
}

/** Reads the body of a POST, which no HTML form can send as it must be JSON. @throws ApiError if it is not what the route takes */
export async function readBody({ body = {} }: Pick<Route, 'body'>, http: HttpRequest): Promise<JsonObject> {
  const [type = ''] = http.header('content-type')
  if (!/^application\/json\s*(;|$)/i.test(type))
    throw new ApiError(415, 'Content-Type must be application/json')
  const bytes = await http.body()
  if (bytes.length > MAX_BODY) throw new ApiError(413, `a body has at most ${MAX_BODY} bytes`)
  const value = parse(bytes)
  if (!isObject(value)) throw new ApiError(400, 'the body must be a JSON object')
  const unknown = Object.keys(value).find(key => !Object.hasOwn(body, key))
  if (unknown !== undefined)
    throw new ApiError(400, `there is no member "${unknown.slice(0, MAX_TEXT)}" in this body`)
  for (const [key, member] of Object.entries(body)) checkMember(key, value[key], member)
  return value
}

function parse(bytes: Buffer): unknown {
  try {
    return parseParams(bytes)
  } catch (error) {
    throw new ApiError(400, `the body cannot be read: ${getErrorMessage(error)}`)
  }
}

function checkMember(key: string, value: unknown, member: Member): void {
  if (typeof member !== 'string') {
    if (!member.includes(value as string))
      throw new ApiError(400, `"${key}" must be one of ${member.join(', ')}`)
    return
  }
  const type = member.replace('?', '')
  if (value === undefined && type !== member) return
  const isRight = type === 'object' ? isObject(value) : typeof value === type
  if (!isRight) throw new ApiError(400, `the body must have "${key}", of type ${type}`)
}
