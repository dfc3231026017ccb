import type { Clock, Config, Exchange, JsonObject, PluginHooks } from '../../src/plugin.ts'
import { describeArguments, compileGlobs, hasFailed, isObject, getOutcome } from '../../src/plugin.ts'
import type { Hide } from './api.ts'
import { ROWS } from './api.ts'
import type { CallLogFilter } from './call-log.ts'
import { CallLog, Clients, isFailed, rowOf } from './call-log.ts'
import { Streams } from './events.ts'
import type { CallDetail, Figures, Timing } from './types.ts'

const EVERY_MS = 10_000
/** An hour of them. */
const KEPT = 360
/** Upper ends of classes of durations: each is a third more than the one before, from a tenth of a millisecond to an hour. */
const CLASSES = 60
const FIRST_MS = 0.1
const GROWTH = 4 / 3

interface Span {
  readonly at: number
  calls: number
  failed: number
  cached: number
  bytes: number
  readonly classes: Uint32Array
}

/** A call, as far as figures are made of it. */
interface CountedCall {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly ms: number
  readonly isFailed: boolean
  readonly isCached: boolean
  readonly bytes: number
}

/** Counts what is called in the last hour, ten seconds at a time. */
export class FigureRing {
  readonly #spans: Span[] = []

  add({ at, ms, isFailed, isCached, bytes }: CountedCall): void {
    const span = this.#spanAt(Math.floor(at / EVERY_MS) * EVERY_MS)
    span.calls++
    span.bytes += bytes
    if (isFailed) span.failed++
    if (isCached) span.cached++
    const place = classOf(ms)
    span.classes[place] = (span.classes[place] ?? 0) + 1
  }

  /** Spans of the last hour in which anything was called. */
  read(now: number): Figures[] {
    const since = now - KEPT * EVERY_MS
    return this.#spans
      .filter(({ at }) => at >= since)
      .map(({ classes, ...span }) => ({
        ...span,
        p50: quantile(classes, span.calls / 2),
        p95: quantile(classes, span.calls * 0.95),
      }))
  }

  /** A clock that was set back changes nothing but where calls are counted. */
  #spanAt(at: number): Span {
    const last = this.#spans.at(-1)
    if (last !== undefined && last.at >= at) return last
    const span = { at, calls: 0, failed: 0, cached: 0, bytes: 0, classes: new Uint32Array(CLASSES) }
    this.#spans.push(span)
    if (this.#spans.length > KEPT) this.#spans.shift()
    return span
  }
}

function classOf(ms: number): number {
  const place = Math.ceil(Math.log(Math.max(ms, FIRST_MS) / FIRST_MS) / Math.log(GROWTH))
  return Math.min(place, CLASSES - 1)
}

/** Upper end of the class that the call of this rank is in. */
function quantile(classes: Uint32Array, rank: number): number {
  let sum = 0
  const place = classes.findIndex(count => (sum += count) >= rank)
  return Math.round(FIRST_MS * GROWTH ** Math.max(place, 0) * 10) / 10
}

type Options = NonNullable<Config['ui']>

/** Requests that are recorded as calls. */
const METHODS = ['tools/call', 'prompts/get', 'resources/read']

/** Longer texts are cut: any peer may write them. */
const MAX_TEXT = 256
const MAX_VALUES = 4096
const MICROS = 1000

/** Recent calls and clients of the whole gateway, and figures of them. It outlives a reload. */
export class Recorder {
  readonly calls: CallLog
  readonly clients = new Clients()
  readonly figures = new FigureRing()
  readonly streams: Streams

  constructor(clock: Clock, hide: Hide, maxCalls: number) {
    this.calls = new CallLog(maxCalls)
    this.streams = new Streams(clock, hide)
  }

  /** Records what is called from here on, and answers the verbs that show it. */
  tap(hooks: PluginHooks, { values = [] }: Options, clock: Clock): void {
    const { calls, clients } = this
    const keepsValues = compileGlobs(values)
    hooks.session.tap(session => clients.opened(session))
    hooks.sessionEnd.tap(session => clients.closed(session))
    hooks.settled.tap({ methods: METHODS, timed: true }, exchange => {
      clients.called(exchange.session)
      this.#add(recordOf(exchange, clock, keepsValues(nameOf(exchange))))
    })
    const verb = (name: string, run: (params: JsonObject) => JsonObject): void =>
      hooks.control.for(`ui.${name}`).tap({ readOnly: true }, run)
    verb('calls', params => ({ ...calls.find(parseWanted(params)) }))
    verb('call', ({ id }) => {
      const call = calls.get(Number(id))
      return call === undefined ? {} : { call }
    })
    verb('figures', () => ({ figures: this.figures.read(Date.now()) }))
    verb('clients', () => ({ clients: clients.list() }))
  }

