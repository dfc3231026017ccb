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
  KnownTexts,
  OF_RESOURCES,
  OTHER_ERROR,
  OWN,
  TOOL_ERROR,
  nameIn,
} from './known-texts.ts'
import type { TraceContext } from './context.ts'
import { contextIn, contextOf, hostContext, parentText, randomId, withContext } from './context.ts'
import type { Sampler } from './settings.ts'
import { attribute, spanText } from './span-text.ts'

type Options = NonNullable<Config['tracing']>

/** Longest arguments and results that stand in a span. */
const MAX_VALUE_LENGTH = 8192
/** Difference between the clocks from which on the system's counts anew. */
const JUMP_MS = 50

/** Place that spans go to; what it has no room for need not be written. */
interface Output {
  hasRoom(): boolean
  add(span: string): void
}

/** Place of an exchange in its trace. */
interface TraceParent {
  readonly context: TraceContext
  readonly parent: TraceContext | undefined
  readonly link: TraceContext | undefined
  readonly isParentRemote: boolean
  /** The last try at a server, and how many there were of the same call. */
  attempt: TraceContext | undefined
  call: Call | undefined
  tries: number
  /** Requests of servers that the client has not answered. */
  asks: OpenAsk[] | undefined
}

interface OpenAsk {
  readonly method: string
  readonly parent: TraceContext
  readonly server: TraceContext
  readonly client: TraceContext
  readonly startedAt: number
}

/** Writes the spans of one generation: one for each exchange, one for each try at a server, two for what a server asks. */
export class Spans {
  readonly #texts: KnownTexts
  readonly #clock: Clock
  readonly #sampler: Sampler
  readonly #hide: (text: string) => string
  readonly #places: Slot<Exchange, TraceParent>
  readonly #sessions: Slot<Exchange['session'], { via: string; client: object; text: string }>
  readonly #showsArguments: (name: string) => boolean
  readonly #showsResults: (name: string) => boolean
  readonly #passesBaggage: (upstream: string) => boolean
  readonly #out: Output
  /** Difference between wall-clock time and the clock's. */
  #offset = 0

  constructor({ options, clock, hide, slot }: PluginApi<Options>, sampler: Sampler, out: Output) {
    this.#texts = new KnownTexts(hide)
    this.#clock = clock
    this.#sampler = sampler
    this.#hide = hide
    this.#places = slot.exchange(exchange => this.#placeOf(exchange))
    this.#sessions = slot.session(({ client }) => ({ via: '', client, text: '' }))
    this.#showsArguments = compileGlobs(options.arguments ?? [])
    this.#showsResults = compileGlobs(options.results ?? [])
    this.#passesBaggage = compileGlobs(options.baggage ?? [])
    this.#out = out
  }

  /** Finds the place of an exchange, now that its caller's context is the one that is active. */
  begin(exchange: Exchange): void {
    this.#places.get(exchange)
  }

