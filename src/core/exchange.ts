import type { CatalogEntry } from '../api/catalog-entry.ts'
import type { CallRecord } from '../api/exchange.ts'
import type {
  Answer,
  Ask,
  AskReply,
  AskWatcher,
  Call,
  WrappedCall,
  WrappedRequest,
  Credentials,
  Exchange,
  IncomingRequest,
  Notification,
  PatienceLimit,
  Principal,
  Route,
  Session,
  Via,
} from '../api/index.ts'
import type { CallTimer } from './call-timer.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { copyNumberNotes, hasExactNumbers, isObject } from '../protocol/json/json.ts'
import type { EntryKind, Kind } from '../protocol/methods.ts'
import { RPC, rpcError } from '../protocol/rpc-error.ts'
import type { CallRecorder } from './call-recorder.ts'

/** Many clients send null for absent `arguments`, which few servers accept. */
const WITH_ARGUMENTS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get'])

/** Removes null parameters: a null cursor is absent, and `arguments: null` is `{}`. */
function omitNulls(method: string, params: JsonObject | undefined): JsonObject | undefined {
  if (params === undefined) return undefined
  if (method.endsWith('/list') && (params.cursor === null || params.cursor === '')) {
    const { cursor: _, ...otherParams } = params
    return otherParams
  }
  return params.arguments === null && WITH_ARGUMENTS.has(method) ? { ...params, arguments: {} } : params
}

/**
 * Limits for notifications queued until a client retries: messages, and serialized length. The oldest is dropped
 * first.
 */
const MAX_PENDING = 64
const MAX_PENDING_LENGTH = 64 * 1024

/** A call's notifications, queued until its client retries. */
class PendingNotifications {
  readonly #notifications: { readonly notification: Notification; readonly length: number }[] = []
  #length = 0

  add(notification: Notification): void {
    const { length } = JSON.stringify(notification.params ?? {})
    this.#notifications.push({ notification, length })
    this.#length += length
    while (this.#notifications.length > MAX_PENDING || this.#length > MAX_PENDING_LENGTH)
      this.#length -= this.#notifications.shift()?.length ?? this.#length
  }

  take(): Notification[] {
    return this.#notifications.splice(0).map(({ notification }) => notification)
  }
}

/**
 * Adapts a queued notification to the request that resumed the call: progress continues under its token. Undefined if
 * the request wants none.
 */
function filterNotification(params: JsonObject | undefined, notification: Notification): Notification | undefined {
  if (notification.method !== 'notifications/progress') return notification
  const progressToken = isObject(params?._meta) ? params._meta.progressToken : undefined
  return progressToken === undefined
    ? undefined
    : { ...notification, params: { ...notification.params, progressToken } }
}

const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({})

type SendRequest = (ask: Ask) => Promise<AskReply>
/** Handles a request in the client's place; `sendToClient` sends it to the client itself. */
type AskHandler = (ask: Ask, sendToClient: SendRequest) => Promise<AskReply>

/** Channel for notifications and client requests after the answer. */
interface ClientChannel {
  emit(notification: Notification): void
  ask(ask: Ask): Promise<AskReply>
}

/** Carries an exchange's notifications and client requests through the hooks of its graph. */
export interface ExchangeDeps {
  emit(exchange: Exchange, notification: Notification, send: (notification: Notification) => void): void
  ask(exchange: Exchange, ask: Ask, send: SendRequest | undefined): Promise<AskReply>
  /** Called with each client request and its reply, hook replies included. */
  onClientReply?(exchange: Exchange, ask: Ask, reply: AskReply): void
  /** Calls a tool within an exchange; cancelled with it. Absent if calls are not possible. */
  callTool?(exchange: PipelineExchange, params: WrappedCall): Promise<Answer>
  /** Applies the catalog's rules to an entry; undefined if they hide it. Absent without a client. */
  judgeEntry?(exchange: Exchange, ...entry: Parameters<Exchange['judgeEntry']>): CatalogEntry | undefined
  /** Lists the entries shown to the client. Absent without a client. */
  listShown?(exchange: Exchange, kind: Kind): Promise<readonly CatalogEntry[]>
  /**
   * Returns why the current configuration would reject a delayed call; undefined if it would accept it. A reload may
   * have removed its server, name or caller.
   */
  outdated?(call: PipelineCall): Promise<string | undefined>
  readonly recorder: CallRecorder
}

/** One request in progress. The constructor sets every field, so that all exchanges share one hidden class. */
export class PipelineExchange implements Exchange {
  readonly id: number
  readonly session: Session
  readonly principal: Principal
  method: string
  readonly headers: Readonly<Record<string, string>>
  readonly via: Via
  readonly bytes: number
  readonly startedAt: number
  readonly slots: unknown[] = []
  decidedBy: string | undefined = undefined
  params: JsonObject | undefined
  route: Route | undefined = undefined
  entry: CatalogEntry | undefined = undefined
  answer: Answer | undefined = undefined
  origin: PipelineExchange | undefined = undefined
  readonly #inbound: IncomingRequest
  readonly #deps: ExchangeDeps
  /** Request that a call carried; its answer must become a tool result. */
  carried: WrappedRequest | undefined = undefined
  openAsks = 0
  hasReachedClient = false
  /** Set if a tap reads it. */
  times: CallTimer | undefined = undefined
  #reason: string | undefined = undefined
  #listeners: CancelListeners | undefined = undefined
  #controller: AbortController | undefined = undefined
  #asker: AskHandler | undefined = undefined
  #watcher: AskWatcher | undefined = undefined
  /** Only few exchanges have more than one. */
  #moreWatchers: Set<AskWatcher> | undefined = undefined
  #successor: PipelineExchange | undefined = undefined
  #pending: PendingNotifications | undefined = undefined
  #unwrapped: JsonObject | undefined = undefined
  #backgroundChannel: ClientChannel | undefined = undefined
  #record: CallRecord | undefined = undefined

