import type { Context, Span, SpanContext, Tracer } from '@opentelemetry/api'
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
} from '../../src/plugin.ts'
import { compileGlobs, GatewayError, getErrorMessage, isObject } from '../../src/plugin.ts'
import {
  ATTRIBUTE,
  describeOperation,
  describeSession,
  describeUpstream,
  getTargetName,
  OTHER_ERROR,
  OWN_ATTRIBUTE,
  TOOL_ERROR,
} from './attributes.ts'
import type { OtelApi, TracingOptions } from './otel.ts'

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
