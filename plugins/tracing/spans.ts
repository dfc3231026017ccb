import type {
  Answer,
  Ask,
  Call,
  Clock,
  Config,
  Dispatch,
  Exchange,
  JsonObject,
  PluginApi,
  Slot,
  Upstream,
} from '../../src/plugin.ts'
import { compileGlobs, GatewayError, getOutcome, getErrorMessage } from '../../src/plugin.ts'
import {
  ATTRIBUTE,
  KIND,
  SpanTextCache,
  RESOURCE_METHODS,
  OTHER_ERROR,
  OWN_ATTRIBUTE,
  TOOL_ERROR,
  getTargetName,
} from './span-text-cache.ts'
import type { TraceContext } from './trace-context.ts'
import {
  readMetaContext,
  parseTraceContext,
  readHostContext,
  formatTraceparent,
  createRandomId,
  injectContext,
} from './trace-context.ts'
import type { Sampler } from './settings.ts'
import { formatAttribute, formatSpan } from './format-span.ts'

type TracingOptions = NonNullable<Config['tracing']>

/** Maximum characters in arguments and results. */
const MAX_VALUE_LENGTH = 8192
/** Clock difference after which the offset is computed again. */
const CLOCK_JUMP_MS = 50

/** Receives finished spans. */
interface SpanSink {
  hasRoom(): boolean
  add(span: string): void
}

interface ExchangeTrace {
  readonly context: TraceContext
  readonly parent: TraceContext | undefined
  readonly link: TraceContext | undefined
  readonly isParentRemote: boolean
  /** Last attempt, and attempt count for the same call. */
  attempt: TraceContext | undefined
  call: Call | undefined
  attempts: number
  /** Client requests without an answer. */
  clientRequests: OpenClientRequest[] | undefined
}

interface OpenClientRequest {
  readonly method: string
  readonly parent: TraceContext
  readonly server: TraceContext
  readonly client: TraceContext
  readonly startedAt: number
}

/** Creates spans: one per exchange, one per attempt at a server, two per client request. */
export class Spans {
  readonly #texts: SpanTextCache
  readonly #clock: Clock
  readonly #sampler: Sampler
  readonly #hide: (text: string) => string
  readonly #traces: Slot<Exchange, ExchangeTrace>
  readonly #sessions: Slot<Exchange['session'], { via: string; client: object; text: string }>
  readonly #showsArguments: (name: string) => boolean
  readonly #showsResults: (name: string) => boolean
  readonly #passesBaggage: (upstream: string) => boolean
  readonly #out: SpanSink
  /** Wall-clock time minus clock time. */
  #offset = 0

  constructor({ options, clock, hide, slot }: PluginApi<TracingOptions>, sampler: Sampler, out: SpanSink) {
    this.#texts = new SpanTextCache(hide)
    this.#clock = clock
    this.#sampler = sampler
    this.#hide = hide
    this.#traces = slot.exchange(exchange => this.#createTrace(exchange))
    this.#sessions = slot.session(({ client }) => ({ via: '', client, text: '' }))
    this.#showsArguments = compileGlobs(options.arguments ?? [])
    this.#showsResults = compileGlobs(options.results ?? [])
    this.#passesBaggage = compileGlobs(options.baggage ?? [])
    this.#out = out
  }

  /** Creates the trace state while the host's context is active. */
  startTrace(exchange: Exchange): void {
    this.#traces.get(exchange)
  }

