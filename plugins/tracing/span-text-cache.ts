import { createHash } from 'node:crypto'
import type { Exchange, Session, Upstream, Via } from '../../src/plugin.ts'
import { BoundedMap, METHODS } from '../../src/plugin.ts'
import { formatAttribute } from './format-span.ts'

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

/** `gen_ai.operation.name` for tool calls. */
const EXECUTE_TOOL = 'execute_tool'

/** `error.type` for a tool error. */
export const TOOL_ERROR = 'tool_error'

/** `error.type` for other errors. */
export const OTHER_ERROR = '_OTHER'

/** `Span.SpanKind` values. */
export const KIND = { server: 2, client: 3 } as const

/** Methods with a resource URI. */
export const RESOURCE_METHODS: ReadonlySet<string> = new Set([
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
])

/** Maximum cached names per method. */
const MAX_NAMES = 4096
/** Longer texts are cut, because peers choose them. */
const MAX_TEXT_LENGTH = 256
const HASH_LENGTH = 16

/** Span name and attributes shared by an operation's spans. */
interface Operation {
  readonly name: string
  readonly attributes: string
}

/** Cached parts of spans as JSON. */
export class SpanTextCache {
  readonly #hide: (text: string) => string
  readonly #operations = new Map<string, BoundedMap<string, Operation>>()
  readonly #textsByKind = new Map<string, BoundedMap<string, string>>()

  /** `hide` removes secrets from a text. */
  constructor(hide: (text: string) => string) {
    this.#hide = hide
  }

  /** Returns a request's operation, by method and target name. */
  describeOperation(method: string, name: string): Operation {
    if (!METHODS.has(method)) return this.#writeOperation(method, name)
    let named = this.#operations.get(method)
    if (named === undefined) this.#operations.set(method, (named = new BoundedMap({ max: MAX_NAMES })))
    let cached = named.get(name)
    if (cached === undefined) {
      cached = this.#writeOperation(method, name)
      named.set(name, cached)
    }
    return cached
  }

  #writeOperation(method: string, name: string): Operation {
    const visibleMethod = this.sanitizeText(method)
    const target = this.sanitizeText(name)
    const attributes = [formatAttribute(ATTRIBUTE.method, visibleMethod)]
    if (name !== '')
      attributes.push(formatAttribute(method === 'tools/call' ? ATTRIBUTE.tool : ATTRIBUTE.prompt, target))
    if (method === 'tools/call') attributes.push(formatAttribute(ATTRIBUTE.operation, EXECUTE_TOOL))
    return {
      name: JSON.stringify(name === '' ? visibleMethod : `${visibleMethod} ${target}`),
      attributes: attributes.join(','),
    }
  }

  /** Cached attribute with few values, with a leading comma. */
  writeAttribute(key: string, value: string): string {
    let byValue = this.#textsByKind.get(key)
    if (byValue === undefined) this.#textsByKind.set(key, (byValue = new BoundedMap({ max: MAX_NAMES })))
    let written = byValue.get(value)
    if (written === undefined) {
      written = `,${formatAttribute(key, this.sanitizeText(value))}`
      byValue.set(value, written)
    }
    return written
  }

  /** Removes secrets and shortens a text. */
  sanitizeText(text: string): string {
    const hidden = this.#hide(text)
    return hidden.length > MAX_TEXT_LENGTH ? `${hidden.slice(0, MAX_TEXT_LENGTH)}…` : hidden
  }

  /** Client session attributes. The session id is hashed, because it authorizes requests. */
  describeSession({ id, client }: Session, via: Via): string {
    const parts = [
      formatAttribute(ATTRIBUTE.protocolVersion, this.sanitizeText(client.version)),
      formatAttribute(OWN_ATTRIBUTE.client, this.sanitizeText(client.info.name)),
      ...listTransportAttributes(via),
    ]
    if (client.era === 'legacy') {
      const hash = createHash('sha256').update(id).digest('hex').slice(0, HASH_LENGTH)
      parts.push(formatAttribute(ATTRIBUTE.session, hash))
    }
    return parts.join(',')
  }

  describeUpstream({ name, spec, server }: Upstream): string {
    const parts = [formatAttribute(OWN_ATTRIBUTE.upstream, this.sanitizeText(name)), ...listAddressAttributes(spec)]
    if (server !== undefined) parts.push(formatAttribute(ATTRIBUTE.protocolVersion, this.sanitizeText(server.version)))
    return parts.join(',')
  }
}

const PIPE = [formatAttribute(ATTRIBUTE.transport, 'pipe')]
const HTTP = [formatAttribute(ATTRIBUTE.transport, 'tcp'), formatAttribute(ATTRIBUTE.protocol, 'http')]
const SOCKET = [formatAttribute(ATTRIBUTE.transport, 'tcp'), formatAttribute(ATTRIBUTE.protocol, 'websocket')]

function listTransportAttributes(via: Via): readonly string[] {
  if (via === 'in-process') return []
  if (via === 'stdio') return PIPE
  return via === 'ws' ? SOCKET : HTTP
}

const PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'ws:': 80, 'https:': 443, 'wss:': 443 }

function listAddressAttributes(spec: Upstream['spec']): readonly string[] {
  if (!('url' in spec) || !URL.canParse(spec.url)) return spec.type === 'stdio' ? PIPE : []
  const { hostname, port, protocol } = new URL(spec.url)
  return [
    ...(protocol.startsWith('ws') ? SOCKET : HTTP),
    formatAttribute(ATTRIBUTE.serverAddress, hostname),
    formatAttribute(ATTRIBUTE.serverPort, port === '' ? (PORTS[protocol] ?? 0) : Number(port)),
  ]
}

/** Returns the tool or prompt name, or an empty string. */
export function getTargetName(params: Exchange['params']): string {
  const name = params?.name
  return typeof name === 'string' ? name : ''
}
