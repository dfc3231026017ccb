import type { Call, Clock, Log, ProcessPermit, QueuedProcess, UpstreamState } from '../api/index.ts'
import type { Reason } from '../errors/errors.ts'
import { gatewayError, GatewayError, needsAuth, getOwnerReason, getErrorMessage } from '../errors/errors.ts'
import type { Pause } from '../transport/backoff.ts'
import { Restarts } from '../transport/backoff.ts'
import { formatPeerText } from '../util/log.ts'
import { stripEscapes } from '../util/plain-text.ts'
import type { Connection } from './connection/connection.ts'
import { closedError } from './connection/connection.ts'

/** Connections of one supervisor that are being ended, and the right of each connection's process to run. */
class LeavingConnections {
  readonly #leaving = new Map<Connection, Promise<void>>()
  readonly #permits = new Map<Connection, ProcessPermit>()

  get all(): Connection[] {
    return [...this.#leaving.keys()]
  }

  /** Notes the right under which a connection's process runs. */
  permit(connection: Connection, permit: ProcessPermit | undefined): void {
    if (permit !== undefined) this.#permits.set(connection, permit)
  }

  /** Ends a connection at once. */
  close(connection: Connection | undefined, reason: Reason): void {
    if (connection !== undefined)
      this.#watch(
        connection,
        this.#end(connection, () => connection.close(reason)),
      )
  }

  /** Ends a connection that is of no use any more; what is under way over HTTP ends by itself. */
  retire(connection: Connection, reason: Reason): void {
    this.#watch(
      connection,
      this.#end(connection, () => connection.retire(reason)),
    )
  }

  /** Ends a connection with its last call. */
  drain(connection: Connection, reason: Reason): void {
    this.#watch(
      connection,
      connection.use.free().then(() => this.#end(connection, () => connection.close(reason))),
    )
  }

  async done(): Promise<void> {
    await Promise.all(this.#leaving.values())
  }

  #end(connection: Connection, end: () => Promise<void>): Promise<void> {
    this.#permits.get(connection)?.markStopping()
    return end()
  }

  #watch(connection: Connection, left: Promise<void>): void {
    const leaving = left.finally(() => {
      if (this.#leaving.get(connection) === leaving) this.#leaving.delete(connection)
      this.#permits.get(connection)?.markStopped()
      this.#permits.delete(connection)
    })
    this.#leaving.set(connection, leaving)
  }
}

/** Dependencies of a supervisor: the upstream that it belongs to. */
interface SupervisorHost {
  readonly name: string
  readonly log: Log
  readonly clock: Clock
  readonly startupMs: number
  /** Longest life of one connection; undefined for no limit. */
  readonly lifetimeMs?: number | undefined
  /** True where each start costs a process. */
  readonly isProcess: boolean
  /** True where it is started again by itself; otherwise the next call starts it. */
  retries(): boolean
  /** Asks for the right to start; undefined where nothing bounds that. */
  enter(): QueuedProcess | undefined
  /** Opens a connection and shakes hands; `open` must be given every connection as soon as it is made. */
  connect(own: (make: () => Connection) => Connection): Promise<Connection>
  changed(state: UpstreamState, connection: Connection | undefined): void
  /** Takes every secret out of a text. */
  hide(text: string): string
}

/** Connection replaced at once, without a pause, at most once in this time. */
const REPLACE_MS = 1000
/** After this long a start for which there was no room is tried again. */
const NO_ROOM_RETRY_MS = 1000
/** Shortest pause between two tries of a remote server that calls wait for. */
const HASTENED_MS = 1000
/** One that needs a login is tried by a call at most once in this time. */
const NEEDS_AUTH_MS = 1000
const NO_ROOM: Pause = { ms: NO_ROOM_RETRY_MS, note: undefined }
/** After this long a connection that could not be renewed is tried again. */
const RENEW_AGAIN_MS = 60_000

