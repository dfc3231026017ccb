import type { Call, Clock, Log, ProcessPermit, QueuedProcess, UpstreamState } from '../api/index.ts'
import type { Reason } from '../errors/errors.ts'
import { gatewayError, GatewayError, needsAuth, getOwnerReason, getErrorMessage } from '../errors/errors.ts'
import type { RestartDelay } from '../net/backoff.ts'
import { RestartPolicy } from '../net/backoff.ts'
import { formatPeerText } from '../util/log.ts'
import { stripEscapes } from '../util/plain-text.ts'
import type { Connection } from './connection/connection.ts'
import { createClosedError } from './connection/connection.ts'

/** One supervisor's closing connections, with their process permits. */
class ClosingConnections {
  readonly #closing = new Map<Connection, Promise<void>>()
  readonly #permits = new Map<Connection, ProcessPermit>()

  list(): Connection[] {
    return [...this.#closing.keys()]
  }

  setPermit(connection: Connection, permit: ProcessPermit | undefined): void {
    if (permit !== undefined) this.#permits.set(connection, permit)
  }

  /** Closes a connection, by default immediately. */
  add(connection: Connection | undefined, reason: Reason, when?: 'retire' | 'after last call'): void {
    if (connection === undefined) return
    const permit = this.#permits.get(connection)
    permit?.markStopping()
    const closed =
      when === 'retire'
        ? connection.retire(reason)
        : when === undefined
          ? connection.close(reason)
          : connection.use.waitUntilFree().then(() => connection.close(reason))
    const closing = closed.finally(() => {
      if (this.#closing.get(connection) === closing) this.#closing.delete(connection)
      permit?.markStopped()
      this.#permits.delete(connection)
    })
    this.#closing.set(connection, closing)
  }

  async waitUntilClosed(): Promise<void> {
    await Promise.all(this.#closing.values())
  }
}

interface SupervisorDeps {
  readonly name: string
  readonly log: Log
  readonly clock: Clock
  readonly startupMs: number
  /** Maximum connection lifetime; undefined for no limit. */
  readonly lifetimeMs?: number | undefined
  /** True if each start costs a process. */
  readonly isProcess: boolean
  /** True if it restarts automatically; otherwise the next call starts it. */
  retries(): boolean
  /** Requests a start permit; undefined if starts are unlimited. */
  enter(): QueuedProcess | undefined
  /** Opens a connection and runs the handshake; must pass every connection to `own` immediately. */
  connect(own: (make: () => Connection) => Connection): Promise<Connection>
  changed(state: UpstreamState, connection: Connection | undefined): void
  /** Redacts all secrets in a text. */
  hide(text: string): string
}

/** Minimum interval between two immediate reconnections. */
const MIN_RECONNECT_MS = 1000
/** Retry delay if there was no start permit. */
const NO_PERMIT_RETRY_MS = 1000
/** Shortest retry delay for a remote server that calls wait for. */
const MIN_RETRY_MS = 1000
/** Minimum interval between attempts by calls while a login is needed. */
const AUTH_RETRY_MS = 1000
const NO_PERMIT: RestartDelay = { ms: NO_PERMIT_RETRY_MS, note: undefined }
/** Retry delay after a failed renewal. */
const RENEW_RETRY_MS = 60_000

/** Keeps one connection to a server open: starts it, detects its end, and reconnects with exponential backoff. */
export class Supervisor {
  state: UpstreamState = 'idle'
  /** Reason for a state other than ready. */
  problem: string | undefined = undefined
  /** Server text about the problem, for the owner only. */
  problemDetail: string | undefined = undefined
  connection: Connection | undefined = undefined
  /** Restarts, without those after idle time. */
  restarts = 0
  readonly #host: SupervisorDeps
  readonly #restarts: RestartPolicy
  #opening: Connection | undefined
  #starting: Promise<void> | undefined
  #failure: GatewayError | undefined
  #dueAt = 0
  #failedAt = -Infinity
  #readyAt = 0
  #replacedAt = -Infinity
  #cancelRetry: (() => void) | undefined
  #cancelRenewal: (() => void) | undefined
  #queuedStart: QueuedProcess | undefined
  /** Closing connections; a stop waits for them. */
  readonly #closing = new ClosingConnections()

  constructor(host: SupervisorDeps) {
    this.#host = host
    this.#restarts = new RestartPolicy(host.isProcess)
  }

  /** Resolves when the first attempt has succeeded or failed. Restarts a stopped supervisor. */
  start(): Promise<void> {
    if (this.state === 'stopped') this.#restarts.reset()
    if (this.state === 'idle' || this.state === 'stopped' || this.state === 'needs_auth') return this.#attempt()
    return this.#starting ?? Promise.resolve()
  }

  async stop(): Promise<void> {
    if (this.state === 'stopped') return
    const connections = [this.#opening, this.connection, ...this.#closing.list()]
    this.#cancelRetry?.()
    this.#cancelRenewal?.()
    this.connection = undefined
    this.#setState('stopped', undefined)
    this.#queuedStart?.cancel()
    for (const connection of connections) this.#closing.add(connection, { why: 'stopped by the gateway' })
    await this.#starting
    await this.#closing.waitUntilClosed()
  }

  /** Stops after the last call. */
  async stopAfterLastCall(): Promise<void> {
    await this.connection?.use.waitUntilFree()
    await this.#closing.waitUntilClosed()
    await this.stop()
  }

  /** Closes the connection until the next call. */
  goIdle(reason: string): void {
    const isAwake = this.state === 'ready' || this.state === 'failed' || this.state === 'needs_auth'
    if (this.#starting !== undefined || !isAwake) return
    const { connection } = this
    this.#cancelRetry?.()
    this.#cancelRenewal?.()
    this.connection = undefined
    this.#setState('idle', undefined)
    this.#closing.add(connection, { why: reason })
  }

  /** Returns the open connection; waits for a start in progress. Rejects with a GatewayError if there is none. */
  async waitForConnection(): Promise<Connection> {
    if (this.state === 'failed' && !this.#host.isProcess) this.#retrySooner()
    const attempt = this.#isDue() ? this.#attempt() : this.#starting
    await attempt
    if (this.connection !== undefined) return this.connection
    throw this.#createNotReadyError(attempt !== undefined)
  }

  /** The same for a call; returns undefined if its client stopped waiting. */
  async waitUntilReady(call: Call): Promise<Connection | undefined> {
    if (this.connection !== undefined) return this.connection
    let takeBack = (): void => undefined
    const cancelled = new Promise<undefined>(resolve => {
      takeBack = call.onCancel(() => resolve(undefined))
    })
    return Promise.race([this.waitForConnection(), cancelled]).finally(() => takeBack())
  }

  handleClosed(connection: Connection, reason: Reason): void {
    if (connection !== this.connection) return
    this.connection = undefined
    this.#closing.add(connection, reason, 'retire')
    const now = this.#host.clock.now()
    this.#restarts.recordSuccess(now - this.#readyAt)
    this.#restarts.recordFailure(now)
    this.#handleFailure(reason.error ?? gatewayError('GW_UPSTREAM_DOWN', { upstream: this.#host.name, ...reason }))
  }

  /** Accepts no more calls until a login; pending calls may finish. */
  handleAuthRequired(connection: Connection, failure: GatewayError): void {
    if (connection !== this.connection) return
    this.connection = undefined
    this.#handleFailure(failure)
    this.#closing.add(connection, { why: 'login required' }, 'after last call')
  }

  /** Replaces an open connection that is no longer usable. */
  reconnect(connection: Connection, reason: string): void {
    if (connection !== this.connection) return
    const { clock, log } = this.#host
    if (clock.now() - this.#replacedAt < MIN_RECONNECT_MS) return this.handleClosed(connection, { why: reason })
    this.#replacedAt = clock.now()
    this.connection = undefined
    this.#closing.add(connection, { why: reason }, 'retire')
    log.info('reconnecting', { why: reason })
    void this.#attempt()
  }

  /** A call needs the server: retry within one second after the last attempt, whatever the backoff. */
  #retrySooner(): void {
    const { clock, retries } = this.#host
    const dueAt = Math.max(clock.now(), this.#failedAt + MIN_RETRY_MS)
    if (this.#starting !== undefined || dueAt >= this.#dueAt || !retries()) return
    this.#dueAt = dueAt
    this.#cancelRetry?.()
    this.#cancelRetry = clock.after(dueAt - clock.now(), () => void this.#attempt())
  }

  #isDue(): boolean {
    const isDown = this.state === 'failed' || this.state === 'needs_auth'
    return this.state === 'idle' || (isDown && this.#host.clock.now() >= this.#dueAt)
  }

  /**
   * Creates the error for a call without a connection: the failure of the attempt it waited for, or that the upstream
   * is down.
   */
  #createNotReadyError(hasWaited: boolean): GatewayError {
    const failure = this.#failure
    const isStopped = this.state === 'stopped'
    if (failure !== undefined && !isStopped && (hasWaited || isSpecificFailure(failure))) return failure
    const why = isStopped ? 'stopped' : (this.problem ?? 'not started')
    return gatewayError('GW_UPSTREAM_DOWN', { upstream: this.#host.name, why, detail: this.problemDetail })
  }

  #attempt(): Promise<void> {
    this.#cancelRetry?.()
    this.#cancelRenewal?.()
    this.#starting ??= this.#run().finally(() => {
      this.#starting = undefined
    })
    return this.#starting
  }

  async #run(): Promise<void> {
    const isQuiet = this.state === 'needs_auth'
    if (this.state !== 'idle' && !isQuiet) this.restarts++
    // Keep the problem until the server is ready: a server that never answers is mostly starting.
    if (this.connection === undefined && !isQuiet) this.#setState('starting', this.problem, this.problemDetail)
    try {
      await this.#openConnection()
    } catch (error) {
      if (!this.#isRunning()) return
      if (this.connection === undefined) this.#handleFailure(this.#wrapStartError(error))
      else this.#keepOldConnection(error)
    }
  }

  /** Waits for a permit, then opens a connection within the start timeout. */
  async #openConnection(): Promise<void> {
    const permit = await this.#waitForPermit()
    let over: Reason | undefined
    const disarm = this.#host.clock.after(this.#host.startupMs, () => {
      over = this.#createTimeoutError()
      this.#closing.add(this.#opening, over)
    })
    try {
      const connection = await this.#host.connect(make => this.#trackConnection(make, over))
      this.#closing.setPermit(connection, permit)
      permit?.markStarted()
      this.#handleOpened(connection)
    } catch (error) {
      if (this.#opening !== undefined) this.#restarts.recordFailure(this.#host.clock.now())
      if (this.#opening === undefined) permit?.markStopped()
      else this.#closing.setPermit(this.#opening, permit)
      this.#closing.add(this.#opening, { why: 'start failed' })
      throw over === undefined ? error : gatewayError('GW_UPSTREAM_START', { upstream: this.#host.name, ...over })
    } finally {
      disarm()
      this.#opening = undefined
    }
  }

  #createTimeoutError(): Reason {
    const { stray, transport } = this.#opening ?? {}
    const why = `no handshake within ${this.#host.startupMs} ms`
    if (stray === undefined || transport?.streams === true) return { why, detail: transport?.lastStderr }
    const detail = formatPeerText(this.#host.hide(stripEscapes(stray)), 200)
    return { why: `${why}: stdout has a line that is not JSON`, detail }
  }

  async #waitForPermit(): Promise<ProcessPermit | undefined> {
    this.#queuedStart = this.#host.enter()
    try {
      return await this.#queuedStart?.permit
    } catch (cause) {
      const why = getErrorMessage(cause)
      throw gatewayError('GW_UPSTREAM_BUSY', {
        upstream: this.#host.name,
        why,
        retryAfterMs: NO_PERMIT_RETRY_MS,
        cause,
      })
    } finally {
      this.#queuedStart = undefined
    }
  }

  #trackConnection(make: () => Connection, over: Reason | undefined): Connection {
    if (over !== undefined || !this.#isRunning()) throw gatewayError('GW_STOPPING')
    if (this.#opening !== undefined && !this.#restarts.recordFailure(this.#host.clock.now()))
      throw gatewayError('GW_UPSTREAM_CLOSED', {
        upstream: this.#host.name,
        ...(this.#opening.closedBecause ?? { why: 'it keeps crashing' }),
      })
    this.#opening = make()
    return this.#opening
  }

  #handleOpened(connection: Connection): void {
    if (!this.#isRunning()) return
    if (connection.closedBecause !== undefined) throw createClosedError(this.#host.name, connection.closedBecause)
    const before = this.connection
    this.#cancelRetry?.()
    this.connection = connection
    this.#failure = undefined
    this.#readyAt = this.#host.clock.now()
    this.#armRenewal(this.#host.lifetimeMs)
    this.#setState('ready', undefined)
    if (before !== undefined) this.#closing.add(before, { why: 'replaced by a new connection' }, 'after last call')
  }

  #armRenewal(ms: number | undefined): void {
    if (ms === undefined) return
    // Jitter, so that equal processes are not renewed at the same time.
    const early = ms * (0.9 + 0.1 * Math.random())
    this.#cancelRenewal = this.#host.clock.after(early, () => this.#renewConnection())
  }

  /** Maximum lifetime reached: opens a new connection; the old one closes after its last call. */
  #renewConnection(): void {
    if (this.connection === undefined || this.#starting !== undefined) return
    this.#host.log.info('max lifetime reached, restarting', { pid: this.connection.transport.pid })
    void this.#attempt()
  }

  /** The new connection failed: keep the old one. */
  #keepOldConnection(error: unknown): void {
    this.#host.log.warn('restart failed, keeping the old connection', { why: getOwnerReason(error) })
    this.#armRenewal(RENEW_RETRY_MS)
  }

  #isRunning(): boolean {
    return this.state !== 'stopped'
  }

  #wrapStartError(error: unknown): GatewayError {
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

  #handleFailure(failure: GatewayError): void {
    const { clock, name } = this.#host
    if (needsAuth(failure)) return this.#waitForLogin(failure)
    const isRefused = failure.code === 'GW_UPSTREAM_BUSY'
    const { ms, note } = isRefused ? NO_PERMIT : this.#restarts.computeDelay(clock.now())
    this.#failure = failure
    this.#failedAt = clock.now()
    this.#dueAt = isRefused ? -Infinity : clock.now() + ms
    this.#cancelRetry?.()
    this.#cancelRenewal?.()
    if (this.#host.retries()) this.#cancelRetry = clock.after(ms, () => void this.#attempt())
    const why = typeof failure.fields.why === 'string' ? failure.fields.why : failure.message
    const hint = note === undefined ? '' : ` – ${note}, or run \`gateway start ${name}\``
    this.#setState('failed', `${why}${hint}`, failure.detail)
  }

  /** Waits for a call or a login before the next attempt. */
  #waitForLogin(failure: GatewayError): void {
    const problem = `${String(failure.fields.why)}. ${failure.hint}`
    const isKnown = this.state === 'needs_auth' && this.problem === this.#host.hide(problem)
    this.#failure = failure
    this.#dueAt = this.#host.clock.now() + AUTH_RETRY_MS
    this.#cancelRetry?.()
    this.#cancelRenewal?.()
    if (!isKnown) this.#setState('needs_auth', problem, failure.detail)
  }

  #setState(state: UpstreamState, problem: string | undefined, detail?: string): void {
    this.state = state
    this.problem = problem === undefined ? undefined : this.#host.hide(problem)
    this.problemDetail = detail === undefined ? undefined : this.#host.hide(detail)
    this.#host.changed(state, this.connection)
  }
}

/** True for a failure that callers should see unchanged: a gateway error, or a required login. */
function isSpecificFailure(failure: GatewayError): boolean {
  return failure.entry.isLocal === true || needsAuth(failure)
}