  #add(call: Omit<CallDetail, 'id'>): void {
    const { at, ms, outcome, bytesIn, bytesOut, timing } = call
    const isCached = outcome === 'ok' && timing?.tries === 0
    this.figures.add({ at, ms, isFailed: isFailed(outcome), isCached, bytes: bytesIn + bytesOut })
    this.streams.emitCall(rowOf(this.calls.add(call)))
  }
}

function parseWanted(params: JsonObject): CallLogFilter {
  const text = (name: string): string | undefined => {
    const value = params[name]
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const number = (name: string): number | undefined => {
    const value = params[name]
    return Number.isSafeInteger(value) ? (value as number) : undefined
  }
  return {
    ...{ tool: text('tool'), caller: text('caller'), server: text('server'), outcome: text('outcome') },
    ...{ before: number('before'), after: number('after') },
    limit: Math.min(Math.max(number('limit') ?? ROWS.usual, ROWS.min), ROWS.max),
  }
}

function recordOf(exchange: Exchange, clock: Clock, isKept: boolean): Omit<CallDetail, 'id'> {
  const { method, principal, session, route, bytes, decidedBy } = exchange
  const args = isKept ? exchange.params?.arguments : undefined
  return {
    at: Date.now(),
    ...timesOf(exchange, clock),
    method,
    name: cut(nameOf(exchange)),
    upstream: route?.to === 'one' ? route.upstream : '',
    subject: cut(principal.subject),
    issuer: principal.issuer,
    client: cut(session.client.info.name),
    era: session.client.era,
    via: exchange.via,
    profile: session.profile ?? '',
    outcome: getOutcome(exchange),
    by: decidedBy ?? '',
    bytesIn: bytes,
    ...answerOf(exchange, isKept),
    shape: describeArguments(exchange.params) ?? '',
    ...(isObject(args) ? { arguments: cut(JSON.stringify(args), MAX_VALUES) } : {}),
  }
}

/** The name of a tool or prompt, or a URI without its credentials. */
function nameOf({ params }: Exchange): string {
  const { name, uri } = params ?? {}
  if (typeof name === 'string') return name
  if (typeof uri !== 'string') return ''
  return uri.replace(/[?#].*$/s, '').replace(/^([\w+.-]+:\/\/)[^/@]*@/, '$1')
}

function answerOf(
  { answer }: Exchange,
  isKept: boolean,
): Pick<CallDetail, 'code' | 'bytesOut' | 'result' | 'error'> {
  if (answer === undefined) return { code: 0, bytesOut: 0 }
  if ('error' in answer)
    return { code: answer.error.code, bytesOut: 0, error: cut(answer.error.message, MAX_VALUES) }
  const payload = 'result' in answer ? answer.result : 'input' in answer ? answer.input : answer.task
  const bytes = payload.bytes()
  const size = { code: 0, bytesOut: bytes.length }
  if (isKept) return { ...size, result: cut(bytes.subarray(0, MAX_VALUES + 4).toString(), MAX_VALUES) }
  return 'result' in answer && hasFailed(payload) ? { ...size, error: 'the tool said that it failed' } : size
}

/** The duration of a call, so that the parts are the whole. A call that has not left for a server has no parts. */
function timesOf({ times, startedAt }: Exchange, clock: Clock): Pick<CallDetail, 'ms' | 'timing'> {
  if (times === undefined) return { ms: round(clock.now() - startedAt) }
  const { tries, isDispatched, upstream: server, ...phases } = times
  const parts = Object.entries({ ...phases, server })
  const ms = round(parts.reduce((total, [, part]) => total + part, 0))
  if (!isDispatched) return { ms }
  const rounded = Object.fromEntries(parts.map(([name, part]) => [name, round(part)]))
  return { ms, timing: { ...(rounded as Omit<Timing, 'tries'>), tries } }
}

function round(ms: number): number {
  return Math.round(ms * MICROS) / MICROS
}

function cut(text: string, max = MAX_TEXT): string {
  return text.length > max ? `${text.slice(0, max)}…` : text
}