/** Keeps one connection to a server alive: starts it, notices its end, and tries again with growing pauses. */
export class Supervisor {
  state: UpstreamState = 'idle'
  /** Why it is not ready, for anybody. */
  problem: string | undefined = undefined
  /** The server's own words on that, for the owner alone. */
  problemDetail: string | undefined = undefined
  connection: Connection | undefined = undefined
  /** Number of restarts, but for waking from idleness. */
  restarts = 0
  readonly #host: SupervisorHost
  readonly #restarts: Restarts
  #opening: Connection | undefined
  #starting: Promise<void> | undefined
  #failure: GatewayError | undefined
  #dueAt = 0
  #failedAt = -Infinity
  #readyAt = 0
  #replacedAt = -Infinity
  #takeBackRetry: (() => void) | undefined
  #takeBackRenewal: (() => void) | undefined
  #turn: QueuedProcess | undefined
  /** Connections on their way out; a stop waits for them. */
  readonly #leaving = new LeavingConnections()

  constructor(host: SupervisorHost, restarts = new Restarts(host.isProcess)) {
    this.#host = host
    this.#restarts = restarts
  }

  /** Resolves when the first attempt has ended, well or badly. What was stopped starts again. */
  start(): Promise<void> {
    if (this.state === 'stopped') this.#restarts.reset()
    if (this.state === 'idle' || this.state === 'stopped' || this.state === 'needs_auth')
      return this.#attempt()
    return this.#starting ?? Promise.resolve()
  }