  #placeOf(exchange: Exchange): TraceParent {
    const { parent, link, isParentRemote } = callerOf(exchange)
    const traceId = parent?.traceId ?? randomId(16)
    const context = {
      traceId,
      spanId: randomId(8),
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
      tries: 0,
      asks: undefined,
    }
  }

  /** Ends the span of an exchange. */
  settled(exchange: Exchange): void {
    const place = this.#places.get(exchange)
    const { context, parent, link, isParentRemote } = place
    if (!context.isSampled || !this.#out.hasRoom()) return
    const { method, params, answer, startedAt, decidedBy, route } = exchange
    const { name, attributes } = this.#texts.operation(method, nameIn(params))
    let more = `${attributes},${this.#sessionText(exchange)}${this.#texts.few(OWN.outcome, getOutcome(exchange))}`
    if (route?.to === 'one') more += this.#texts.few(OWN.upstream, route.upstream)
    if (decidedBy !== undefined) more += this.#texts.few(OWN.decidedBy, decidedBy)
    more += this.#resource(exchange.method, params) + this.#values(nameIn(params), params, answer)
    const failure = this.#failureOf(answer)
    const head = `"name":${name},"kind":${KIND.server}`
    const times = this.#times(startedAt)
    const span = { context, parent, link, isParentRemote, head, ...times }
    this.#out.add(spanText({ ...span, attributes: more + failure.attributes, failure: failure.words }))
  }

  /** Wraps the calls of a server: each try has a span, and its context goes with it. */
  wrap(next: Dispatch, upstream: Upstream): Dispatch {
    const keepsBaggage = this.#passesBaggage(upstream.name)
    let known: { readonly server: Upstream['server']; readonly text: string } | undefined
    return call => {
      const place = this.#places.get(call.exchange)
      const { traceId, isSampled, state } = place.context
      const context = { traceId, spanId: randomId(8), isSampled, state }
      pass(call, context, keepsBaggage)
      if (!isSampled) return next(call)
      place.tries = place.call === call ? place.tries + 1 : 1
      place.call = call
      place.attempt = context
      const { tries } = place
      const startedAt = this.#clock.now()
      const end = (answer: Answer | undefined, error?: unknown): void => {
        if (known?.server !== upstream.server || known === undefined)
          known = { server: upstream.server, text: this.#texts.upstream(upstream) }
        this.#attempted(call, { place, context, tries, startedAt, server: known.text, answer, error })
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

  #attempted(
    { method, params }: Call,
    { place, context, tries, startedAt, server, answer, error }: Attempt,
  ): void {
    if (!this.#out.hasRoom()) return
    const { name, attributes } = this.#texts.operation(method, nameIn(params))
    const retried = tries > 1 ? `,${attribute(OWN.attempt, tries)}` : ''
    const failure = answer === undefined ? this.#thrown(error) : this.#failureOf(answer)
    this.#out.add(
      spanText({
        context,
        parent: place.context,
        isParentRemote: false,
        link: undefined,
        head: `"name":${name},"kind":${KIND.client}`,
        ...this.#times(startedAt),
        attributes: `${attributes},${server}${retried}${this.#resource(method, params)}${failure.attributes}`,
        failure: failure.words,
      }),
    )
  }

  /** A server asks the client: the gateway is its server, and the client's client. The context goes on with the request. */
  asked(ask: Ask, exchange: Exchange): void {
    const place = this.#places.get(exchange)
    const { isSampled } = place.context
    const parent = contextIn(ask.params) ?? place.attempt ?? place.context
    const { traceId, state } = parent
    const server = { traceId, spanId: randomId(8), isSampled, state }
    const client = { traceId, spanId: randomId(8), isSampled, state }
    ask.params = withContext(ask.params, client, parentText(client), false)
    if (!isSampled) return
    place.asks ??= []
    place.asks.push({ method: ask.method, parent, server, client, startedAt: this.#clock.now() })
  }

  /** Notes the outcome of a request of a server. */
  replied(exchange: Exchange, method: string, outcome: string): void {
    const ask = takeAsk(this.#places.get(exchange), method)
    if (ask === undefined || !this.#out.hasRoom()) return
    const { name, attributes } = this.#texts.operation(method, '')
    const more = `${attributes}${this.#texts.few(OWN.outcome, outcome)}`
    const isFailure = outcome === 'error' || outcome === 'refused'
    const failed = isFailure ? this.#texts.few(ATTRIBUTE.errorType, OTHER_ERROR) : ''
    const failure = isFailure ? '' : undefined
    const times = this.#times(ask.startedAt)
    const same = { ...times, link: undefined, attributes: more + failed, failure }
    const server = `"name":${name},"kind":${KIND.server}`
    const client = `"name":${name},"kind":${KIND.client}`
    this.#out.add(
      spanText({ ...same, context: ask.server, parent: ask.parent, isParentRemote: true, head: server }),
    )
    this.#out.add(
      spanText({ ...same, context: ask.client, parent: ask.server, isParentRemote: false, head: client }),
    )
  }

  #sessionText({ session, via }: Exchange): string {
    const known = this.#sessions.get(session)
    // A client's description of itself may come later than its session.
    if (known.via !== via || known.client !== session.client) {
      known.via = via
      known.client = session.client
      known.text = this.#texts.session(session, via)
    }
    return known.text
  }

  /** A URI without what may be a key or a password in it. */
  #resource(method: string, params: JsonObject | undefined): string {
    const uri = OF_RESOURCES.has(method) ? params?.uri : undefined
    if (typeof uri !== 'string') return ''
    const bare = uri.replace(/[?#].*$/s, '').replace(/^([\w+.-]+:\/\/)[^/@]*@/, '$1')
    return `,${attribute(ATTRIBUTE.resource, this.#texts.text(bare))}`
  }

  /** Arguments and results of the tools that are named, and of no other. */
  #values(name: string, params: JsonObject | undefined, answer: Answer | undefined): string {
    if (name === '') return ''
    let text = ''
    const args = params?.arguments
    if (args !== undefined && this.#showsArguments(name))
      text += `,${attribute(ATTRIBUTE.arguments, this.#value(JSON.stringify(args)))}`
    if (answer !== undefined && 'result' in answer && this.#showsResults(name))
      text += `,${attribute(ATTRIBUTE.result, this.#value(answer.result.bytes().toString('utf8')))}`
    return text
  }

  #value(json: string): string {
    const text = this.#hide(json)
    return text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}…` : text
  }

  #failureOf(answer: Answer | undefined): Failure {
    if (answer === undefined) return FINE
    if ('error' in answer) {
      const code = String(answer.error.code)
      const attributes = `${this.#texts.few(ATTRIBUTE.errorType, code)}${this.#texts.few(ATTRIBUTE.statusCode, code)}`
      return { attributes, words: this.#texts.text(answer.error.message) }
    }
    return 'result' in answer && answer.result.isToolError
      ? { attributes: this.#texts.few(ATTRIBUTE.errorType, TOOL_ERROR), words: '' }
      : FINE
  }

  #thrown(error: unknown): Failure {
    const type = error instanceof GatewayError ? error.code : OTHER_ERROR
    return {
      attributes: this.#texts.few(ATTRIBUTE.errorType, type),
      words: this.#texts.text(getErrorMessage(error)),
    }
  }

  /** Wall-clock times of a beginning on the clock, which does not jump as the system's may, and of now. */
  #times(began: number): { readonly startedAt: number; readonly endedAt: number } {
    const now = this.#clock.now()
    const offset = Date.now() - now
    if (Math.abs(offset - this.#offset) > JUMP_MS) this.#offset = offset
    return { startedAt: began + this.#offset, endedAt: now + this.#offset }
  }
}

/** The parent stands in the message; the context of the HTTP request, which may carry several, is a link. */
function callerOf(exchange: Exchange): Pick<TraceParent, 'parent' | 'link' | 'isParentRemote'> {
  const said = contextIn(exchange.received ?? exchange.params)
  const { traceparent, tracestate } = exchange.headers
  const carried = traceparent === undefined ? undefined : contextOf(traceparent, tracestate)
  if (said !== undefined) return { parent: said, link: carried, isParentRemote: true }
  if (carried !== undefined) return { parent: carried, link: undefined, isParentRemote: true }
  const host = exchange.via === 'in-process' ? hostContext() : undefined
  return { parent: host, link: undefined, isParentRemote: false }
}

function takeAsk({ asks = [] }: TraceParent, method: string): OpenAsk | undefined {
  const at = asks.findIndex(one => one.method === method)
  return at < 0 ? undefined : asks.splice(at, 1)[0]
}

interface Attempt {
  readonly place: TraceParent
  readonly context: TraceContext
  readonly tries: number
  readonly startedAt: number
  readonly server: string
  readonly answer: Answer | undefined
  readonly error: unknown
}

interface Failure {
  readonly attributes: string
  readonly words: string | undefined
}

const FINE: Failure = { attributes: '', words: undefined }

function pass(call: Call, context: TraceContext, keepsBaggage: boolean): void {
  const { headers, exchange } = call
  const parent = parentText(context)
  call.params = withContext(call.params, context, parent, keepsBaggage)
  headers.traceparent = parent
  if (context.state !== undefined) headers.tracestate = context.state
  else delete headers.tracestate
  const { baggage } = exchange.headers
  if (keepsBaggage && baggage !== undefined) headers.baggage ??= baggage
}