  constructor(id: number, session: Session, inbound: IncomingRequest, deps: ExchangeDeps, now: number) {
    this.id = id
    this.session = session
    this.principal = inbound.principal ?? session.principal
    this.method = inbound.method
    this.params = omitNulls(inbound.method, inbound.params)
    this.headers = inbound.headers ?? NO_HEADERS
    this.via = inbound.via ?? 'in-process'
    this.bytes = inbound.bytes ?? 0
    this.startedAt = now
    this.#inbound = inbound
    this.#deps = deps
  }

  get record(): CallRecord {
    const record = this.#record ?? this.#deps.recorder.createRecord(this)
    if (this.answer !== undefined) this.#record = record
    return record
  }

  get received(): JsonObject | undefined {
    return this.#unwrapped ?? this.#inbound.received ?? this.#inbound.params
  }

  get isUnwrapped(): boolean {
    return this.#unwrapped !== undefined
  }

  /** Replaces the request by the call or request in its arguments. */
  unwrap(request: WrappedCall | WrappedRequest): void {
    if ('method' in request) {
      this.method = request.method
      this.params = { ...omitCallParams(this.params), ...request.params }
      this.carried = request
    } else {
      const params = { ...this.params, name: request.name, arguments: request.arguments }
      copyNumberNotes(params, this.received)
      this.params = params
    }
    this.#unwrapped = this.params
    this.decidedBy = undefined
  }

  listShownEntries(kind: Kind): Promise<readonly CatalogEntry[]> {
    return this.#deps.listShown?.(this, kind) ?? Promise.resolve([])
  }

  mayUse(...entry: Parameters<Exchange['mayUse']>): boolean {
    return this.judgeEntry(...entry).refusal === undefined
  }

