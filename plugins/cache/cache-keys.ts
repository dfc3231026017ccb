import { createHash } from 'node:crypto'
import type { Call, JsonObject } from '../../src/plugin.ts'
import {
  authorizationKey,
  canonicalizeJson,
  canonicalizeUri,
  conversationKey,
  isObject,
} from '../../src/plugin.ts'
import type { CachePolicy } from './policy.ts'

/** Keys of an answer: for its caller alone, and for everyone when the server says it is public. */
export interface CacheKeys {
  readonly own: string
  readonly shared: string
}

/** Keys above this are kept as their digest, so that long arguments cost no memory. */
const MAX_KEY = 1024
/** No parameters at all. */
const NOTHING = '{}'
/** `_meta` that says who asks and how to report progress, not what is asked for. */
const UNASKED = /^(progressToken|traceparent|tracestate|baggage|io\.modelcontextprotocol\/.*)$/
/** The parameters by which a request says all it wants; with any other it is a retry, a task, or unknown to us. */
const PLAIN: Readonly<Record<string, readonly string[]>> = {
  'tools/call': ['name', 'arguments', '_meta'],
  'prompts/get': ['name', 'arguments', '_meta'],
  'resources/read': ['uri', '_meta'],
}

/** True if an answer to this call may come from memory: a retry after a request for input never does. */
export function isCacheableCall({ method, params, exchange }: Call): boolean {
  const plain = PLAIN[method]
  if (plain === undefined) return true
  for (const key in params) if (!plain.includes(key)) return false
  const asked = exchange.params
  return asked?.requestState === undefined && asked?.inputResponses === undefined
}

/** The name or URI that a call is about; for a list the connection that it is asked of, which is empty for the one for all. */
export function getTarget({ method, params, ownList }: Call): string {
  if (ownList !== undefined) return ownList
  const target = method === 'resources/read' ? params?.uri : params?.name
  if (PLAIN[method] === undefined || typeof target !== 'string') return ''
  return method === 'resources/read' ? canonicalizeUri(target) : target
}

/**
 * The keys of a call; undefined when its parameters cannot be compared. Every part carries its length, so
 * that none can be forged into another.
 */
export function computeKeys(call: Call, target: string, policy: CachePolicy): CacheKeys | undefined {
  const { session, headers } = call.exchange
  // Two numbers may be one to us and two to the server.
  if (call.exchange.hasExactNumbers === false) return undefined
  const asked = encodeParams(call, policy)
  let what =
    encodePart(call.upstream) +
    encodePart(call.method) +
    encodePart(target) +
    encodePart(asked) +
    encodePart(encodeHeaders(call.headers))
  for (const name of policy.headers) what += encodePart(headers[name] ?? '')
  const caller =
    encodePart(authorizationKey(session.principal)) +
    encodePart(policy.perSession ? conversationKey(session) : '')
  return { own: shortenKey(`own${caller}${what}`), shared: shortenKey(`all${what}`) }
}

/** Strings of the same text have the same part, and parts in a row can be told apart. */
function encodePart(text: string): string {
  return `${text.length}:${text}`
}

function shortenKey(key: string): string {
  return key.length <= MAX_KEY ? key : `sha256${createHash('sha256').update(key).digest('base64')}`
}

/** Most calls carry none. */
function encodeHeaders(headers: Readonly<Record<string, string>>): string {
  for (const _name in headers) return canonicalizeJson(headers)
  return ''
}

function encodeParams({ method, params }: Call, { args }: CachePolicy): string {
  if (params === undefined) return NOTHING
  const meta = isObject(params._meta) ? encodeMeta(params._meta) : ''
  if (method === 'resources/read') return meta
  const asked =
    PLAIN[method] === undefined
      ? { ...params, _meta: undefined }
      : selectArguments(params.arguments ?? {}, args)
  return canonicalizeJson(asked) + meta
}

/** The arguments that matter, each as a list so that what is absent is not what is null. */
function selectArguments(given: unknown, args: readonly string[] | undefined): unknown {
  if (args === undefined) return given
  const own = isObject(given) ? given : {}
  return args.map(name => (Object.hasOwn(own, name) ? [own[name]] : []))
}

function encodeMeta(meta: JsonObject): string {
  const keys = Object.keys(meta).filter(key => !UNASKED.test(key))
  return keys.length === 0 ? '' : canonicalizeJson(keys.map(key => [key, meta[key]]).sort(compareFirst))
}

function compareFirst([a]: unknown[], [b]: unknown[]): number {
  return String(a) < String(b) ? -1 : 1
}
