import type { Call, Session, UpstreamContext, UpstreamRuntime, UpstreamState } from '../api/index.ts'
import type { McpUpstreamConfig } from './transport.ts'
import type { GatewayError, Reason } from '../errors/errors.ts'
import { describeReason, getOwnerProblem } from '../errors/errors.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { IdleSweeper } from '../util/clock.ts'
import { ProjectDirectories } from './project-directories.ts'
import type { PoolOptions } from './connection-pool.ts'
import {
  ALL_LEGACY_CAPABILITIES,
  getAllowedDirectories,
  listForwardedHeaders,
  usesMainConnection,
  isPerProject,
  CONNECTION_IDLE_MS,
  ConnectionPool,
  getPoolSizes,
} from './connection-pool.ts'
import type { Connection } from './connection/connection.ts'
import { Replicas, measureConnectionsLoad } from './replicas.ts'
import { EraMatch } from './era-match.ts'
import { SUBSCRIBE } from './subscriptions/client-interest.ts'
import type { Supervisor } from './supervisor.ts'
import type { SupervisorFactory } from './supervisor-factory.ts'

interface ConnectionsDeps {
  readonly spec: McpUpstreamConfig
  readonly context: UpstreamContext
  readonly supervisors: SupervisorFactory
  /** True while a client waits for notifications, on any connection or this supervisor's. */
  isWatched(supervisor?: Supervisor): boolean
  /** The main connection was replaced or closed. */
  changed(state: UpstreamState, connection: Connection | undefined): void
  /** Another connection is ready. */
  opened(connection: Connection): void
  /** Another connection is ready or closed. */
  moved(supervisor: Supervisor): void
}

/** All connections to one server: the main one, its replicas, and those for a session or caller. */
export class Connections {
  main: Supervisor
  readonly #host: ConnectionsDeps
  readonly #replicas: Replicas | undefined
  readonly #pool: ConnectionPool
  readonly #idle: IdleSweeper<unknown> | undefined
  readonly #projects: ProjectDirectories | undefined
  readonly #eras: EraMatch
  /** The main connection, for all calls in its era. */
  #shared: Connection | undefined
  #lastError: { readonly lastError: string; readonly lastErrorAt: number } | undefined
  /** Restarts by removed supervisors. */
  #restarts = 0
  #withdrawOffer: (() => void) | undefined

