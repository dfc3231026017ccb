import type { HttpReply, HttpRequest, JsonObject } from '../../src/plugin.ts'
import { GatewayError, isObject, parseParams, getErrorMessage } from '../../src/plugin.ts'
import type { PageUser } from './page-access.ts'

/** Authorized API request. */
export interface ApiRequest {
  readonly http: HttpRequest
  readonly user: PageUser
  /** Returns a query parameter. */
  text(name: string): string | undefined
  /** Returns an integer query parameter. @throws ApiError if out of bounds */
  count(name: string, bounds?: { readonly min: number; readonly max: number; readonly usual: number }): number
  /** POST body. */
  readonly body: JsonObject
}

/** Body member type, or its allowed values; `?` marks an optional one. */
type MemberType = 'string' | 'object' | 'string?' | 'object?' | 'boolean?' | readonly string[]

export interface ApiRoute {
  /** True if it changes state, makes a server act, or reveals message content. */
  readonly changesState?: true
  readonly body?: Readonly<Record<string, MemberType>>
  run(question: ApiRequest): unknown
}

/** Routes by method and name, such as `GET calls`. */
export type ApiRoutes = Readonly<Record<string, ApiRoute>>

/** Event stream reply. */
export class EventStreamReply {
  readonly body: AsyncIterable<string>

  constructor(body: AsyncIterable<string>) {
    this.body = body
  }
}

/** API error with an HTTP status. */
export class ApiError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** List page size. */
export const ROW_LIMITS = { min: 1, max: 500, usual: 100 }
const ANY_COUNT = { min: 0, max: Number.MAX_SAFE_INTEGER, usual: 0 }

/** Maximum body bytes; a pasted configuration may be large. */
const MAX_BODY = 1024 * 1024
const MAX_TEXT = 4096

/** Forbid framing and other origins. */
const API_HEADERS = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}
/** Disables proxy buffering. */
const EVENT_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
}

/** Replaces secrets in a text. */
export type HideSecrets = (text: string) => string

/** Serializes a value and hides secrets in its strings. */
export function safeJson(value: unknown, hide: HideSecrets): string {
  const text = JSON.stringify(value, (_, member: unknown) => (typeof member === 'string' ? hide(member) : member)) as
    string | undefined
  return text ?? 'null'
}

export function jsonReply(value: unknown, hide: HideSecrets): HttpReply {
  return { status: 200, headers: API_HEADERS, body: safeJson(value, hide) }
}

export function errorReply(status: number, message: string, more: JsonObject = {}): HttpReply {
  return { status, headers: API_HEADERS, body: JSON.stringify({ error: { message, ...more } }) }
}

export function throwNotFound(message: string): never {
  throw new ApiError(404, message)
}

/** Runs a route and converts its result or error to a reply. */
export async function answerRequest(
  route: ApiRoute,
  { http, user }: Pick<ApiRequest, 'http' | 'user'>,
  hide: HideSecrets,
): Promise<HttpReply> {
  if (route.changesState === true && !user.canAct) return errorReply(403, 'insufficient scope for this action')
  try {
    const body = http.method === 'POST' ? await readBody(route, http) : {}
    const value = await route.run({ http, user, body, ...createQueryReader(http) })
    return value instanceof EventStreamReply
      ? { status: 200, headers: { ...API_HEADERS, ...EVENT_HEADERS }, body: value.body }
      : jsonReply(value, hide)
  } catch (thrown) {
    return toErrorReply(thrown, hide)
  }
}

export function toErrorReply(thrown: unknown, hide: HideSecrets): HttpReply {
  if (thrown instanceof ApiError) return errorReply(thrown.status, thrown.message)
  if (!(thrown instanceof GatewayError)) return errorReply(500, hide(getErrorMessage(thrown)))
  const { code, message, hint, detail } = thrown
  const more = JSON.parse(safeJson({ code, hint, detail }, hide)) as JsonObject
  return errorReply(409, hide(message), more)
}

function createQueryReader({ query }: HttpRequest): Pick<ApiRequest, 'text' | 'count'> {
  const text = (name: string): string | undefined => query.get(name)?.slice(0, MAX_TEXT) || undefined
  return {
    text,
    count(name, { min, max, usual } = ANY_COUNT) {
      const number = Number(text(name) ?? usual)
      if (!Number.isInteger(number) || number < min || number > max)
        throw new ApiError(400, `"${name}" must be a number from ${min} to ${max}`)
      return number
    },
  }
}

/** Reads a JSON body, which an HTML form cannot send. @throws ApiError if it does not match the route */
export async function readBody({ body = {} }: Pick<ApiRoute, 'body'>, http: HttpRequest): Promise<JsonObject> {
  const [type = ''] = http.header('content-type')
  if (!/^application\/json\s*(;|$)/i.test(type)) throw new ApiError(415, 'Content-Type must be application/json')
  const bytes = await http.body()
  if (bytes.length > MAX_BODY) throw new ApiError(413, `the body exceeds ${MAX_BODY} bytes`)
  const value = parseBody(bytes)
  if (!isObject(value)) throw new ApiError(400, 'the body must be a JSON object')
  const unknown = Object.keys(value).find(key => !Object.hasOwn(body, key))
  if (unknown !== undefined) throw new ApiError(400, `unknown member "${unknown.slice(0, MAX_TEXT)}" in the body`)
  for (const [key, member] of Object.entries(body)) checkMember(key, value[key], member)
  return value
}

function parseBody(bytes: Buffer): unknown {
  try {
    return parseParams(bytes)
  } catch (error) {
    throw new ApiError(400, `invalid body: ${getErrorMessage(error)}`)
  }
}

function checkMember(key: string, value: unknown, member: MemberType): void {
  if (typeof member !== 'string') {
    if (!member.includes(value as string)) throw new ApiError(400, `"${key}" must be one of ${member.join(', ')}`)
    return
  }
  const type = member.replace('?', '')
  if (value === undefined && type !== member) return
  const isRight = type === 'object' ? isObject(value) : typeof value === type
  if (!isRight) throw new ApiError(400, `the body must have "${key}", of type ${type}`)
}
