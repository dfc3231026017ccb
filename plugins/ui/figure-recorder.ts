import type { Clock, Config, Exchange, JsonObject, PluginHooks } from '../../src/plugin.ts'
import { describeArguments, compileGlobs, hasFailed, isObject, getOutcome } from '../../src/plugin.ts'
import type { HideSecrets } from './api.ts'
import { ROW_LIMITS } from './api.ts'
import type { CallLogFilter } from './call-log.ts'
import { CallLog, ClientLog, isFailedOutcome, toCallRow } from './call-log.ts'
import { PageStreams } from './page-event-streams.ts'
import type { CallDetail, Figures, Timing } from './types.ts'

const SPAN_MS = 10_000
/** One hour. */
const MAX_SPANS = 360
/** Upper bounds of the latency classes: each is a third larger, from 0.1 ms to an hour. */
const DURATION_CLASSES = 60
const MIN_CLASS_MS = 0.1
const GROWTH = 4 / 3

interface FigureSpan {
  readonly at: number
  calls: number
  failed: number
  cached: number
  bytes: number
  readonly classes: Uint32Array
}

/** Call data for the figures. */
interface CallSample {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly ms: number
  readonly isFailed: boolean
  readonly isCached: boolean
  readonly bytes: number
}

/** Call statistics of the last hour, in intervals of ten seconds. */
export class FigureRing {
  readonly #spans: FigureSpan[] = []

  add({ at, ms, isFailed, isCached, bytes }: CallSample): void {
    const span = this.#getSpan(Math.floor(at / SPAN_MS) * SPAN_MS)
    span.calls++
    span.bytes += bytes
    if (isFailed) span.failed++
    if (isCached) span.cached++
    const index = getDurationClass(ms)
    span.classes[index] = (span.classes[index] ?? 0) + 1
  }

  /** Returns the intervals with calls in the last hour. */
  read(now: number): Figures[] {
    const since = now - MAX_SPANS * SPAN_MS
    return this.#spans
      .filter(({ at }) => at >= since)
      .map(({ classes, ...span }) => ({
        ...span,
        p50: computeQuantile(classes, span.calls / 2),
        p95: computeQuantile(classes, span.calls * 0.95),
      }))
  }

  /** If the system clock moves back, calls count in the last interval. */
  #getSpan(at: number): FigureSpan {
    const last = this.#spans.at(-1)
    if (last !== undefined && last.at >= at) return last
    const span = { at, calls: 0, failed: 0, cached: 0, bytes: 0, classes: new Uint32Array(DURATION_CLASSES) }
    this.#spans.push(span)
    if (this.#spans.length > MAX_SPANS) this.#spans.shift()
    return span
  }
}

function getDurationClass(ms: number): number {
  const index = Math.ceil(Math.log(Math.max(ms, MIN_CLASS_MS) / MIN_CLASS_MS) / Math.log(GROWTH))
  return Math.min(index, DURATION_CLASSES - 1)
}

/** Upper bound of the class with this rank. */
function computeQuantile(classes: Uint32Array, rank: number): number {
  let sum = 0
  const index = classes.findIndex(count => (sum += count) >= rank)
  return Math.round(MIN_CLASS_MS * GROWTH ** Math.max(index, 0) * 10) / 10
}

type UiOptions = NonNullable<Config['ui']>

const RECORDED_METHODS = ['tools/call', 'prompts/get', 'resources/read']

/** Longer texts are cut, because peers choose them. */
const MAX_TEXT = 256
const MAX_VALUES = 4096
const MICROS = 1000

/** Recent calls, clients and figures of the gateway; survives a reload. */
export class Recorder {
  readonly calls: CallLog
  readonly clients = new ClientLog()
  readonly figures = new FigureRing()
  readonly streams: PageStreams

  constructor(clock: Clock, hide: HideSecrets, maxCalls: number) {
    this.calls = new CallLog(maxCalls)
    this.streams = new PageStreams(clock, hide)
  }