  constructor(host: ConnectionsDeps) {
    this.#host = host
    const { spec, context } = host
    const { replicas, idleMs, ...sizes } = getPoolSizes(spec)
    const forwarded = listForwardedHeaders(spec)
    this.#projects = isPerProject(spec) ? new ProjectDirectories(context, getAllowedDirectories(spec)) : undefined
    const all = Array.from({ length: replicas }, () => this.#makeMain())
    this.main = all[0] ?? this.#makeMain()
    this.#replicas = replicas > 1 ? new Replicas(all) : undefined
    this.#eras = new EraMatch({ isOn: spec.era === 'match' && replicas === 1, memory: context.memory })
    this.#pool = new ConnectionPool({
      name: context.name,
      // Forwarded headers can affect the server's session, so callers must not share it.
      isolation: forwarded.length > 0 && spec.isolation === 'shared' ? 'principal' : spec.isolation,
      forwardedHeaders: forwarded,
      ...sizes,
      clock: context.clock,
      idleMs: idleMs ?? CONNECTION_IDLE_MS,
      stopsWhenIdle: idleMs !== undefined,
      eraOf: (call, main) => this.#eras.getCallEra(call, main),
      eraOfSession: (session, main) => this.#eras.getSessionEra(session, main),
      main: () => this.main,
      isWatched: supervisor => host.isWatched(supervisor),
      supervisor: (capabilities, also) => this.#makeAdditional(capabilities, also),
    })
    if (idleMs !== undefined)
      this.#idle = new IdleSweeper<unknown>(context.clock, {
        idleMs: () => idleMs,
        list: () => [this],
        idleSince: () => this.#getIdleSince(),
        close: () => this.#goIdle(`idle for ${String(spec.idle)}`),
      })
  }

  /** Returns the connection for a call if it is ready. */
  getReadyConnection(call: Call): Connection | undefined {
    const main = this.main.connection
    if (main === undefined) return main
    if (main === this.#shared && !this.#eras.usesOtherEra(call, main)) return main
    if (this.#projects === undefined || usesMainConnection(call.method))
      return this.#selectSupervisor(call, main).connection
    const project = this.#projects.getKnown(call.exchange.session)
    // A subscription has no client requests.
    if (project === undefined && call.method === SUBSCRIBE) return main
    return project === undefined ? undefined : this.#selectSupervisor(call, main, project).connection
  }

  /** Waits for the connection; undefined if the client stopped waiting. */
  async waitForConnection(call: Call): Promise<Connection | undefined> {
    const main = await this.main.waitUntilReady(call)
    if (main === undefined) return undefined
    if (this.#projects === undefined || usesMainConnection(call.method)) return this.#waitInClientEra(call, main)
    const project =
      call.method === SUBSCRIBE ? this.#projects.getKnown(call.exchange.session) : await this.#projects.getProject(call)
    return project === undefined ? main : this.#waitInClientEra(call, main, project)
  }

  /** Returns the connection in the client's era, or the main connection's era as a fallback. */
  #waitInClientEra(call: Call, main: Connection, project?: string): Promise<Connection | undefined> {
    const supervisor = this.#selectSupervisor(call, main, project)
    return this.#eras.ready(supervisor, call, main, isOver => {
      if (isOver) this.#pool.removeSupervisor(supervisor)
      return this.#pool.supervisorFor(call, main, this.#findSeparateProject(project), 'main')
    })
  }

  /** Finds the supervisor for a session's calls if it is ready and not the main one. */
  findOwnSupervisor(session: Session): Supervisor | undefined {
    const supervisor = this.#findSupervisor(session)
    return supervisor?.connection === undefined ? undefined : supervisor
  }

  #findSupervisor(session: Session): Supervisor | undefined {
    return this.#pool.getByKey(this.#findPoolKey(session))
  }

  #findPoolKey(session: Session): string | undefined {
    const main = this.main.connection
    const project = this.#projects?.getKnown(session)
    if (main === undefined || (this.#projects !== undefined && project === undefined)) return undefined
    return this.#pool.findPoolKey(session, main, this.#findSeparateProject(project))
  }

  listConnections(): Connection[] {
    return this.#listSupervisors().flatMap(({ connection }) => connection ?? [])
  }

  get runtime(): UpstreamRuntime {
    const restarts = this.#listSupervisors().reduce((sum, one) => sum + one.restarts, this.#restarts)
    return {
      ...measureConnectionsLoad(this.listConnections(), this.main.connection),
      restarts,
      ...this.#lastError,
    }
  }

  start(): Promise<void> {
    return this.main.start()
  }

  async stop(): Promise<void> {
    this.#idle?.stop()
    this.#withdrawOffer?.()
    this.#withdrawOffer = undefined
    await Promise.all([...this.#listMainSupervisors().map(supervisor => supervisor.stop()), this.#pool.stop()])
    // A manual stop clears the last error.
    this.#lastError = undefined
  }

  /** Reports that this connection needs a login. */
  handleAuthRequired(connection: Connection, failure: GatewayError): void {
    for (const supervisor of this.#listSupervisors()) supervisor.handleAuthRequired(connection, failure)
  }

  reconnect(connection: Connection, reason: string): void {
    for (const supervisor of this.#listMainSupervisors()) supervisor.reconnect(connection, reason)
    this.#pool.reconnect(connection, reason)
  }

  restart(reason: string): void {
    this.#eras.forgetEra()
    this.#pool.drainAll()
    for (const supervisor of this.#listMainSupervisors())
      if (supervisor.connection !== undefined) supervisor.reconnect(supervisor.connection, reason)
  }

  /** Notifies servers that requested roots when they changed. */
  rootsChanged(changed: readonly Session[]): void {
    for (const supervisor of this.#listSupervisors())
      if (supervisor.connection?.roots !== undefined) void this.#tellOfRoots(supervisor, supervisor.connection, changed)
  }

  async #tellOfRoots(supervisor: Supervisor, connection: Connection, changed: readonly Session[]): Promise<void> {
    const client = await this.#host.context.roots?.findClient(this.#createSessionFilter(supervisor))
    if (client === undefined || (client.id === connection.roots?.of && !changed.includes(client))) return
    if (connection.closedBecause === undefined) await connection.notify('notifications/roots/list_changed')
  }

  /** Returns a filter for the sessions on a connection; undefined if all sessions match. */
  #createSessionFilter(supervisor: Supervisor): ((session: Session) => boolean) | undefined {
    if (this.#host.spec.isolation === 'shared' || this.#listMainSupervisors().includes(supervisor)) return undefined
    return session => this.#findSupervisor(session) === supervisor
  }

  sessionEnded(session: Session): void {
    this.#pool.sessionEnded(session)
    this.#projects?.sessionEnded(session)
  }

  /** The main process runs in the gateway's directory: shared clients there need no other process. */
  #findSeparateProject(project: string | undefined): string | undefined {
    return project !== this.#projects?.fallback || this.#host.spec.isolation !== 'shared' ? project : undefined
  }

  #selectSupervisor(call: Call, main: Connection, project?: string): Supervisor {
    const supervisor = this.#pool.supervisorFor(call, main, this.#findSeparateProject(project))
    if (this.#replicas === undefined || usesMainConnection(call.method) || call.method === SUBSCRIBE) return supervisor
    return this.#replicas.pickLeastLoaded() ?? supervisor
  }

  #listMainSupervisors(): Supervisor[] {
    return this.#replicas === undefined ? [this.main] : [this.main, ...this.#replicas.listOthers(this.main)]
  }

  #listSupervisors(): Supervisor[] {
    return [...this.#listMainSupervisors(), ...this.#pool.listSupervisors()]
  }

  #makeMain(): Supervisor {
    return this.#host.supervisors.createSupervisor({
      capabilities: ALL_LEGACY_CAPABILITIES,
      cwd: this.#projects?.fallback,
      retries: () => true,
      isUsedBy: (_main, session) => this.#findSupervisor(session) === undefined,
      changed: (supervisor, state, connection) => {
        this.#recordFailure(supervisor)
        if (supervisor === this.main) this.#handleMainChange(state, connection)
        else this.#handleAdditionalChange(supervisor, state, connection)
      },
      lost: (supervisor, connection, reason) => {
        if (supervisor === this.main && supervisor.connection === connection) this.#promoteReplica(reason)
        supervisor.handleClosed(connection, reason)
      },
    })
  }

  /** Creates an additional connection. The main connection determines whether the server is reachable. */
  #makeAdditional(capabilities: JsonObject, { cwd, era, isWaitedFor }: PoolOptions = {}): Supervisor {
    const another: Supervisor = this.#host.supervisors.createSupervisor({
      capabilities,
      cwd,
      era,
      retries: () => isWaitedFor?.(another) === true,
      sessions: supervisor => this.#createSessionFilter(supervisor),
      isUsedBy: (supervisor, session) => this.#findSupervisor(session) === supervisor,
      changed: (supervisor, state, connection) => {
        if (this.#eras.describesServer(supervisor)) this.#recordFailure(supervisor)
        if (state === 'stopped') this.#restarts += supervisor.restarts
        this.#handleAdditionalChange(supervisor, state, connection)
      },
      lost: (supervisor, connection, reason) => {
        // The server is down for all: do not move watches to the main connection as it closes.
        if (connection.transport.streams && era === undefined && this.main.connection !== undefined)
          this.main.handleClosed(this.main.connection, reason)
        supervisor.handleClosed(connection, reason)
        if (connection.transport.streams) this.#pool.removeSupervisor(supervisor)
      },
    })
    if (era !== undefined) this.#eras.addSupervisor(another)
    return another
  }

  #handleMainChange(state: UpstreamState, connection: Connection | undefined): void {
    this.#shared = connection !== undefined && this.#isShared(connection) ? connection : undefined
    this.#eras.follow(connection)
    this.#host.changed(state, connection)
    if (state !== 'ready') return
    this.#withdrawOffer ??= this.#host.context.processLimiter?.registerEvictable(this.#createYielding())
    for (const supervisor of this.#replicas?.listOthers(this.main) ?? []) void supervisor.start()
    this.#pool.openWarm()
    this.#idle?.arm()
  }

  #isShared(connection: Connection): boolean {
    return this.#projects === undefined && this.#replicas === undefined && this.#pool.isShared(connection)
  }

  #handleAdditionalChange(supervisor: Supervisor, state: UpstreamState, connection: Connection | undefined): void {
    const problem = getOwnerProblem(supervisor)
    const { log, name } = this.#host.context
    if (state === 'failed' && this.#listMainSupervisors().includes(supervisor))
      log.warn('replica not available', { upstream: name, problem })
    else log.debug('connection changed', { state, problem, pid: connection?.transport.pid })
    if (state === 'ready' && connection !== undefined) this.#host.opened(connection)
    if (state === 'starting') return
    this.#host.moved(supervisor)
  }

  /** The main connection is closing: promote a ready replica, so that no notification is lost. */
  #promoteReplica(reason: Reason): void {
    const heir = this.#replicas?.listOthers(this.main).find(({ connection }) => connection !== undefined)
    if (heir === undefined) return
    this.#host.context.log.warn('replica closed, failing over to another replica', {
      why: describeReason(reason),
    })
    this.main = heir
    this.#host.changed('ready', heir.connection)
  }

  #recordFailure(supervisor: Supervisor): void {
    const problem = supervisor.state === 'failed' ? getOwnerProblem(supervisor) : undefined
    if (problem !== undefined) this.recordProblem(problem)
  }

  /** Stores the last error, for the owner. */
  recordProblem(problem: string): void {
    this.#lastError = { lastError: problem, lastErrorAt: Date.now() }
  }

  #getIdleSince(): number | undefined {
    if (this.main.state !== 'ready' || this.#host.isWatched()) return undefined
    let latest = 0
    for (const { state, connection } of this.#listSupervisors()) {
      const since = state === 'starting' ? undefined : connection === undefined ? 0 : connection.use.idleSince
      if (since === undefined) return undefined
      latest = Math.max(latest, since)
    }
    return latest
  }

  #goIdle(why: string): void {
    this.#host.context.log.info('upstream idle, stopping until the next call', { why })
    for (const supervisor of this.#listMainSupervisors()) supervisor.goIdle(why)
    this.#pool.drainAll()
  }

  #createYielding(): { readonly idleSince: number | undefined; evict(): void } {
    const pool = this.#pool
    const own = (): number | undefined => (this.#idle === undefined ? undefined : this.#getIdleSince())
    const stopWhenIdle = (): void => this.#goIdle('process limit reached')
    return {
      get idleSince() {
        return pool.idleSince ?? own()
      },
      evict: () => {
        if (!pool.closeIdle()) stopWhenIdle()
      },
    }
  }
}
