import { isObject, RPC, type JsonObject } from '../../../src/plugin.ts'

/** An error as JSON-RPC has it: what a peer answered, or is answered. */
export class RpcFault extends Error {
  override readonly name = 'RpcFault'
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** Codes of the Agent Client Protocol (its schema v1, ErrorCode); some mean something else in MCP. */
export const CODES = {
  invalidParams: RPC.invalidParams,
  methodNotFound: RPC.methodNotFound,
  internal: RPC.internal,
  cancelled: -32800,
  /** The same number, and another meaning. */
  authRequired: RPC.legacyBadRequest,
} as const

const MAX_MESSAGE = 2048

/** What a peer said is an error, whatever shape it has. */
export function faultFrom(error: unknown): RpcFault {
  const { code, message, data } = isObject(error) ? error : ({} as JsonObject)
  const text = typeof message === 'string' ? message.slice(0, MAX_MESSAGE) : 'an error without words'
  return new RpcFault(typeof code === 'number' ? code : CODES.internal, text, data)
}

/** What is answered when a handler of ours has thrown: its own code where it has one, and no internals otherwise. */
export function errorOf(thrown: unknown): { code: number; message: string; data?: unknown } {
  if (!(thrown instanceof Error) || !('code' in thrown) || typeof thrown.code !== 'number')
    return { code: CODES.internal, message: 'Internal error' }
  const data = 'data' in thrown && thrown.data !== undefined ? { data: thrown.data } : {}
  return { code: thrown.code, message: thrown.message, ...data }
}
