/** Keys of `params._meta` and `result._meta` (2026-07-28, basic). */
export const META = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const

/** HTTP header names, lower case as Node gives them. */
export const HEADER = {
  version: 'mcp-protocol-version',
  method: 'mcp-method',
  name: 'mcp-name',
  param: 'mcp-param-',
  session: 'mcp-session-id',
  lastEventId: 'last-event-id',
} as const
