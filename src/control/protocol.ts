import type { RequestOptions } from '../api/gateway.ts'
import type { Log } from '../api/index.ts'
import { findErrorEntry, GatewayError, gatewayError } from '../errors/errors.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { isObject } from '../protocol/json/json.ts'
import { getExitCode } from '../errors/table.ts'
import { RPC } from '../protocol/rpc-error.ts'

/** Path prefix; `/v1/cache.purge` runs the verb `cache.purge`. */
export const PREFIX = '/v1/'
/** Answered by the socket itself. */
export const ABOUT = 'about'
/** Largest request body, in bytes. */
export const MAX_REQUEST = 4 * 1024 * 1024
/** Largest answer or stream line, in bytes. */
export const MAX_ANSWER = 32 * 1024 * 1024
/** Stream content type: one JSON value per line. */
export const STREAM = 'application/x-ndjson'

export interface About {
  readonly name: string
  readonly version: string
  readonly pid: number
  /** Configuration file; absent if created from a value. */
  readonly config?: string
}

export interface ControlDeps {
  readonly about: About
  readonly log: Log
  /** Request timeout in ms; default: 5 s. */
  readonly arrivalMs?: number
  control(verb: string, params: JsonObject, options: RequestOptions): Promise<JsonObject>
}

/** Serializes an error so that the client can rebuild it. */
export function serializeError({ code, message, detail, hint, entry, fields }: GatewayError): JsonObject {
  const { cause: _, ...otherFields } = fields
  return { code, message, hint, exit: getExitCode(entry), fields: toJsonFields({ ...otherFields, detail }) }
}

/** HTTP status for an error; 4xx for caller mistakes. */
export function getErrorStatus({ entry, code }: GatewayError): number {
  if (entry.rpc === RPC.methodNotFound || code === 'GW_UPSTREAM_UNKNOWN') return 404
  if (entry.rpc === RPC.invalidParams) return 400
  return entry.http ?? (entry.exit === 3 ? 422 : 500)
}

/**
 * Rebuilds an error. Unknown codes, such as those of plugins, use the given texts; anything else becomes GW_CONTROL.
 */
export function parseError(error: unknown, socket: string): GatewayError {
  const { code, fields: rawFields, message, hint, exit } = isObject(error) ? error : ({} as JsonObject)
  const fields = isObject(rawFields) ? rawFields : {}
  const own = findErrorEntry(code)
  if (typeof code === 'string' && own !== undefined) return new GatewayError(code, fields, own)
  const text = String(message ?? 'request failed')
  if (typeof code !== 'string' || typeof hint !== 'string') return gatewayError('GW_CONTROL', { socket, why: text })
  return new GatewayError(code, fields, { text, hint, ...(typeof exit === 'number' ? { exit } : {}) })
}

/** Drops values that JSON cannot represent. */
function toJsonFields(fields: JsonObject): JsonObject {
  try {
    return JSON.parse(JSON.stringify(fields)) as JsonObject
  } catch {
    return {}
  }
}