  #createTrace(exchange: Exchange): ExchangeTrace {
    const { parent, link, isParentRemote } = readCallerContext(exchange)
    const traceId = parent?.traceId ?? createRandomId(16)
    const context = {
      traceId,
      spanId: createRandomId(8),
      isSampled: this.#sampler(traceId, parent),
      state: parent?.state,
    }
    return {
      context,
      parent,
      link,
      isParentRemote,
      attempt: undefined,
      call: undefined,
      attempts: 0,
      clientRequests: undefined,
    }
  }

  endExchange(exchange: Exchange): void {
    const trace = this.#traces.get(exchange)
    const { context, parent, link, isParentRemote } = trace
    if (!context.isSampled || !this.#out.hasRoom()) return
    const { method, params, answer, startedAt, decidedBy, route } = exchange
    const { name, attributes } = this.#texts.describeOperation(method, getTargetName(params))
    let more = `${attributes},${this.#describeSession(exchange)}${this.#texts.writeAttribute(OWN_ATTRIBUTE.outcome, getOutcome(exchange))}`
    if (route?.to === 'one') more += this.#texts.writeAttribute(OWN_ATTRIBUTE.upstream, route.upstream)
    if (decidedBy !== undefined) more += this.#texts.writeAttribute(OWN_ATTRIBUTE.decidedBy, decidedBy)
    more +=
      this.#describeResource(exchange.method, params) + this.#describeValues(getTargetName(params), params, answer)
    const failure = this.#describeFailure(answer)
    const head = `"name":${name},"kind":${KIND.server}`
    const times = this.#computeTimes(startedAt)
    const span = { context, parent, link, isParentRemote, head, ...times }
    this.#out.add(formatSpan({ ...span, attributes: more + failure.attributes, failure: failure.message }))
  }

  /** Creates a span for each attempt, and propagates its context. */
  wrapDispatch(next: Dispatch, upstream: Upstream): Dispatch {
    const keepsBaggage = this.#passesBaggage(upstream.name)
    let cached: { readonly server: Upstream['server']; readonly text: string } | undefined
    return call => {
      const trace = this.#traces.get(call.exchange)
      const { traceId, isSampled, state } = trace.context
      const context = { traceId, spanId: createRandomId(8), isSampled, state }
      propagateContext(call, context, keepsBaggage)
      if (!isSampled) return next(call)
      trace.attempts = trace.call === call ? trace.attempts + 1 : 1
      trace.call = call
      trace.attempt = context
      const { attempts } = trace
      const startedAt = this.#clock.now()
      const end = (answer: Answer | undefined, error?: unknown): void => {
        if (cached?.server !== upstream.server || cached === undefined)
          cached = { server: upstream.server, text: this.#texts.describeUpstream(upstream) }
        this.#endAttempt(call, { trace, context, attempts, startedAt, server: cached.text, answer, error })
      }
      return next(call).then(
        answer => {
          end(answer)
          return answer
        },
        (error: unknown) => {
          end(undefined, error)
          throw error
        },
      )
    }
  }

  #endAttempt(
    { method, params }: Call,
    { trace, context, attempts, startedAt, server, answer, error }: AttemptEnd,
  ): void {
    if (!this.#out.hasRoom()) return
    const { name, attributes } = this.#texts.describeOperation(method, getTargetName(params))
    const retried = attempts > 1 ? `,${formatAttribute(OWN_ATTRIBUTE.attempt, attempts)}` : ''
    const failure = answer === undefined ? this.#describeThrown(error) : this.#describeFailure(answer)
    this.#out.add(
      formatSpan({
        context,
        parent: trace.context,
        isParentRemote: false,
        link: undefined,
        head: `"name":${name},"kind":${KIND.client}`,
        ...this.#computeTimes(startedAt),
        attributes: `${attributes},${server}${retried}${this.#describeResource(method, params)}${failure.attributes}`,
        failure: failure.message,
      }),
    )
  }

  /** Starts a server span and a client span for a client request, and propagates the context. */
  startClientRequest(ask: Ask, exchange: Exchange): void {
    const trace = this.#traces.get(exchange)
    const { isSampled } = trace.context
    const parent = readMetaContext(ask.params) ?? trace.attempt ?? trace.context
    const { traceId, state } = parent
    const server = { traceId, spanId: createRandomId(8), isSampled, state }
    const client = { traceId, spanId: createRandomId(8), isSampled, state }
    ask.params = injectContext(ask.params, client, formatTraceparent(client), false)
    if (!isSampled) return
    trace.clientRequests ??= []
    trace.clientRequests.push({ method: ask.method, parent, server, client, startedAt: this.#clock.now() })
  }

  /** Records a client request's outcome. */
  endClientRequest(exchange: Exchange, method: string, outcome: string): void {
    const ask = takeClientRequest(this.#traces.get(exchange), method)
    if (ask === undefined || !this.#out.hasRoom()) return
    const { name, attributes } = this.#texts.describeOperation(method, '')
    const more = `${attributes}${this.#texts.writeAttribute(OWN_ATTRIBUTE.outcome, outcome)}`
    const isFailure = outcome === 'error' || outcome === 'refused'
    const failed = isFailure ? this.#texts.writeAttribute(ATTRIBUTE.errorType, OTHER_ERROR) : ''
    const failure = isFailure ? '' : undefined
    const times = this.#computeTimes(ask.startedAt)
    const same = { ...times, link: undefined, attributes: more + failed, failure }
    const server = `"name":${name},"kind":${KIND.server}`
    const client = `"name":${name},"kind":${KIND.client}`
    this.#out.add(formatSpan({ ...same, context: ask.server, parent: ask.parent, isParentRemote: true, head: server }))
    this.#out.add(formatSpan({ ...same, context: ask.client, parent: ask.server, isParentRemote: false, head: client }))
  }

  #describeSession({ session, via }: Exchange): string {
    const cached = this.#sessions.get(session)
    // A client may describe itself after the session started.
    if (cached.via !== via || cached.client !== session.client) {
      cached.via = via
      cached.client = session.client
      cached.text = this.#texts.describeSession(session, via)
    }
    return cached.text
  }

  /** Removes the query and credentials from a URI. */
  #describeResource(method: string, params: JsonObject | undefined): string {
    const uri = RESOURCE_METHODS.has(method) ? params?.uri : undefined
    if (typeof uri !== 'string') return ''
    const bare = uri.replace(/[?#].*$/s, '').replace(/^([\w+.-]+:\/\/)[^/@]*@/, '$1')
    return `,${formatAttribute(ATTRIBUTE.resource, this.#texts.sanitizeText(bare))}`
  }

  /** Arguments and results of configured tools. */
  #describeValues(name: string, params: JsonObject | undefined, answer: Answer | undefined): string {
    if (name === '') return ''
    let text = ''
    const args = params?.arguments
    if (args !== undefined && this.#showsArguments(name))
      text += `,${formatAttribute(ATTRIBUTE.arguments, this.#sanitizeValue(JSON.stringify(args)))}`
    if (answer !== undefined && 'result' in answer && this.#showsResults(name))
      text += `,${formatAttribute(ATTRIBUTE.result, this.#sanitizeValue(answer.result.bytes().toString('utf8')))}`
    return text
  }

  #sanitizeValue(json: string): string {
    const text = this.#hide(json)
    return text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}…` : text
  }

  #describeFailure(answer: Answer | undefined): SpanFailure {
    if (answer === undefined) return NO_FAILURE
    if ('error' in answer) {
      const code = String(answer.error.code)
      const attributes = `${this.#texts.writeAttribute(ATTRIBUTE.errorType, code)}${this.#texts.writeAttribute(ATTRIBUTE.statusCode, code)}`
      return { attributes, message: this.#texts.sanitizeText(answer.error.message) }
    }
    return 'result' in answer && answer.result.isToolError
      ? { attributes: this.#texts.writeAttribute(ATTRIBUTE.errorType, TOOL_ERROR), message: '' }
      : NO_FAILURE
  }

  #describeThrown(error: unknown): SpanFailure {
    const type = error instanceof GatewayError ? error.code : OTHER_ERROR
    return {
      attributes: this.#texts.writeAttribute(ATTRIBUTE.errorType, type),
      message: this.#texts.sanitizeText(getErrorMessage(error)),
    }
  }

  /** Converts clock times to wall-clock times; the clock is monotonic. */
  #computeTimes(began: number): { readonly startedAt: number; readonly endedAt: number } {
    const now = this.#clock.now()
    const offset = Date.now() - now
    if (Math.abs(offset - this.#offset) > CLOCK_JUMP_MS) this.#offset = offset
    return { startedAt: began + this.#offset, endedAt: now + this.#offset }
  }
}

/** The message holds the parent; the HTTP headers, shared by several messages, become a link. */
function readCallerContext(exchange: Exchange): Pick<ExchangeTrace, 'parent' | 'link' | 'isParentRemote'> {
  const metaContext = readMetaContext(exchange.received ?? exchange.params)
  const { traceparent, tracestate } = exchange.headers
  const headerContext = traceparent === undefined ? undefined : parseTraceContext(traceparent, tracestate)
  if (metaContext !== undefined) return { parent: metaContext, link: headerContext, isParentRemote: true }
  if (headerContext !== undefined) return { parent: headerContext, link: undefined, isParentRemote: true }
  const host = exchange.via === 'in-process' ? readHostContext() : undefined
  return { parent: host, link: undefined, isParentRemote: false }
}

function takeClientRequest({ clientRequests = [] }: ExchangeTrace, method: string): OpenClientRequest | undefined {
  const at = clientRequests.findIndex(one => one.method === method)
  return at < 0 ? undefined : clientRequests.splice(at, 1)[0]
}

interface AttemptEnd {
  readonly trace: ExchangeTrace
  readonly context: TraceContext
  readonly attempts: number
  readonly startedAt: number
  readonly server: string
  readonly answer: Answer | undefined
  readonly error: unknown
}

interface SpanFailure {
  readonly attributes: string
  readonly message: string | undefined
}

const NO_FAILURE: SpanFailure = { attributes: '', message: undefined }

function propagateContext(call: Call, context: TraceContext, keepsBaggage: boolean): void {
  const { headers, exchange } = call
  const parent = formatTraceparent(context)
  call.params = injectContext(call.params, context, parent, keepsBaggage)
  headers.traceparent = parent
  if (context.state !== undefined) headers.tracestate = context.state
  else delete headers.tracestate
  const { baggage } = exchange.headers
  if (keepsBaggage && baggage !== undefined) headers.baggage ??= baggage
}
