import { createHash } from 'node:crypto'
import type { Call, JsonObject } from '../../src/plugin.ts'
import { authorizationKey, canonicalizeJson, canonicalizeUri, conversationKey, isObject } from '../../src/plugin.ts'
import type { CachePolicy } from './cache-rules.ts'

/** Cache keys: private to the caller, and shared for public answers. */
export interface CacheKeys {
  readonly own: string
  readonly shared: string
}

/** Longer keys are replaced by their digest, to save memory. */
const MAX_KEY = 1024
/** Empty parameters. */
const NOTHING = '{}'
/** `_meta` members that do not affect the result. */
const UNASKED = /^(progressToken|traceparent|tracestate|baggage|io\.modelcontextprotocol\/.*)$/
/** Parameters per cacheable method; a request with others is a retry, a task, or unknown. */
const PLAIN: Readonly<Record<string, readonly string[]>> = {
  'tools/call': ['name', 'arguments', '_meta'],
  'prompts/get': ['name', 'arguments', '_meta'],
  'resources/read': ['uri', '_meta'],
}

/** True if the call may be answered from the cache; never for a retry after an input request. */
export function isCacheableCall({ method, params, exchange }: Call): boolean {
  const plain = PLAIN[method]
  if (plain === undefined) return true
  for (const key in params) if (!plain.includes(key)) return false
  const requested = exchange.params
  return requested?.requestState === undefined && requested?.inputResponses === undefined
}

/** Returns the requested name or URI; empty for lists. */
export function getTarget({ method, params }: Call): string {
  const target = method === 'resources/read' ? params?.uri : params?.name
  if (PLAIN[method] === undefined || typeof target !== 'string') return ''
  return method === 'resources/read' ? canonicalizeUri(target) : target
}

/**
 * Computes the keys; undefined if the parameters cannot be compared. Parts are length-prefixed, so that they cannot
 * be forged.
 */
export function computeKeys(call: Call, target: string, policy: CachePolicy): CacheKeys | undefined {
  const { session, headers } = call.exchange
  // Two distinct numbers may have become equal when parsed.
  if (call.exchange.hasExactNumbers === false) return undefined
  const encodedParams = encodeParams(call, policy)
  let keyText =
    encodePart(call.upstream) +
    encodePart(call.method) +
    encodePart(target) +
    encodePart(encodedParams) +
    encodePart(encodeHeaders(call.headers))
  for (const name of policy.headers) keyText += encodePart(headers[name] ?? '')
  const caller =
    encodePart(authorizationKey(session.principal)) + encodePart(policy.perSession ? conversationKey(session) : '')
  return { own: shortenKey(`own${caller}${keyText}`), shared: shortenKey(`all${keyText}`) }
}

/** Encodes a part unambiguously. */
function encodePart(text: string): string {
  return `${text.length}:${text}`
}

function shortenKey(key: string): string {
  return key.length <= MAX_KEY ? key : `sha256${createHash('sha256').update(key).digest('base64')}`
}

/** Most requests have no such headers. */
function encodeHeaders(headers: Readonly<Record<string, string>>): string {
  for (const _name in headers) return canonicalizeJson(headers)
  return ''
}

function encodeParams({ method, params }: Call, { args }: CachePolicy): string {
  if (params === undefined) return NOTHING
  const meta = isObject(params._meta) ? encodeMeta(params._meta) : ''
  if (method === 'resources/read') return meta
  const argumentsToEncode =
    PLAIN[method] === undefined ? { ...params, _meta: undefined } : selectArguments(params.arguments ?? {}, args)
  return canonicalizeJson(argumentsToEncode) + meta
}

/** Selects the relevant arguments, wrapped in lists to distinguish missing from null. */
function selectArguments(input: unknown, args: readonly string[] | undefined): unknown {
  if (args === undefined) return input
  const own = isObject(input) ? input : {}
  return args.map(name => (Object.hasOwn(own, name) ? [own[name]] : []))
}

function encodeMeta(meta: JsonObject): string {
  const keys = Object.keys(meta).filter(key => !UNASKED.test(key))
  return keys.length === 0 ? '' : canonicalizeJson(keys.map(key => [key, meta[key]]).sort(compareFirst))
}

function compareFirst([a]: unknown[], [b]: unknown[]): number {
  return String(a) < String(b) ? -1 : 1
}
