import type { CallRecord, Clock, Config, PluginHooks, Session } from '../../src/plugin.ts'
import { BoundedMap, compileGlobs, principalKey } from '../../src/plugin.ts'
import type { HideSecrets } from './api.ts'
import { ApiError } from './api.ts'
import { PageStreams } from './page-event-streams.ts'
import type { CallDetail, CallRow, Calls, ClientRow, FigureAnswer, Figures, FigureSpan } from './types.ts'
import { FIGURE_SPANS } from './types.ts'

const MAX_CLIENTS = 1000
/** Per-caller limit, because clients choose their names. */
const MAX_CLIENTS_PER_CALLER = 100
const MAX_LENGTH = 100

type MutableClientRow = { -readonly [K in keyof ClientRow]: ClientRow[K] }

/** Connected and past clients; equal clients of one caller share a row. */
class ClientLog {
  readonly #rows = new BoundedMap<string, MutableClientRow>({
    max: MAX_CLIENTS,
    share: MAX_CLIENTS_PER_CALLER,
  })
  /** Key: the session's slots, shared by all its forms. */
  readonly #bySession = new WeakMap<readonly unknown[], MutableClientRow>()

  sessionOpened(session: Session): void {
    const row = this.#findOrAddRow(session)
    row.open++
    row.seenAt = Date.now()
    this.#bySession.set(session.slots, row)
  }

  recordCall({ slots }: Session): void {
    const row = this.#bySession.get(slots)
    if (row === undefined) return
    row.calls++
    row.seenAt = Date.now()
  }

  sessionClosed({ slots }: Session): void {
    const row = this.#bySession.get(slots)
    if (row !== undefined && this.#bySession.delete(slots)) row.open--
  }

  /** Latest first. */
  list(): ClientRow[] {
    return [...this.#rows.values()].sort((a, b) => b.seenAt - a.seenAt).map(row => ({ ...row }))
  }

  #findOrAddRow({ client, principal, listener, profile = '' }: Session): MutableClientRow {
    const { info, era, version: protocol } = client
    const [name, version] = [info.name.slice(0, MAX_LENGTH), info.version.slice(0, MAX_LENGTH)]
    const caller = principalKey(principal)
    const key = JSON.stringify([name, version, era, protocol, caller, listener, profile])
    const cached = this.#rows.use(key)
    if (cached !== undefined) return cached
    const { subject, issuer } = principal
    const row = { client: name, version, era, protocol, subject, issuer, listener, profile }
    const counted = { ...row, open: 0, calls: 0, seenAt: 0 }
    this.#rows.set(key, counted, caller)
    return counted
  }
}

/** Search filter; all given conditions must match. */
export interface CallLogFilter {
  /** Tool name; `*` is a wildcard. */
  readonly tool?: string | undefined
  readonly caller?: string | undefined
  readonly server?: string | undefined
  /** Outcome; `failed` matches all failures. */
  readonly outcome?: string | undefined
  /** Only calls before this id. */
  readonly before?: number | undefined
  readonly limit: number
}

const SUCCESS_OUTCOMES: ReadonlySet<string> = new Set(['ok', 'input_required', 'task'])

function isFailedOutcome(outcome: string): boolean {
  return !SUCCESS_OUTCOMES.has(outcome)
}

/** Ring buffer of recent calls, indexed by id. */
class CallLog {
  #calls: (CallDetail | undefined)[] = []
  #max: number
  #next = 1

  constructor(max: number) {
    this.#max = max
  }

