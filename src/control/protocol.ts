import type { RequestOptions } from '../api/gateway.ts'
import type { Log } from '../api/index.ts'
import { errorEntry, GatewayError, gatewayError } from '../errors/errors.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { isObject } from '../protocol/json/json.ts'
import { RPC } from '../protocol/rpc-error.ts'

/** Beginning of every path; `/v1/cache.purge` runs that verb. */
export const PREFIX = '/v1/'
/** The verb that the socket itself answers, with what the gateway is. */
export const ABOUT = 'about'
/** Most bytes of the body of a request. */
export const MAX_REQUEST = 4 * 1024 * 1024
/** Most bytes of an answer, or of one line of a stream. */
export const MAX_ANSWER = 32 * 1024 * 1024
/** The type of a stream: one JSON value a line. */
export const STREAM = 'application/x-ndjson'

/** Answer of the verb `about`. */
export interface About {
  readonly name: string
  readonly version: string
  readonly pid: number
  /** The configuration file; absent when the configuration came as a value. */
  readonly config?: string
}

/** Dependencies of a control socket: the gateway that it steers. */
export interface ControlDeps {
  readonly about: About
  readonly log: Log
  /** Time for a request to arrive, in milliseconds. Default 5 s. */
  readonly arrivalMs?: number
  control(verb: string, params: JsonObject, options: RequestOptions): Promise<JsonObject>
}

/** An error of a table as it goes over the socket, so that the other side can say it in the same words. */
export function serializeError({ code, message, detail, hint, entry, fields }: GatewayError): JsonObject {
  const { cause: _, ...others } = fields
  return { code, message, hint, exit: entry.exit, fields: toJsonFields({ ...others, detail }) }
}

/** The HTTP status of an error: what the caller did wrong is 4xx. */
export function getErrorStatus({ entry, code }: GatewayError): number {
  if (entry.rpc === RPC.methodNotFound || code === 'GW_UPSTREAM_UNKNOWN') return 404
  if (entry.rpc === RPC.invalidParams) return 400
  return entry.http ?? (entry.exit === 3 ? 422 : 500)
}

/** The error of an answer. One of a plugin that is not here says itself what it means; anything else becomes a GW_CONTROL with its text. */
export function parseError(error: unknown, socket: string): GatewayError {
  const { code, fields: given, message, hint, exit } = isObject(error) ? error : ({} as JsonObject)
  const fields = isObject(given) ? given : {}
  const own = errorEntry(code)
  if (typeof code === 'string' && own !== undefined) return new GatewayError(code, fields, own)
  const text = String(message ?? 'it says no, and not why')
  if (typeof code !== 'string' || typeof hint !== 'string')
    return gatewayError('GW_CONTROL', { socket, why: text })
  return new GatewayError(code, fields, { text, hint, ...(typeof exit === 'number' ? { exit } : {}) })
}

/** Fields that survive the way: what JSON cannot say is left out. */
function toJsonFields(fields: JsonObject): JsonObject {
  try {
    return JSON.parse(JSON.stringify(fields)) as JsonObject
  } catch {
    return {}
  }
}