  judgeEntry(kind: EntryKind, upstream: string, original: string, value?: JsonObject): CatalogEntry {
    const entry = this.#deps.judgeEntry?.(this, kind, upstream, original, value)
    if (entry !== undefined) return entry
    const isLegacyRead = this.session.client.era === 'legacy' && this.method === 'resources/read'
    const code = isLegacyRead ? RPC.legacyNoResource : RPC.invalidParams
    const refusal = rpcError(code, `Resource not found: ${String(this.params?.uri ?? original)}`)
    return { kind, upstream, original, exposed: original, value: value ?? {}, refusal }
  }

  callTool(name: string, args: JsonObject): Promise<Answer> {
    const answer = this.#deps.callTool?.(this, { name, arguments: args })
    return answer ?? Promise.resolve({ error: rpcError(RPC.internal, 'tools cannot be called here') })
  }

  get remoteAddress(): string | undefined {
    return this.#inbound.remoteAddress
  }

  get credentials(): Credentials | undefined {
    return this.#inbound.credentials
  }

  outdated(call: PipelineCall): Promise<string | undefined> {
    return this.#deps.outdated?.(call) ?? Promise.resolve(undefined)
  }

  get hasExactNumbers(): boolean {
    return hasExactNumbers(this.received)
  }

  get cancelled(): boolean {
    return this.#reason !== undefined
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    return this.#controller.signal
  }

  onCancel(listener: (reason: string) => void): () => void {
    if (this.#reason !== undefined) {
      listener(this.#reason)
      return noop
    }
    this.#listeners ??= new CancelListeners()
    return this.#listeners.add(listener)
  }

  /** Cancels on client request or disconnect. The first reason counts. */
  cancel(reason: string): void {
    if (this.answer === undefined) this.abandon(reason)
  }

  /** Cancels a call in progress, answered or not. The first reason counts. */
  abandon(reason: string): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#controller?.abort(reason)
    this.#listeners?.run(reason)
  }

