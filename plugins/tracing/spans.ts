import { createHash } from 'node:crypto'
import type { Context, Span, SpanContext, Tracer, Attributes } from '@opentelemetry/api'
import type {
  Answer,
  Ask,
  Call,
  Clock,
  Dispatch,
  Exchange,
  JsonObject,
  PluginApi,
  Slot,
  Upstream,
  Session,
} from '../../src/plugin.ts'
import { compileGlobs, GatewayError, getErrorMessage, isObject } from '../../src/plugin.ts'
import type { OtelApi, TracingOptions } from './otel.ts'

/**
 * OpenTelemetry attribute names for MCP (semantic-conventions-genai, `docs/gen-ai/mcp.md`, status Development), all
 * in one place because they may change.
 */
const ATTRIBUTE = {
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
const OWN_ATTRIBUTE = {
  upstream: 'tapgate.upstream',
  outcome: 'tapgate.outcome',
  decidedBy: 'tapgate.decided_by',
  client: 'tapgate.client.name',
  attempt: 'tapgate.attempt',
} as const

/** `error.type` for a tool error, and for other errors. */
const TOOL_ERROR = 'tool_error'
const OTHER_ERROR = '_OTHER'

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
function getTargetName(params: Exchange['params']): string {
  const name = params?.name
  return typeof name === 'string' ? name : ''
}

/** Describes a request: its method, target and resource URI. */
function describeOperation(
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
function describeSession({ id, client }: Session, via: Exchange['via'], sanitize: Sanitize): Attributes {
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

function describeUpstream({ name, spec, server }: Upstream, sanitize: Sanitize): Attributes {
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

/** Longer texts are cut, because peers choose them. */
const MAX_TEXT_LENGTH = 256
/** Maximum characters in arguments and results. */
const MAX_VALUE_LENGTH = 8192
/** Clock difference after which the offset is computed again. */
const CLOCK_JUMP_MS = 50

interface ExchangeTrace {
  readonly span: Span
  readonly context: Context
  /** Last attempt, and attempt count for the same call. */
  attempt: Context | undefined
  call: Call | undefined
  attempts: number
  /** Client requests without an answer. */
  clientRequests: OpenClientRequest[] | undefined
}

interface OpenClientRequest {
  readonly method: string
  readonly server: Span
  readonly client: Span
}

/** Creates spans: one per exchange, one per attempt at a server, two per client request. */
export class Spans {
  readonly #api: OtelApi
  readonly #tracer: Tracer
  readonly #clock: Clock
  readonly #hide: (text: string) => string
  readonly #traces: Slot<Exchange, ExchangeTrace>
  readonly #showsArguments: (name: string) => boolean
  readonly #showsResults: (name: string) => boolean
  readonly #passesBaggage: (upstream: string) => boolean
  /** Wall-clock time minus clock time. */
  #offset = 0

  constructor({ options, clock, hide, slot }: PluginApi<TracingOptions>, api: OtelApi, tracer: Tracer) {
    this.#api = api
    this.#tracer = tracer
    this.#clock = clock
    this.#hide = hide
    this.#traces = slot.exchange(exchange => this.#createTrace(exchange))
    this.#showsArguments = compileGlobs(options.arguments ?? [])
    this.#showsResults = compileGlobs(options.results ?? [])
    this.#passesBaggage = compileGlobs(options.baggage ?? [])
  }

  /** Creates the trace state while the host's context is active. */
  startTrace(exchange: Exchange): void {
    this.#traces.get(exchange)
  }

  #createTrace(exchange: Exchange): ExchangeTrace {
    const { parent, link } = this.#readCallerContext(exchange)
    const span = this.#tracer.startSpan(
      exchange.method,
      {
        kind: this.#api.SpanKind.SERVER,
        startTime: this.#getWallTime(exchange.startedAt),
        links: link === undefined ? [] : [{ context: link }],
      },
      this.#createContext(parent),
    )
    const context = this.#api.trace.setSpan(this.#api.ROOT_CONTEXT, span)
    return { span, context, attempt: undefined, call: undefined, attempts: 0, clientRequests: undefined }
  }

  /** The message holds the parent; the HTTP headers, shared by several messages, become a link. */
  #readCallerContext(exchange: Exchange): { readonly parent?: SpanContext; readonly link?: SpanContext } {
    const meta = readMetaContext(this.#api, exchange.received ?? exchange.params)
    const { traceparent, tracestate } = exchange.headers
    const header = parseTraceContext(this.#api, traceparent, tracestate)
    if (meta !== undefined) return { parent: meta, ...(header === undefined ? {} : { link: header }) }
    // The application that the gateway is a part of may have a span.
    const host = exchange.via === 'in-process' ? this.#api.trace.getSpanContext(this.#api.context.active()) : undefined
    const parent = header ?? host
    return parent === undefined ? {} : { parent }
  }

  #createContext(parent: SpanContext | undefined): Context {
    const { ROOT_CONTEXT, trace } = this.#api
    return parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent)
  }

  endExchange(exchange: Exchange): void {
    const { span } = this.#traces.get(exchange)
    if (!span.isRecording()) return
    const { method, params, answer, decidedBy, route, session, via } = exchange
    const { name, attributes } = describeOperation(method, params, this.#sanitizeText)
    span.updateName(name).setAttributes({
      ...attributes,
      ...describeSession(session, via, this.#sanitizeText),
      [OWN_ATTRIBUTE.outcome]: exchange.record.outcome,
      ...(route?.to === 'one' ? { [OWN_ATTRIBUTE.upstream]: route.upstream } : {}),
      ...(decidedBy === undefined ? {} : { [OWN_ATTRIBUTE.decidedBy]: decidedBy }),
    })
    this.#addValues(span, getTargetName(params), params, answer)
    this.#addFailure(span, answer)
    this.#end(span)
  }

  /** Creates a span for each attempt, and propagates its context. */
  wrapDispatch(next: Dispatch, upstream: Upstream): Dispatch {
    const keepsBaggage = this.#passesBaggage(upstream.name)
    return call => {
      const trace = this.#traces.get(call.exchange)
      const kind = this.#api.SpanKind.CLIENT
      const startTime = this.#getWallTime(this.#clock.now())
      const span = this.#tracer.startSpan(call.method, { kind, startTime }, trace.context)
      propagateContext(call, span.spanContext(), keepsBaggage)
      if (!span.isRecording()) return next(call)
      trace.attempts = trace.call === call ? trace.attempts + 1 : 1
      trace.call = call
      trace.attempt = this.#api.trace.setSpan(this.#api.ROOT_CONTEXT, span)
      const { attempts } = trace
      const describe = (): void => {
        const { name, attributes } = describeOperation(call.method, call.params, this.#sanitizeText)
        span.updateName(name).setAttributes({ ...attributes, ...describeUpstream(upstream, this.#sanitizeText) })
        if (attempts > 1) span.setAttribute(OWN_ATTRIBUTE.attempt, attempts)
      }
      return next(call).then(
        answer => {
          describe()
          this.#addFailure(span, answer)
          this.#end(span)
          return answer
        },
        (error: unknown) => {
          describe()
          const type = error instanceof GatewayError ? error.code : OTHER_ERROR
          this.#fail(span, type, getErrorMessage(error))
          this.#end(span)
          throw error
        },
      )
    }
  }

  /** Starts a server span and a client span for a client request, and propagates the context. */
  startClientRequest(ask: Ask, exchange: Exchange): void {
    const { SpanKind, trace: spanApi, ROOT_CONTEXT } = this.#api
    const trace = this.#traces.get(exchange)
    const parent = readMetaContext(this.#api, ask.params)
    const startTime = this.#getWallTime(this.#clock.now())
    const context = parent === undefined ? (trace.attempt ?? trace.context) : this.#createContext(parent)
    const server = this.#tracer.startSpan(ask.method, { kind: SpanKind.SERVER, startTime }, context)
    const serverContext = spanApi.setSpan(ROOT_CONTEXT, server)
    const client = this.#tracer.startSpan(ask.method, { kind: SpanKind.CLIENT, startTime }, serverContext)
    ask.params = injectContext(ask.params, client.spanContext(), false)
    if (!server.isRecording()) return
    trace.clientRequests ??= []
    trace.clientRequests.push({ method: ask.method, server, client })
  }

  /** Records a client request's outcome. */
  endClientRequest(exchange: Exchange, method: string, outcome: string): void {
    const { clientRequests = [] } = this.#traces.get(exchange)
    const at = clientRequests.findIndex(one => one.method === method)
    const [open] = at < 0 ? [] : clientRequests.splice(at, 1)
    if (open === undefined) return
    const { name, attributes } = describeOperation(method, undefined, this.#sanitizeText)
    for (const span of [open.client, open.server]) {
      span.updateName(name).setAttributes({ ...attributes, [OWN_ATTRIBUTE.outcome]: outcome })
      if (outcome === 'error' || outcome === 'refused') this.#fail(span, OTHER_ERROR)
      this.#end(span)
    }
  }

  /** Adds arguments and results of configured tools. */
  #addValues(span: Span, name: string, params: JsonObject | undefined, answer: Answer | undefined): void {
    if (name === '') return
    const args = params?.arguments
    if (args !== undefined && this.#showsArguments(name))
      span.setAttribute(ATTRIBUTE.arguments, this.#sanitize(JSON.stringify(args), MAX_VALUE_LENGTH))
    if (answer !== undefined && 'result' in answer && this.#showsResults(name))
      span.setAttribute(ATTRIBUTE.result, this.#sanitize(answer.result.bytes().toString('utf8'), MAX_VALUE_LENGTH))
  }

  #addFailure(span: Span, answer: Answer | undefined): void {
    if (answer === undefined) return
    if ('error' in answer) {
      span.setAttribute(ATTRIBUTE.statusCode, String(answer.error.code))
      this.#fail(span, String(answer.error.code), answer.error.message)
    } else if ('result' in answer && answer.result.isToolError) this.#fail(span, TOOL_ERROR)
  }

  #fail(span: Span, type: string, message?: string): void {
    const code = this.#api.SpanStatusCode.ERROR
    span.setAttribute(ATTRIBUTE.errorType, type)
    span.setStatus(message === undefined ? { code } : { code, message: this.#sanitizeText(message) })
  }

  #end(span: Span): void {
    span.end(this.#getWallTime(this.#clock.now()))
  }

  readonly #sanitizeText = (text: string): string => this.#sanitize(text, MAX_TEXT_LENGTH)

  #sanitize(text: string, maxLength: number): string {
    const hidden = this.#hide(text)
    return hidden.length > maxLength ? `${hidden.slice(0, maxLength)}…` : hidden
  }

  /** Converts a monotonic time. */
  #getWallTime(time: number): number {
    const offset = Date.now() - this.#clock.now()
    if (Math.abs(offset - this.#offset) > CLOCK_JUMP_MS) this.#offset = offset
    return time + this.#offset
  }
}

function propagateContext(call: Call, context: SpanContext, keepsBaggage: boolean): void {
  const { headers, exchange } = call
  const state = context.traceState?.serialize()
  call.params = injectContext(call.params, context, keepsBaggage)
  headers.traceparent = formatTraceparent(context)
  if (state !== undefined) headers.tracestate = state
  else delete headers.tracestate
  const { baggage } = exchange.headers
  if (keepsBaggage && baggage !== undefined) headers.baggage ??= baggage
}

/** Longer states are dropped, as the specification allows. */
const MAX_STATE_LENGTH = 512

/** Parses W3C `traceparent` and `tracestate`; undefined if invalid. */
function parseTraceContext(api: OtelApi, parent: unknown, state: unknown): SpanContext | undefined {
  const context = typeof parent === 'string' ? api.parseTraceParent(parent) : null
  if (context === null || !api.isSpanContextValid(context)) return undefined
  const hasState = typeof state === 'string' && state.length <= MAX_STATE_LENGTH
  return { ...context, isRemote: true, ...(hasState ? { traceState: new api.TraceState(state) } : {}) }
}

/** Reads the context from `_meta`. */
function readMetaContext(api: OtelApi, params: JsonObject | undefined): SpanContext | undefined {
  const meta = params?._meta
  return isObject(meta) ? parseTraceContext(api, meta.traceparent, meta.tracestate) : undefined
}

function formatTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-0${traceFlags & 1}`
}

/** Sets the context in `_meta`; removes `baggage` unless `keepsBaggage` is true. */
function injectContext(params: JsonObject | undefined, context: SpanContext, keepsBaggage: boolean): JsonObject {
  const meta: JsonObject = isObject(params?._meta) ? { ...params._meta } : {}
  const state = context.traceState?.serialize()
  meta.traceparent = formatTraceparent(context)
  if (state !== undefined) meta.tracestate = state
  else delete meta.tracestate
  if (!keepsBaggage) delete meta.baggage
  return { ...params, _meta: meta }
}