  /** Records calls, and serves the control verbs for them. */
  tap(hooks: PluginHooks, { values = [] }: UiOptions, clock: Clock): void {
    const { calls, clients } = this
    const keepsValues = compileGlobs(values)
    hooks.session.tap(session => clients.sessionOpened(session))
    hooks.sessionEnd.tap(session => clients.sessionClosed(session))
    hooks.settled.tap({ methods: RECORDED_METHODS, timed: true }, exchange => {
      clients.recordCall(exchange.session)
      this.#recordCall(createRecord(exchange, clock, keepsValues(getTargetName(exchange))))
    })
    const verb = (name: string, run: (params: JsonObject) => JsonObject): void =>
      hooks.control.for(`ui.${name}`).tap({ readOnly: true }, run)
    verb('calls', params => ({ ...calls.search(parseCallFilter(params)) }))
    verb('call', ({ id }) => {
      const call = calls.findCall(Number(id))
      return call === undefined ? {} : { call }
    })
    verb('figures', () => ({ figures: this.figures.read(Date.now()) }))
    verb('clients', () => ({ clients: clients.list() }))
  }

  #recordCall(call: Omit<CallDetail, 'id'>): void {
    const { at, ms, outcome, bytesIn, bytesOut, timing } = call
    const isCached = outcome === 'ok' && timing?.tries === 0
    this.figures.add({ at, ms, isFailed: isFailedOutcome(outcome), isCached, bytes: bytesIn + bytesOut })
    this.streams.emitCall(toCallRow(this.calls.add(call)))
  }
}

function parseCallFilter(params: JsonObject): CallLogFilter {
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
    limit: Math.min(Math.max(number('limit') ?? ROW_LIMITS.usual, ROW_LIMITS.min), ROW_LIMITS.max),
  }
}

function createRecord(exchange: Exchange, clock: Clock, isKept: boolean): Omit<CallDetail, 'id'> {
  const { method, principal, session, route, bytes, decidedBy } = exchange
  const args = isKept ? exchange.params?.arguments : undefined
  return {
    at: Date.now(),
    ...computeTiming(exchange, clock),
    method,
    name: truncate(getTargetName(exchange)),
    upstream: route?.to === 'one' ? route.upstream : '',
    subject: truncate(principal.subject),
    issuer: principal.issuer,
    client: truncate(session.client.info.name),
    era: session.client.era,
    via: exchange.via,
    profile: session.profile ?? '',
    outcome: getOutcome(exchange),
    by: decidedBy ?? '',
    bytesIn: bytes,
    ...summarizeAnswer(exchange, isKept),
    shape: describeArguments(exchange.params) ?? '',
    ...(isObject(args) ? { arguments: truncate(JSON.stringify(args), MAX_VALUES) } : {}),
  }
}

/** Tool or prompt name, or a URI without credentials. */
function getTargetName({ params }: Exchange): string {
  const { name, uri } = params ?? {}
  if (typeof name === 'string') return name
  if (typeof uri !== 'string') return ''
  return uri.replace(/[?#].*$/s, '').replace(/^([\w+.-]+:\/\/)[^/@]*@/, '$1')
}

function summarizeAnswer(
  { answer }: Exchange,
  isKept: boolean,
): Pick<CallDetail, 'code' | 'bytesOut' | 'result' | 'error'> {
  if (answer === undefined) return { code: 0, bytesOut: 0 }
  if ('error' in answer)
    return { code: answer.error.code, bytesOut: 0, error: truncate(answer.error.message, MAX_VALUES) }
  const payload = 'result' in answer ? answer.result : 'input' in answer ? answer.input : answer.task
  const bytes = payload.bytes()
  const size = { code: 0, bytesOut: bytes.length }
  if (isKept) return { ...size, result: truncate(bytes.subarray(0, MAX_VALUES + 4).toString(), MAX_VALUES) }
  return 'result' in answer && hasFailed(payload) ? { ...size, error: 'tool error' } : size
}

/** Call duration and its phases, which add up. A call that was not dispatched has no phases. */
function computeTiming({ times, startedAt }: Exchange, clock: Clock): Pick<CallDetail, 'ms' | 'timing'> {
  if (times === undefined) return { ms: roundMs(clock.now() - startedAt) }
  const { tries, isDispatched, upstream: server, ...phases } = times
  const parts = Object.entries({ ...phases, server })
  const ms = roundMs(parts.reduce((total, [, part]) => total + part, 0))
  if (!isDispatched) return { ms }
  const rounded = Object.fromEntries(parts.map(([name, part]) => [name, roundMs(part)]))
  return { ms, timing: { ...(rounded as Omit<Timing, 'tries'>), tries } }
}

function roundMs(ms: number): number {
  return Math.round(ms * MICROS) / MICROS
}

function truncate(text: string, max = MAX_TEXT): string {
  return text.length > max ? `${text.slice(0, max)}…` : text
}
