import type { Kind } from '../protocol/methods.ts'
import { METHODS } from '../protocol/methods.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { isObject, findMistakableName } from '../protocol/json/json.ts'
import type { Exchange } from '../api/index.ts'
import type { RpcError } from '../protocol/rpc-error.ts'
import { RPC, rpcError } from '../protocol/rpc-error.ts'
import { canonicalizeUri } from '../protocol/uri.ts'

type Params = JsonObject | undefined
/** Parameters with a normalized target, or the error. */
type TargetResult = { readonly params: Params } | { readonly error: RpcError }

const TARGETS: ReadonlyMap<string, (params: Params) => TargetResult> = new Map([
  ['resources/read', withCanonicalUri],
  ['resources/subscribe', withCanonicalUri],
  ['resources/unsubscribe', withCanonicalUri],
  ['completion/complete', checkReference],
])

/** For each reference type: its required member, and its forbidden one. */
const MEMBERS: ReadonlyMap<unknown, readonly ['name' | 'uri', 'name' | 'uri']> = new Map([
  ['ref/prompt', ['name', 'uri']],
  ['ref/resource', ['uri', 'name']],
])

/**
 * Normalizes a request's target before any rule runs, so that rules, router and server see the same name. Returns an
 * error if a request has two targets.
 */
export function normalizeTarget(exchange: Exchange): RpcError | undefined {
  const settled = TARGETS.get(exchange.method)?.(exchange.params)
  if (settled === undefined) return undefined
  if ('error' in settled) return settled.error
  exchange.params = settled.params
  return undefined
}

/** A URI without a canonical form passes unchanged: plugins with resource rules refuse it. */
function withCanonicalUri(params: Params): TargetResult {
  const uri = params?.uri
  const own = typeof uri === 'string' ? canonicalizeUri(uri) : uri
  return { params: own === uri ? params : { ...params, uri: own } }
}

/** The reference type decides which member is allowed (2025-11-25 and 2026-07-28, completion). */
function checkReference(params: Params): TargetResult {
  const ref = params?.ref
  if (!isObject(ref)) return createInvalidTarget('"ref" must be an object')
  const members = MEMBERS.get(ref.type)
  if (members === undefined) return createInvalidTarget('"ref.type" must be "ref/prompt" or "ref/resource"')
  const odd = Object.keys(ref).find(findMistakableName)
  if (odd !== undefined) return createInvalidTarget(`ambiguous member "${odd}" in "ref"`)
  return checkReferenceName(params, ref, members)
}

function checkReferenceName(
  params: Params,
  ref: JsonObject,
  [member, forbidden]: readonly ['name' | 'uri', 'name' | 'uri'],
): TargetResult {
  const name = ref[member]
  if (ref[forbidden] !== undefined) return createInvalidTarget('"ref" has both a prompt and a resource')
  if (typeof name !== 'string') return createInvalidTarget(`"ref.${member}" must be a string`)
  // Completion may be for a URI template, which is not a URI.
  if (member === 'name' || name.includes('{')) return { params }
  const uri = canonicalizeUri(name)
  return { params: uri === name ? params : { ...params, ref: { ...ref, uri } } }
}

function createInvalidTarget(reason: string): TargetResult {
  return { error: rpcError(RPC.invalidParams, `Invalid params: ${reason}`) }
}

export interface RequestTarget {
  readonly kind: Kind
  readonly name: string
  /** Returns the parameters with another name. */
  readonly withName: (name: string) => JsonObject
}

/** Returns a request's target: a tool or prompt name, or a URI; for completion, the one in its reference. */
export function getTarget(method: string, params: JsonObject | undefined): RequestTarget | undefined {
  const { kind, target } = METHODS.get(method) ?? {}
  if (target === 'ref') return isObject(params?.ref) ? resolveReference(params, params.ref) : undefined
  const name = target === undefined ? undefined : params?.[target]
  if (target === undefined || typeof name !== 'string' || kind === undefined) return undefined
  return { kind, name, withName: newName => ({ ...params, [target]: newName }) }
}

/** The reference type alone decides the target kind. */
function resolveReference(params: JsonObject, ref: JsonObject): RequestTarget | undefined {
  const [kind, member] = ref.type === 'ref/prompt' ? (['prompts', 'name'] as const) : (['resources', 'uri'] as const)
  const name = ref[member]
  if (typeof name !== 'string') return undefined
  return { kind, name, withName: newName => ({ ...params, ref: { ...ref, [member]: newName } }) }
}