  emit(notification: Notification): void {
    if (notification.method === 'notifications/progress') for (const watcher of this.#watchers()) watcher.onProgress?.()
    if (this.#successor !== undefined) return this.#successor.#emitForwarded(notification)
    if (this.#backgroundChannel !== undefined)
      return this.#deps.emit(this, notification, processed => this.#backgroundChannel?.emit(processed))
    // Drop after the answer or without a listener, unless the client will retry.
    if (this.answer !== undefined) return this.#pending?.add(notification)
    if (this.cancelled) return
    this.hasReachedClient = true
    this.#deps.emit(this, notification, processed => this.#inbound.emit(processed))
  }

  get canAsk(): boolean {
    return this.session.client.era === 'modern' || this.#inbound.ask !== undefined
  }

  async ask(ask: Ask): Promise<AskReply> {
    this.hasReachedClient = true
    if (this.openAsks++ === 0) {
      this.times?.startAsk()
      for (const watcher of this.#watchers()) watcher.onAskStart()
    }
    try {
      const reply = await (this.#asker === undefined
        ? this.#deps.ask(this, ask, this.#send)
        : this.#asker(ask, own => this.#deps.ask(this, own, this.#send)))
      this.#deps.onClientReply?.(this, ask, reply)
      return reply
    } finally {
      if (--this.openAsks === 0) {
        this.times?.endAsk()
        for (const watcher of this.#watchers()) watcher.onAskEnd()
      }
    }
  }

  #watchers(): readonly AskWatcher[] {
    return [...(this.#watcher === undefined ? [] : [this.#watcher]), ...(this.#moreWatchers ?? [])]
  }

  watchAsks(watcher: AskWatcher): void {
    if (this.#watcher === undefined) this.#watcher = watcher
    else (this.#moreWatchers ??= new Set()).add(watcher)
  }

  unwatchAsks(watcher: AskWatcher): void {
    if (this.#watcher === watcher) this.#watcher = undefined
    else this.#moreWatchers?.delete(watcher)
  }

  get #send(): SendRequest | undefined {
    const channel = this.#backgroundChannel
    return channel === undefined ? this.#inbound.ask : ask => channel.ask(ask)
  }

  /** Continues after the answer: notifications and client requests use this channel. */
  continueInBackground(channel: ClientChannel): void {
    this.#backgroundChannel = channel
  }

  /** Redirects client requests to `asker`, which may end this exchange instead of holding it open. */
  redirectRequests(asker: AskHandler): void {
    this.#asker = asker
  }

  /** Queues notifications after the answer, until the client retries the call. */
  expectRetry(): void {
    this.#pending = new PendingNotifications()
  }

  /** Forwards later messages to the exchange that resumed the call. */
  continueAs(heir: PipelineExchange): void {
    this.#successor = heir
    for (const notification of this.#pending?.take() ?? []) heir.#emitForwarded(notification)
  }

  #emitForwarded(notification: Notification): void {
    const filtered = filterNotification(this.params, notification)
    if (filtered !== undefined) this.emit(filtered)
  }
}

/** Removes the parameters specific to a call. */
function omitCallParams(params: JsonObject = {}): JsonObject {
  const { name: _name, arguments: _arguments, task: _task, ...own } = params
  return own
}

/** True if a request has its own HTTP request: only there do arguments travel in headers. */
export function isModernHttp({ via, session }: Exchange): boolean {
  return via === 'http' && session.client.era === 'modern'
}

export class PipelineCall implements Call {
  readonly upstream: string
  readonly method: string
  readonly headers: Record<string, string> = {}
  readonly exchange: PipelineExchange
  params: JsonObject | undefined
  patience: PatienceLimit | undefined = undefined
  mayBeTask = false
  #reason: string | undefined = undefined
  #listeners: CancelListeners | undefined = undefined

  constructor(upstream: string, method: string, params: JsonObject | undefined, exchange: PipelineExchange) {
    this.upstream = upstream
    this.method = method
    this.params = params
    this.exchange = exchange
  }

  /** True if the call or its exchange was cancelled. */
  get isGivenUp(): boolean {
    return this.#reason !== undefined || this.exchange.cancelled
  }

  onCancel(listener: (reason: string) => void): () => void {
    if (this.#reason !== undefined) {
      listener(this.#reason)
      return noop
    }
    const forget = this.exchange.onCancel(listener)
    this.#listeners ??= new CancelListeners()
    const takeBack = this.#listeners.add(reason => {
      forget()
      listener(reason)
    })
    return () => {
      forget()
      takeBack()
    }
  }

  cancel(reason: string): void {
    if (this.#reason !== undefined || this.exchange.cancelled) return
    this.#reason = reason
    this.#listeners?.run(reason)
  }

  findOutdatedReason(): Promise<string | undefined> {
    return this.exchange.outdated(this)
  }
}

function noop(): void {}

type CancelListener = (reason: string) => void

interface ListenerNode {
  readonly run: CancelListener
  before: ListenerNode | undefined
  after: ListenerNode | undefined
  isIn: boolean
}

/** Cancellation listeners in registration order. A linked list instead of a set, as every call has one. */
export class CancelListeners {
  #first: ListenerNode | undefined
  #last: ListenerNode | undefined

  /** Adds a listener; returns a function that removes it. */
  add(run: CancelListener): () => void {
    const link: ListenerNode = { run, before: this.#last, after: undefined, isIn: true }
    if (this.#last === undefined) this.#first = link
    else this.#last.after = link
    this.#last = link
    return () => this.#unlink(link)
  }

  #unlink(link: ListenerNode): void {
    if (!link.isIn) return
    link.isIn = false
    const { before, after } = link
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
  }

  /** Runs each current listener once and removes all. */
  run(reason: string): void {
    const all: ListenerNode[] = []
    for (let link = this.#first; link !== undefined; link = link.after) {
      link.isIn = false
      all.push(link)
    }
    this.#first = this.#last = undefined
    for (const link of all) link.run(reason)
  }
}
