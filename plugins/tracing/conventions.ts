/**
 * Names that OpenTelemetry has for MCP (semantic-conventions-genai, `docs/gen-ai/mcp.md`, status Development): all of
 * them stand here, as they may still change.
 */
export const ATTRIBUTE = {
  method: 'mcp.method.name',
  protocolVersion: 'mcp.protocol.version',
  session: 'mcp.session.id',
  resource: 'mcp.resource.uri',
  tool: 'gen_ai.tool.name',
  prompt: 'gen_ai.prompt.name',
  operation: 'gen_ai.operation.name',
  arguments: 'gen_ai.tool.call.arguments',
  result: 'gen_ai.tool.call.result',
  errorType: 'error.type',
  statusCode: 'rpc.response.status_code',
  transport: 'network.transport',
  protocol: 'network.protocol.name',
  serverAddress: 'server.address',
  serverPort: 'server.port',
} as const

/** Names of our own, for what has no standard one. */
export const OWN = {
  upstream: 'tapgate.upstream',
  outcome: 'tapgate.outcome',
  decidedBy: 'tapgate.decided_by',
  client: 'tapgate.client.name',
  attempt: 'tapgate.attempt',
} as const

/** Value of `gen_ai.operation.name`, for calls of tools alone. */
export const EXECUTE_TOOL = 'execute_tool'

/** Value of `error.type` where a tool says that it failed. */
export const TOOL_ERROR = 'tool_error'

/** Value of `error.type` for what has no class of its own. */
export const OTHER_ERROR = '_OTHER'

/** Numbers of `Span.SpanKind`. */
export const KIND = { server: 2, client: 3 } as const

/** Methods that carry a resource's URI. */
export const OF_RESOURCES: ReadonlySet<string> = new Set([
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
])
