import { createHash } from 'node:crypto'
import type { Attributes } from '@opentelemetry/api'
import type { Exchange, Session, Upstream } from '../../src/plugin.ts'

/**
 * OpenTelemetry attribute names for MCP (semantic-conventions-genai, `docs/gen-ai/mcp.md`, status Development), all
 * in one place because they may change.
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

/** Attribute names without a standard. */
export const OWN_ATTRIBUTE = {
  upstream: 'tapgate.upstream',
  outcome: 'tapgate.outcome',
  decidedBy: 'tapgate.decided_by',
  client: 'tapgate.client.name',
  attempt: 'tapgate.attempt',
} as const

/** `error.type` for a tool error, and for other errors. */
export const TOOL_ERROR = 'tool_error'
export const OTHER_ERROR = '_OTHER'

/** Methods with a resource URI. */
const RESOURCE_METHODS: ReadonlySet<string> = new Set([
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
])

const HASH_LENGTH = 16

/** Removes secrets and shortens a text. */
type Sanitize = (text: string) => string

/** Returns the tool or prompt name, or an empty string. */
export function getTargetName(params: Exchange['params']): string {
  const name = params?.name
  return typeof name === 'string' ? name : ''
}

/** Describes a request: its method, target and resource URI. */
export function describeOperation(
  method: string,
  params: Exchange['params'],
  sanitize: Sanitize,
): { readonly name: string; readonly attributes: Attributes } {
  const visibleMethod = sanitize(method)
  const target = sanitize(getTargetName(params))
  const attributes: Attributes = { [ATTRIBUTE.method]: visibleMethod }
  if (target !== '') attributes[method === 'tools/call' ? ATTRIBUTE.tool : ATTRIBUTE.prompt] = target
  if (method === 'tools/call') attributes[ATTRIBUTE.operation] = 'execute_tool'
  const uri = RESOURCE_METHODS.has(method) ? params?.uri : undefined
  // Without the query and credentials.
  if (typeof uri === 'string')
    attributes[ATTRIBUTE.resource] = sanitize(uri.replace(/[?#].*$/s, '').replace(/^([\w+.-]+:\/\/)[^/@]*@/, '$1'))
  return { name: target === '' ? visibleMethod : `${visibleMethod} ${target}`, attributes }
}

/** Describes the client session. The session id is hashed, because it authorizes requests. */
export function describeSession({ id, client }: Session, via: Exchange['via'], sanitize: Sanitize): Attributes {
  const attributes = {
    [ATTRIBUTE.protocolVersion]: sanitize(client.version),
    [OWN_ATTRIBUTE.client]: sanitize(client.info.name),
    ...(via === 'in-process' ? {} : via === 'stdio' ? PIPE : via === 'ws' ? SOCKET : HTTP),
  }
  return client.era === 'legacy'
    ? { ...attributes, [ATTRIBUTE.session]: createHash('sha256').update(id).digest('hex').slice(0, HASH_LENGTH) }
    : attributes
}

const PIPE: Attributes = { [ATTRIBUTE.transport]: 'pipe' }
const HTTP: Attributes = { [ATTRIBUTE.transport]: 'tcp', [ATTRIBUTE.protocol]: 'http' }
const SOCKET: Attributes = { [ATTRIBUTE.transport]: 'tcp', [ATTRIBUTE.protocol]: 'websocket' }
const PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'ws:': 80, 'https:': 443, 'wss:': 443 }

export function describeUpstream({ name, spec, server }: Upstream, sanitize: Sanitize): Attributes {
  return {
    [OWN_ATTRIBUTE.upstream]: sanitize(name),
    ...describeAddress(spec),
    ...(server === undefined ? {} : { [ATTRIBUTE.protocolVersion]: sanitize(server.version) }),
  }
}

function describeAddress(spec: Upstream['spec']): Attributes {
  if (!('url' in spec) || !URL.canParse(spec.url)) return spec.type === 'stdio' ? PIPE : {}
  const { hostname, port, protocol } = new URL(spec.url)
  return {
    ...(protocol.startsWith('ws') ? SOCKET : HTTP),
    [ATTRIBUTE.serverAddress]: hostname,
    [ATTRIBUTE.serverPort]: port === '' ? (PORTS[protocol] ?? 0) : Number(port),
  }
}