  async stop(): Promise<void> {
    if (this.state === 'stopped') return
    const connections = [this.#opening, this.connection, ...this.#leaving.all]
    this.#takeBackRetry?.()
    this.#takeBackRenewal?.()
    this.connection = undefined
    this.#become('stopped', undefined)
    this.#turn?.cancel()
    for (const connection of connections)
      this.#leaving.close(connection, { why: 'the gateway has stopped it' })
    await this.#starting
    await this.#leaving.done()
  }

  /** Stops when the last call has ended. */
  async leave(): Promise<void> {
    await this.connection?.use.free()
    await this.#leaving.done()
    await this.stop()
  }

  /** Ends the connection until somebody needs one again. */
  rest(why: string): void {
    const isAwake = this.state === 'ready' || this.state === 'failed' || this.state === 'needs_auth'
    if (this.#starting !== undefined || !isAwake) return
    const { connection } = this
    this.#takeBackRetry?.()
    this.#takeBackRenewal?.()
    this.connection = undefined
    this.#become('idle', undefined)
    this.#leaving.close(connection, { why })
  }

  /** The live connection, waited for while a start is under way. Rejects with a GatewayError when there is none. */
  async ready(): Promise<Connection> {
    if (this.state === 'failed' && !this.#host.isProcess) this.#hasten()
    const attempt = this.#isDue() ? this.#attempt() : this.#starting
    await attempt
    if (this.connection !== undefined) return this.connection
    throw this.#whyNotReady(attempt !== undefined)
  }

  /** The same for a call; undefined when its client did not wait. */
  async waitUntilReady(call: Call): Promise<Connection | undefined> {
    if (this.connection !== undefined) return this.connection
    let takeBack = (): void => undefined
    const left = new Promise<undefined>(resolve => {
      takeBack = call.onCancel(() => resolve(undefined))
    })
    return Promise.race([this.ready(), left]).finally(() => takeBack())
  }

  /** A connection has ended by itself. */
  lost(connection: Connection, reason: Reason): void {
    if (connection !== this.connection) return
    this.connection = undefined
    this.#leaving.retire(connection, reason)
    const now = this.#host.clock.now()
    this.#restarts.lasted(now - this.#readyAt)
    this.#restarts.wasted(now)
    this.#fail(reason.error ?? gatewayError('GW_UPSTREAM_DOWN', { upstream: this.#host.name, ...reason }))
  }

  /** Nothing more is let in over a connection before somebody logs in; what is under way may end. */
  denied(connection: Connection, failure: GatewayError): void {
    if (connection !== this.connection) return
    this.connection = undefined
    this.#fail(failure)
    this.#leaving.drain(connection, { why: 'it needs a login' })
  }

  /** A connection is up but of no use any more: takes a new one at once. */
  replace(connection: Connection, why: string): void {
    if (connection !== this.connection) return
    const { clock, log } = this.#host
    if (clock.now() - this.#replacedAt < REPLACE_MS) return this.lost(connection, { why })
    this.#replacedAt = clock.now()
    this.connection = undefined
    this.#leaving.retire(connection, { why })
    log.info('connecting anew', { why })
    void this.#attempt()
  }

  /** A call needs the server: the next try comes a second after the last one at most, whatever the pause. */
  #hasten(): void {
    const { clock, retries } = this.#host
    const dueAt = Math.max(clock.now(), this.#failedAt + HASTENED_MS)
    if (this.#starting !== undefined || dueAt >= this.#dueAt || !retries()) return
    this.#dueAt = dueAt
    this.#takeBackRetry?.()
    this.#takeBackRetry = clock.after(dueAt - clock.now(), () => void this.#attempt())
  }

  #isDue(): boolean {
    const isDown = this.state === 'failed' || this.state === 'needs_auth'
    return this.state === 'idle' || (isDown && this.#host.clock.now() >= this.#dueAt)
  }

  /** The error of a call without a connection: how the attempt failed that it waited for, or that the upstream is down. */
  #whyNotReady(hasWaited: boolean): GatewayError {
    const failure = this.#failure
    const isStopped = this.state === 'stopped'
    if (failure !== undefined && !isStopped && (hasWaited || saysItAll(failure))) return failure
    const why = isStopped ? 'it was stopped' : (this.problem ?? 'it has not started')
    return gatewayError('GW_UPSTREAM_DOWN', { upstream: this.#host.name, why, detail: this.problemDetail })
  }

  #attempt(): Promise<void> {
    this.#takeBackRetry?.()
    this.#takeBackRenewal?.()
    this.#starting ??= this.#run().finally(() => {
      this.#starting = undefined
    })
    return this.#starting
  }

  async #run(): Promise<void> {
    const isQuiet = this.state === 'needs_auth'
    if (this.state !== 'idle' && !isQuiet) this.restarts++
    // The problem stays until it is ready: a server that never answers is starting most of the time.
    if (this.connection === undefined && !isQuiet) this.#become('starting', this.problem, this.problemDetail)
    try {
      await this.#open()
    } catch (error) {
      if (!this.#isRunning()) return
      if (this.connection === undefined) this.#fail(this.#startFailure(error))
      else this.#keepOn(error)
    }
  }

  /** Waits for its turn, then opens a connection within the start-up time. */
  async #open(): Promise<void> {
    const permit = await this.#entered()
    let over: Reason | undefined
    const disarm = this.#host.clock.after(this.#host.startupMs, () => {
      over = this.#whyTooLate()
      this.#leaving.close(this.#opening, over)
    })
    try {
      const connection = await this.#host.connect(make => this.#own(make, over))
      this.#leaving.permit(connection, permit)
      permit?.markStarted()
      this.#opened(connection)
    } catch (error) {
      if (this.#opening !== undefined) this.#restarts.wasted(this.#host.clock.now())
      if (this.#opening === undefined) permit?.markStopped()
      else this.#leaving.permit(this.#opening, permit)
      this.#leaving.close(this.#opening, { why: 'it did not start' })
      throw over === undefined
        ? error
        : gatewayError('GW_UPSTREAM_START', { upstream: this.#host.name, ...over })
    } finally {
      disarm()
      this.#opening = undefined
    }
  }

  #whyTooLate(): Reason {
    const { stray, transport } = this.#opening ?? {}
    const why = `no handshake within ${this.#host.startupMs} ms`
    if (stray === undefined || transport?.streams === true) return { why, detail: transport?.lastWords }
    const detail = formatPeerText(this.#host.hide(stripEscapes(stray)), 200)
    return { why: `${why}: it wrote a line on stdout that is no JSON`, detail }
  }

  async #entered(): Promise<ProcessPermit | undefined> {
    this.#turn = this.#host.enter()
    try {
      return await this.#turn?.permit
    } catch (cause) {
      const why = getErrorMessage(cause)
      throw gatewayError('GW_UPSTREAM_BUSY', {
        upstream: this.#host.name,
        why,
        retryAfterMs: NO_ROOM_RETRY_MS,
        cause,
      })
    } finally {
      this.#turn = undefined
    }
  }

  #own(make: () => Connection, over: Reason | undefined): Connection {
    if (over !== undefined || !this.#isRunning()) throw gatewayError('GW_STOPPING')
    if (this.#opening !== undefined && !this.#restarts.wasted(this.#host.clock.now()))
      throw gatewayError('GW_UPSTREAM_CLOSED', {
        upstream: this.#host.name,
        ...(this.#opening.closedBecause ?? { why: 'it ends again and again' }),
      })
    this.#opening = make()
    return this.#opening
  }

  #opened(connection: Connection): void {
    if (!this.#isRunning()) return
    if (connection.closedBecause !== undefined) throw closedError(this.#host.name, connection.closedBecause)
    const before = this.connection
    this.#takeBackRetry?.()
    this.connection = connection
    this.#failure = undefined
    this.#readyAt = this.#host.clock.now()
    this.#armRenewal(this.#host.lifetimeMs)
    this.#become('ready', undefined)
    if (before !== undefined) this.#leaving.drain(before, { why: 'a fresh one has taken over' })
  }

  #armRenewal(ms: number | undefined): void {
    if (ms === undefined) return
    // Equal processes are not to be renewed all at once.
    const early = ms * (0.9 + 0.1 * Math.random())
    this.#takeBackRenewal = this.#host.clock.after(early, () => this.#renew())
  }

  /** The connection has lived its time: a fresh one takes over, and it ends with its last call. */
  #renew(): void {
    if (this.connection === undefined || this.#starting !== undefined) return
    this.#host.log.info('it has lived its time: starting a fresh one', { pid: this.connection.transport.pid })
    void this.#attempt()
  }

  /** The fresh one did not come up: better an old connection than none. */
  #keepOn(error: unknown): void {
    this.#host.log.warn('no fresh one came up; the old one goes on', { why: getOwnerReason(error) })
    this.#armRenewal(RENEW_AGAIN_MS)
  }

  #isRunning(): boolean {
    return this.state !== 'stopped'
  }

  #startFailure(error: unknown): GatewayError {
    const upstream = this.#host.name
    if (!(error instanceof GatewayError))
      return gatewayError('GW_UPSTREAM_START', {
        upstream,
        why: formatPeerText(getErrorMessage(error), 500),
        cause: error,
      })
    return error.code === 'GW_UPSTREAM_CLOSED'
      ? gatewayError('GW_UPSTREAM_START', { upstream, why: error.fields.why, detail: error.detail })
      : error
  }

  #fail(failure: GatewayError): void {
    const { clock, name } = this.#host
    if (needsAuth(failure)) return this.#waitForLogin(failure)
    const isRefused = failure.code === 'GW_UPSTREAM_BUSY'
    const { ms, note } = isRefused ? NO_ROOM : this.#restarts.pause(clock.now())
    this.#failure = failure
    this.#failedAt = clock.now()
    this.#dueAt = isRefused ? -Infinity : clock.now() + ms
    this.#takeBackRetry?.()
    this.#takeBackRenewal?.()
    if (this.#host.retries()) this.#takeBackRetry = clock.after(ms, () => void this.#attempt())
    const why = typeof failure.fields.why === 'string' ? failure.fields.why : failure.message
    const hint = note === undefined ? '' : ` – ${note}, or \`gateway start ${name}\``
    this.#become('failed', `${why}${hint}`, failure.detail)
  }

  /** Nothing is tried before somebody calls or has logged in. */
  #waitForLogin(failure: GatewayError): void {
    const problem = `${String(failure.fields.why)}. ${failure.hint}`
    const isKnown = this.state === 'needs_auth' && this.problem === this.#host.hide(problem)
    this.#failure = failure
    this.#dueAt = this.#host.clock.now() + NEEDS_AUTH_MS
    this.#takeBackRetry?.()
    this.#takeBackRenewal?.()
    if (!isKnown) this.#become('needs_auth', problem, failure.detail)
  }

  #become(state: UpstreamState, problem: string | undefined, detail?: string): void {
    this.state = state
    this.problem = problem === undefined ? undefined : this.#host.hide(problem)
    this.problemDetail = detail === undefined ? undefined : this.#host.hide(detail)
    this.#host.changed(state, this.connection)
  }
}

/** True for a failure that the next caller should hear as it is: one of ours, or a login that is for somebody to make. */
function saysItAll(failure: GatewayError): boolean {
  return failure.entry.isLocal === true || needsAuth(failure)
}
