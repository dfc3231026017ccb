import { createHash } from 'node:crypto'
import type { Exchange, Session, Upstream, Via } from '../../src/plugin.ts'
import { BoundedMap, METHODS } from '../../src/plugin.ts'
import { attribute } from './span-text.ts'

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
const EXECUTE_TOOL = 'execute_tool'

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

/** Names of tools and prompts that are kept of each method. */
const MAX_NAMES = 4096
/** Longer texts are cut: any peer may write them. */
const MAX_LENGTH = 256
const HASH_LENGTH = 16

/** Part that is the same in all spans of one operation: its name, and the attributes that say what it is. */
interface Operation {
  readonly name: string
  readonly attributes: string
}

/** Parts of spans as JSON. The same few come again and again, so they are written once. */
export class KnownTexts {
  readonly #hide: (text: string) => string
  readonly #operations = new Map<string, BoundedMap<string, Operation>>()
  readonly #few = new Map<string, BoundedMap<string, string>>()

  /** `hide` takes every secret out of a text. */
  constructor(hide: (text: string) => string) {
    this.#hide = hide
  }

  /** The operation of a request, by its method and the name of what it is about. */
  operation(method: string, name: string): Operation {
    if (!METHODS.has(method)) return this.#write(method, name)
    let named = this.#operations.get(method)
    if (named === undefined) this.#operations.set(method, (named = new BoundedMap({ max: MAX_NAMES })))
    let known = named.get(name)
    if (known === undefined) {
      known = this.#write(method, name)
      named.set(name, known)
    }
    return known
  }

  #write(method: string, name: string): Operation {
    const shown = this.text(method)
    const target = this.text(name)
    const attributes = [attribute(ATTRIBUTE.method, shown)]
    if (name !== '')
      attributes.push(attribute(method === 'tools/call' ? ATTRIBUTE.tool : ATTRIBUTE.prompt, target))
    if (method === 'tools/call') attributes.push(attribute(ATTRIBUTE.operation, EXECUTE_TOOL))
    return {
      name: JSON.stringify(name === '' ? shown : `${shown} ${target}`),
      attributes: attributes.join(','),
    }
  }

  /** An attribute whose values are few, with the comma before it. */
  few(key: string, value: string): string {
    let byValue = this.#few.get(key)
    if (byValue === undefined) this.#few.set(key, (byValue = new BoundedMap({ max: MAX_NAMES })))
    let written = byValue.get(value)
    if (written === undefined) {
      written = `,${attribute(key, this.text(value))}`
      byValue.set(value, written)
    }
    return written
  }

  /** A text of somebody else's without secrets, and not too long. */
  text(text: string): string {
    const hidden = this.#hide(text)
    return hidden.length > MAX_LENGTH ? `${hidden.slice(0, MAX_LENGTH)}…` : hidden
  }

  /** Attributes of a client's conversation. Who knows the id of a session may use it: it is said as a hash. */
  session({ id, client }: Session, via: Via): string {
    const parts = [
      attribute(ATTRIBUTE.protocolVersion, this.text(client.version)),
      attribute(OWN.client, this.text(client.info.name)),
      ...transportOf(via),
    ]
    if (client.era === 'legacy') {
      const hash = createHash('sha256').update(id).digest('hex').slice(0, HASH_LENGTH)
      parts.push(attribute(ATTRIBUTE.session, hash))
    }
    return parts.join(',')
  }

  /** Attributes of a server. */
  upstream({ name, spec, server }: Upstream): string {
    const parts = [attribute(OWN.upstream, this.text(name)), ...addressOf(spec)]
    if (server !== undefined) parts.push(attribute(ATTRIBUTE.protocolVersion, this.text(server.version)))
    return parts.join(',')
  }
}

const PIPE = [attribute(ATTRIBUTE.transport, 'pipe')]
const HTTP = [attribute(ATTRIBUTE.transport, 'tcp'), attribute(ATTRIBUTE.protocol, 'http')]
const SOCKET = [attribute(ATTRIBUTE.transport, 'tcp'), attribute(ATTRIBUTE.protocol, 'websocket')]

function transportOf(via: Via): readonly string[] {
  if (via === 'in-process') return []
  if (via === 'stdio') return PIPE
  return via === 'ws' ? SOCKET : HTTP
}

const PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'ws:': 80, 'https:': 443, 'wss:': 443 }

function addressOf(spec: Upstream['spec']): readonly string[] {
  if (!('url' in spec) || !URL.canParse(spec.url)) return spec.type === 'stdio' ? PIPE : []
  const { hostname, port, protocol } = new URL(spec.url)
  return [
    ...(protocol.startsWith('ws') ? SOCKET : HTTP),
    attribute(ATTRIBUTE.serverAddress, hostname),
    attribute(ATTRIBUTE.serverPort, port === '' ? (PORTS[protocol] ?? 0) : Number(port)),
  ]
}

/** The name of the tool or prompt of parameters; empty where there is none. */
export function nameIn(params: Exchange['params']): string {
  const name = params?.name
  return typeof name === 'string' ? name : ''
}
