import { isObject, principalKey, type Call, type JsonObject } from '../../src/plugin.ts'

/** Where a list may be kept: for its caller alone, or for everyone when the server says it is public. */
export interface Keys {
  readonly own: string
  readonly shared: string
}

/** The keys of a list call. Encoded as JSON arrays, so that no part can be forged into another. */
export function keysOf(call: Call): Keys {
  const what = [call.upstream, call.method, canonicalParams(call.params), canonical(call.headers)]
  return {
    own: JSON.stringify([...what, principalKey(call.exchange.session.principal)]),
    shared: JSON.stringify(what),
  }
}

/** `_meta` says who asks and how to report progress, not what is asked for. */
function canonicalParams(params: JsonObject | undefined): unknown {
  const { _meta, ...asked } = params ?? {}
  return canonical(asked)
}

/** Objects as sorted pairs, so that the order of members does not matter. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (!isObject(value)) return value
  return {
    pairs: Object.keys(value)
      .sort()
      .map(key => [key, canonical(value[key])]),
  }
}
