import {
  GatewayError,
  type HttpReply,
  isObject,
  type JsonObject,
  parseParams,
  reasonOf,
} from '../../../src/plugin.ts'
import type { Reader } from '../access/admission.ts'
import type { PageRequest } from '../access/page-request.ts'
import { type Hide, safeJson } from '../safe-json.ts'
import { ApiError, type Question, Reply, type Route } from './route.ts'

/** Nobody reads it as anything but data, in no frame, and from no other origin. */
const HEADERS = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** Members of a body of ours are few, but a pasted configuration may be large. */
const MAX_BODY = 1024 * 1024
const MAX_TEXT = 4096

/** A value as an answer, without the secrets of the configuration. */
export function jsonReply(value: unknown, hide: Hide, status = 200): HttpReply {
  return { status, headers: HEADERS, body: safeJson(value, hide) }
}

export function errorReply(status: number, message: string, more: JsonObject = {}): HttpReply {
  return { status, headers: HEADERS, body: JSON.stringify({ error: { message, ...more } }) }
}

/** Answers a question of somebody who may look. */
export async function answer(
  route: Route,
  asked: { readonly http: PageRequest; readonly reader: Reader },
  hide: Hide,
): Promise<HttpReply> {
  if (route.acts === true && !asked.reader.acts) return errorReply(403, 'this needs the scope for acting')
  if (route.isForOwner === true && !asked.reader.isOwner)
    return errorReply(403, 'this is for the owner, who opens the page with "gateway ui"')
  try {
    const value = await route.run(await questionOf(route, asked))
    return value instanceof Reply
      ? { ...value.http, headers: { ...HEADERS, ...value.http.headers } }
      : jsonReply(value, hide)
  } catch (thrown) {
    return failure(thrown, hide)
  }
}

function failure(thrown: unknown, hide: Hide): HttpReply {
  if (thrown instanceof ApiError) return errorReply(thrown.status, thrown.message)
  if (thrown instanceof GatewayError) {
    const { code, message, hint, detail } = thrown
    const more = {
      code,
      ...(hint === undefined ? {} : { hint }),
      ...(detail === undefined ? {} : { detail }),
    }
    return errorReply(409, hide(message), JSON.parse(hide(JSON.stringify(more))) as JsonObject)
  }
  return errorReply(500, hide(reasonOf(thrown)))
}

async function questionOf(
  route: Route,
  { http, reader }: { readonly http: PageRequest; readonly reader: Reader },
): Promise<Question> {
  const text = (name: string): string | undefined => http.query.get(name)?.slice(0, MAX_TEXT) || undefined
  return {
    http,
    reader,
    text,
    count(name, { least, most, usual }) {
      const number = Number(text(name) ?? usual)
      if (!Number.isInteger(number) || number < least || number > most)
        throw new ApiError(400, `"${name}" must be a number from ${least} to ${most}`)
      return number
    },
    body: route.method === 'POST' ? await bodyOf(route, http) : {},
  }
}

/** Reads the body of a POST: no form of a page elsewhere can send this type. */
export async function bodyOf(
  { body = {}, required = [] }: Partial<Route>,
  http: PageRequest,
): Promise<JsonObject> {
  const [type = ''] = http.header('content-type')
  if (!/^application\/json\s*(;|$)/i.test(type))
    throw new ApiError(415, 'Content-Type must be application/json')
  const bytes = await http.body()
  if (bytes.length > MAX_BODY) throw new ApiError(413, `a body has at most ${MAX_BODY} bytes`)
  const value = parsed(bytes)
  if (!isObject(value)) throw new ApiError(400, 'the body must be a JSON object')
  const unknown = Object.keys(value).find(key => !Object.hasOwn(body, key))
  if (unknown !== undefined)
    throw new ApiError(400, `there is no member "${unknown.slice(0, MAX_TEXT)}" in this body`)
  const missing = required.find(key => value[key] === undefined)
  if (missing !== undefined) throw new ApiError(400, `the body must have "${missing}"`)
  for (const [key, member] of Object.entries(value)) checkType(key, member, body[key])
  return value
}

function parsed(bytes: Buffer): unknown {
  try {
    return parseParams(bytes)
  } catch (error) {
    throw new ApiError(400, `the body cannot be read: ${reasonOf(error)}`)
  }
}

function checkType(key: string, value: unknown, schema: JsonObject = {}): void {
  const { type, enum: options } = schema
  const isRight = type === undefined || (type === 'object' ? isObject(value) : typeof value === type)
  if (!isRight) throw new ApiError(400, `"${key}" must be of type ${String(type)}`)
  if (Array.isArray(options) && !options.includes(value))
    throw new ApiError(400, `"${key}" must be one of ${options.join(', ')}`)
}
