import type { Log } from '../api/index.ts'
import type { RequestOptions } from '../api/gateway.ts'
import { type JsonObject, isObject } from '../protocol/json/json.ts'
import { ERRORS, GatewayError, gatewayError, type ErrorCode } from '../errors/errors.ts'
import { RPC, rpcError, type RpcError } from '../protocol/rpc-error.ts'

/** The version of what is spoken on a control socket: JSON-RPC 2.0, one message a line, `hello` first. */
export const PROTOCOL = 1
/** Most bytes of one request. */
export const MAX_REQUEST = 4 * 1024 * 1024
/** Most bytes of one answer. */
export const MAX_ANSWER = 32 * 1024 * 1024

/** What a gateway says of itself when it is greeted. */
export interface About {
  readonly protocol: number
  readonly name: string
  readonly version: string
  readonly pid: number
  /** Its configuration file; absent when it came as a value. */
  readonly config?: string
}

/** An error of the table as it goes over the wire, so that the other side can tell it in the same words. */
export function wireError(thrown: unknown): RpcError {
  const error = thrown instanceof GatewayError ? thrown : gatewayError('GW_INTERNAL', { cause: thrown })
  const { cause: _, ...fields } = error.fields
  return rpcError(error.entry.rpc ?? RPC.internal, error.message, { code: error.code, fields: plain(fields) })
}

/** The same error on the other side; what the table does not know becomes a GW_CONTROL with its text. */
export function readError(error: RpcError, socket: string): GatewayError {
  const { code, fields } = isObject(error.data) ? error.data : {}
  if (typeof code === 'string' && Object.hasOwn(ERRORS, code))
    return gatewayError(code as ErrorCode, isObject(fields) ? fields : {})
  return gatewayError('GW_CONTROL', { socket, why: error.message })
}

/** Fields that survive the way: what JSON cannot say is left out. */
function plain(fields: JsonObject): JsonObject {
  try {
    return JSON.parse(JSON.stringify(fields)) as JsonObject
  } catch {
    return {}
  }
}

/** What a control socket is opened for. */
export interface ControlHost {
  readonly about: About
  readonly log: Log
  /** How long an owner may take to say hello. Default 5 s. */
  readonly helloMs?: number
  control(verb: string, params: JsonObject, options: RequestOptions): Promise<JsonObject>
}
