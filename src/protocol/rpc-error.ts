/** A JSON-RPC error object. */
export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** Codes of JSON-RPC 2.0 and of MCP 2026-07-28 (basic, error codes). */
export const RPC = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
  /** 2025-11-25 and before: invalid session or request at the transport. */
  legacyBadRequest: -32000,
  /** 2025-11-25 and before: session not found. */
  legacyNoSession: -32001,
  /** 2025-11-25 and before: resource not found; modern peers use -32602. */
  legacyNoResource: -32002,
  /** 2025-11-25 only: the user must open a URL first. */
  legacyUrlElicitation: -32042,
} as const

export function rpcError(code: number, message: string, data?: unknown): RpcError {
  return data === undefined ? { code, message } : { code, message, data }
}