  /** Changes the capacity and keeps the newest calls. */
  resize(max: number): void {
    if (max === this.#max) return
    const newest = this.#listNewest().slice(0, max)
    this.#max = max
    this.#calls = []
    for (const call of newest) this.#calls[call.id % max] = call
  }

  add(call: Omit<CallDetail, 'id'>): CallDetail {
    const row = { id: this.#next++, ...call }
    this.#calls[row.id % this.#max] = row
    return row
  }

  findCall(id: number): CallDetail | undefined {
    const call = this.#calls[id % this.#max]
    return call?.id === id ? call : undefined
  }

  search({ limit, before = Infinity, ...conditions }: CallLogFilter): Calls {
    const fits = compileFilter(conditions)
    const matching: CallRow[] = []
    const kept = Math.min(this.#next - 1, this.#max)
    for (let id = Math.min(before, this.#next) - 1; id >= this.#next - kept; id--) {
      const call = this.findCall(id)
      if (call === undefined || !fits(call)) continue
      if (matching.length === limit) return { calls: matching, kept, next: id + 1 }
      matching.push(toCallRow(call))
    }
    return { calls: matching, kept }
  }

  #listNewest(): CallDetail[] {
    return this.#calls.filter(call => call !== undefined).sort((a, b) => b.id - a.id)
  }
}

function compileFilter({
  tool,
  caller,
  server,
  outcome,
}: Omit<CallLogFilter, 'limit' | 'before'>): (call: CallDetail) => boolean {
  const isTool = tool === undefined ? undefined : compileGlobs(/[*?]/.test(tool) ? tool : `*${tool}*`)
  return call =>
    (isTool === undefined || isTool(call.name)) &&
    (caller === undefined || call.subject.includes(caller)) &&
    (server === undefined || call.upstream === server) &&
    (outcome === undefined || (outcome === 'failed' ? isFailedOutcome(call.outcome) : call.outcome === outcome))
}

function toCallRow(call: CallDetail): CallRow {
  const { id, at, ms, method, name, upstream, subject, client, outcome, code, bytesIn, bytesOut } = call
  return { id, at, ms, method, name, upstream, subject, client, outcome, code, bytesIn, bytesOut }
}

const RECORDED_METHODS = ['tools/call', 'prompts/get', 'resources/read']

/** The gateway's recent calls, clients and figures; survives a reload. */
export class Recorder {
  readonly calls: CallLog
  readonly clients = new ClientLog()
  readonly figures = new FigureLog()
  readonly streams: PageStreams

  constructor(clock: Clock, hide: HideSecrets, maxCalls: number) {
    this.calls = new CallLog(maxCalls)
    this.streams = new PageStreams(clock, hide)
  }

  tap(hooks: PluginHooks, { values = [] }: NonNullable<Config['ui']>): void {
    const { clients } = this
    const hasValues = compileGlobs(values)
    hooks.session.tap(session => {
      clients.sessionOpened(session)
      session.onEnd(() => clients.sessionClosed(session))
    })
    hooks.settled.tap({ methods: RECORDED_METHODS, timed: true }, ({ session, record }) => {
      clients.recordCall(session)
      this.#recordCall(record, hasValues(record.name))
    })
  }

  #recordCall(record: CallRecord, hasValues: boolean): void {
    const { at, ms, outcome, upstream, bytesIn, bytesOut, times } = record
    const isCached = outcome === 'ok' && times?.tries === 0
    const bytes = bytesIn + bytesOut
    this.figures.add({ at, outcome, upstream, durationClass: getDurationClass(ms), isCached, bytes })
    this.streams.emitCall(toCallRow(this.calls.add(createDetail(record, hasValues))))
  }
}

function createDetail(record: CallRecord, hasValues: boolean): Omit<CallDetail, 'id'> {
  // Omit the functions, which refer to the call's values.
  const { id: _, writeArguments, writeResult, principal, shape, times, error, ...facts } = record
  const [issuer, , subject] = principal
  const [args, result] = hasValues ? [writeArguments(), writeResult()] : ['', '']
  return {
    ...facts,
    issuer,
    subject,
    shape: shape === undefined ? '' : JSON.stringify(shape),
    ...(times === undefined ? {} : { timing: times }),
    ...(args === '' ? {} : { arguments: args }),
    ...(result === '' ? {} : { result }),
    ...(error === '' ? {} : { error }),
  }
}

/** Upper bounds of the latency classes: each is a third larger, from 0.1 ms to an hour. */
const DURATION_CLASSES = 60
const MIN_CLASS_MS = 0.1
const GROWTH = 4 / 3

type FigureInterval = { -readonly [K in keyof Omit<Figures, 'p95'>]: Figures[K] } & {
  readonly classes: Uint32Array
}

/** Call data for the figures. */
type CallSample = Pick<CallRecord, 'at' | 'outcome' | 'upstream'> & {
  readonly durationClass: number
  readonly isCached: boolean
  readonly bytes: number
}

const SPANS = Object.entries(FIGURE_SPANS)
/** Maximum servers with their own figures. */
const MAX_SERVERS = 100

/** Call statistics by server and span; the empty name means all servers. */
class FigureLog {
  readonly #rings = new BoundedMap<string, FigureRing[]>({ max: MAX_SERVERS + 1 })

  add(sample: CallSample): void {
    this.#addTo('', sample)
    if (sample.upstream !== '') this.#addTo(sample.upstream, sample)
  }

  /** Returns the intervals with calls in a span that ends now. @throws ApiError for an unknown span */
  read(span = '1h', server = ''): FigureAnswer {
    const index = SPANS.findIndex(([name]) => name === span)
    if (index === -1) throw new ApiError(400, `"span" must be one of ${Object.keys(FIGURE_SPANS).join(', ')}`)
    const now = Date.now()
    return { now, figures: this.#rings.get(server)?.[index]?.read(now) ?? [] }
  }

  #addTo(server: string, sample: CallSample): void {
    const rings = this.#rings.use(server) ?? SPANS.map(([, span]) => new FigureRing(span))
    if (!this.#rings.has(server)) this.#rings.set(server, rings)
    for (const ring of rings) ring.add(sample)
  }
}

/** Call statistics for one span. */
class FigureRing {
  readonly #span: FigureSpan
  readonly #intervals: FigureInterval[] = []

  constructor(span: FigureSpan) {
    this.#span = span
  }

  add({ at, outcome, durationClass, isCached, bytes }: CallSample): void {
    const { intervalMs } = this.#span
    const interval = this.#getInterval(Math.floor(at / intervalMs) * intervalMs)
    interval.calls++
    interval.bytes += bytes
    if (outcome === 'refused') interval.refused++
    else if (isFailedOutcome(outcome)) interval.failed++
    if (isCached) interval.cached++
    interval.classes[durationClass] = (interval.classes[durationClass] ?? 0) + 1
  }

  read(now: number): Figures[] {
    const since = now - this.#span.intervals * this.#span.intervalMs
    return this.#intervals
      .filter(({ at }) => at >= since)
      .map(({ classes, ...sums }) => ({ ...sums, p95: computeQuantile(classes, sums.calls * 0.95) }))
  }

  /** If the system clock moves back, calls count in the last interval. */
  #getInterval(at: number): FigureInterval {
    const last = this.#intervals.at(-1)
    if (last !== undefined && last.at >= at) return last
    const classes = new Uint32Array(DURATION_CLASSES)
    const interval = { at, calls: 0, failed: 0, refused: 0, cached: 0, bytes: 0, classes }
    this.#intervals.push(interval)
    if (this.#intervals.length > this.#span.intervals) this.#intervals.shift()
    return interval
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
