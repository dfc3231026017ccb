import type { Call, Session, UpstreamContext, UpstreamRuntime, UpstreamState } from '../api/index.ts'
import type { McpUpstreamConfig } from './transport.ts'
import type { GatewayError, Reason } from '../errors/errors.ts'
import { describeReason, getOwnerProblem } from '../errors/errors.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { IdleSweeper } from '../util/clock.ts'
import { Projects } from './client-roots.ts'
import type { PoolOptions } from './connection-pool.ts'
import {
  ALL,
  getAllowedDirectories,
  listForwardedHeaders,
  isOfMain,
  isPerProject,
  CONNECTION_IDLE_MS,
  ConnectionPool,
  getPoolSizes,
} from './connection-pool.ts'
import type { Connection } from './connection/connection.ts'
import { Replicas, measureLoad } from './replicas.ts'
import { EraMatch } from './era-match.ts'
import { OwnLists } from './own-lists.ts'
import { SUBSCRIBE } from './subscriptions/client-interest.ts'
import type { Supervisor } from './supervisor.ts'
import type { Supervisors } from './supervisor-factory.ts'

/** Dependencies of a set of connections: the upstream that it belongs to. */
interface UpstreamHost {
  readonly spec: McpUpstreamConfig
  readonly context: UpstreamContext
  readonly supervisors: Supervisors
  /** True while somebody waits for notifications, on any connection or on the one of this supervisor. */
  isWatched(supervisor?: Supervisor): boolean
  /** The main connection is another one, or gone. */
  changed(state: UpstreamState, connection: Connection | undefined): void
  /** A connection beside it is up. */
  opened(connection: Connection): void
  /** The same, or it has gone. */
  moved(supervisor: Supervisor): void
}

/** All connections to one server: the main one, its replicas, and those that belong to one session or caller. */
export class Connections {
  main: Supervisor
  readonly #host: UpstreamHost
  readonly #replicas: Replicas | undefined
  readonly #pool: ConnectionPool
  readonly #idle: IdleSweeper<unknown> | undefined
  readonly #projects: Projects | undefined
  readonly #eras: EraMatch
  /** Lists of those beside the main one. */
  readonly ownLists: OwnLists
  /** The main connection, where all calls take it that are made in its era. */
  #shared: Connection | undefined
  #lastError: { readonly lastError: string; readonly lastErrorAt: number } | undefined
  /** Restarts of supervisors that are gone. */
  #restarts = 0
  #takeBackOffer: (() => void) | undefined

  constructor(host: UpstreamHost) {
    this.#host = host
    const { spec, context } = host
    const { replicas, idleMs, ...sizes } = getPoolSizes(spec)
    const forwarded = listForwardedHeaders(spec)
    this.#projects = isPerProject(spec) ? new Projects(context, getAllowedDirectories(spec)) : undefined
    const all = Array.from({ length: replicas }, () => this.#makeMain())
    this.main = all[0] ?? this.#makeMain()
    this.#replicas = replicas > 1 ? new Replicas(all) : undefined
    this.#eras = new EraMatch({ isOn: spec.era === 'match' && replicas === 1, memory: context.memory })
    this.ownLists = new OwnLists({
      spec,
      context,
      placeOf: session => this.#findPoolKey(session),
      at: place => this.#pool.at(place),
      knowsPlaces: () => this.main.connection !== undefined,
    })
    this.#pool = new ConnectionPool({
      name: context.name,
      // A session with a server depends on the caller's forwarded headers, so others must not share it.
      isolation: forwarded.length > 0 && spec.isolation === 'shared' ? 'principal' : spec.isolation,
      forwarded,
      ...sizes,
      clock: context.clock,
      idleMs: idleMs ?? CONNECTION_IDLE_MS,
      rests: idleMs !== undefined,
      eraOf: (call, main) => this.#eras.ofCall(call, main),
      eraOfSession: (session, main) => this.#eras.of(session, main),
      main: () => this.main,
      isWatched: supervisor => host.isWatched(supervisor),
      supervisor: (capabilities, also) => this.#makeAnother(capabilities, also),
    })
    if (idleMs !== undefined)
      this.#idle = new IdleSweeper<unknown>(context.clock, {
        idleMs: () => idleMs,
        list: () => [this],
        idleSince: () => this.#idleSince(),
        close: () => this.#rest(`it was not called for ${String(spec.idle)}`),
      })
  }

  /** The connection that a call takes, where it is up already. */
  now(call: Call): Connection | undefined {
    const main = this.main.connection
    if (main === undefined) return main
    const own = this.ownLists.findConnection(call)
    if (own !== undefined) return own
    if (main === this.#shared && !this.#eras.isOther(call, main)) return main
    if (this.#projects === undefined || isOfMain(call.method))
      return this.#selectSupervisor(call, main).connection
    const project = this.#projects.known(call.exchange.session)
    // A subscription is nobody's exchange, and asks nobody where it works.
    if (project === undefined && call.method === SUBSCRIBE) return main
    return project === undefined ? undefined : this.#selectSupervisor(call, main, project).connection
  }

  /** The same, once it is up; undefined when the client did not wait. */
  async soon(call: Call): Promise<Connection | undefined> {
    const main = await this.main.waitUntilReady(call)
    if (main === undefined) return undefined
    if (this.#projects === undefined || isOfMain(call.method)) return this.#inItsEra(call, main)
    const project =
      call.method === SUBSCRIBE ? this.#projects.known(call.exchange.session) : await this.#projects.of(call)
    return project === undefined ? main : this.#inItsEra(call, main, project)
  }

  /** The connection of a call once it is up, in the era of its client; or else in that of the main one. */
  #inItsEra(call: Call, main: Connection, project?: string): Promise<Connection | undefined> {
    const supervisor = this.#selectSupervisor(call, main, project)
    return this.#eras.ready(supervisor, call, main, isOver => {
      if (isOver) this.#pool.drop(supervisor)
      return this.#pool.supervisorFor(call, main, this.#apart(project), 'main')
    })
  }

  /** Finds the supervisor whose connection the calls of a session take, where that is up and not the main one. */
  home(session: Session): Supervisor | undefined {
    const supervisor = this.#findSupervisor(session)
    return supervisor?.connection === undefined ? undefined : supervisor
  }

  #findSupervisor(session: Session): Supervisor | undefined {
    return this.#pool.at(this.#findPoolKey(session))
  }

  #findPoolKey(session: Session): string | undefined {
    const main = this.main.connection
    const project = this.#projects?.known(session)
    if (main === undefined || (this.#projects !== undefined && project === undefined)) return undefined
    return this.#pool.findPoolKey(session, main, this.#apart(project))
  }

  all(): Connection[] {
    return this.#supervisors().flatMap(({ connection }) => connection ?? [])
  }

  get runtime(): UpstreamRuntime {
    const restarts = this.#supervisors().reduce((sum, one) => sum + one.restarts, this.#restarts)
    return { ...measureLoad(this.all(), this.main.connection), restarts, ...this.#lastError }
  }

  start(): Promise<void> {
    return this.main.start()
  }

  async stop(): Promise<void> {
    this.#idle?.stop()
    this.#takeBackOffer?.()
    this.#takeBackOffer = undefined
    await Promise.all([...this.#mains().map(supervisor => supervisor.stop()), this.#pool.stop()])
    // Whoever stops a server knows what it did until then.
    this.#lastError = undefined
  }

  /** Tells that somebody must log in before the server is of use to those on this connection. */
  denied(connection: Connection, failure: GatewayError): void {
    for (const supervisor of this.#supervisors()) supervisor.denied(connection, failure)
  }

  /** The server has forgotten us, or is another one. */
  replace(connection: Connection, why: string): void {
    for (const supervisor of this.#mains()) supervisor.replace(connection, why)
    this.#pool.replace(connection, why)
  }

  /** Nothing that was learned of the server holds any more. */
  startAnew(why: string): void {
    this.#eras.forget()
    this.#pool.leave()
    for (const supervisor of this.#mains())
      if (supervisor.connection !== undefined) supervisor.replace(supervisor.connection, why)
  }

  /** Tells each server that has asked for roots, and would be told others now, that they changed. */
  rootsChanged(changed: readonly Session[]): void {
    for (const supervisor of this.#supervisors())
      if (supervisor.connection?.roots !== undefined)
        void this.#tellOfRoots(supervisor, supervisor.connection, changed)
  }

  async #tellOfRoots(
    supervisor: Supervisor,
    connection: Connection,
    changed: readonly Session[],
  ): Promise<void> {
    const client = await this.#host.context.roots?.findClient(this.#sessionsOn(supervisor))
    if (client === undefined || (client.id === connection.roots?.of && !changed.includes(client))) return
    if (connection.closedBecause === undefined) await connection.notify('notifications/roots/list_changed')
  }

  /** Tells the sessions that use a connection; undefined where all of them may. */
  #sessionsOn(supervisor: Supervisor): ((session: Session) => boolean) | undefined {
    if (this.#host.spec.isolation === 'shared' || this.#mains().includes(supervisor)) return undefined
    return session => this.#findSupervisor(session) === supervisor
  }

  sessionEnded(session: Session): void {
    this.#pool.sessionEnded(session)
    this.#projects?.sessionEnded(session)
  }

  /** The main process runs where the gateway does: whoever works there, and shares, needs no other. */
  #apart(project: string | undefined): string | undefined {
    return project !== this.#projects?.home || this.#host.spec.isolation !== 'shared' ? project : undefined
  }

  #selectSupervisor(call: Call, main: Connection, project?: string): Supervisor {
    const supervisor = this.#pool.supervisorFor(call, main, this.#apart(project))
    if (this.#replicas === undefined || isOfMain(call.method) || call.method === SUBSCRIBE) return supervisor
    return this.#replicas.pick() ?? supervisor
  }

  #mains(): Supervisor[] {
    return this.#replicas === undefined ? [this.main] : [this.main, ...this.#replicas.others(this.main)]
  }

  #supervisors(): Supervisor[] {
    return [...this.#mains(), ...this.#pool.supervisors()]
  }

  #makeMain(): Supervisor {
    return this.#host.supervisors.make({
      capabilities: ALL,
      cwd: this.#projects?.home,
      retries: () => true,
      isUsedBy: (_main, session) => this.#findSupervisor(session) === undefined,
      changed: (supervisor, state, connection) => {
        this.#note(supervisor)
        if (supervisor === this.main) this.#mainChanged(state, connection)
        else this.#besides(supervisor, state, connection)
      },
      lost: (supervisor, connection, reason) => {
        if (supervisor === this.main && supervisor.connection === connection) this.#handOver(reason)
        supervisor.lost(connection, reason)
      },
    })
  }

  /** A connection beside the main one. Whether the server can be reached at all is still the main one's business. */
  #makeAnother(capabilities: JsonObject, { cwd, era, waits }: PoolOptions = {}): Supervisor {
    const another: Supervisor = this.#host.supervisors.make({
      capabilities,
      cwd,
      era,
      retries: () => waits?.(another) === true,
      sessions: supervisor => this.#sessionsOn(supervisor),
      isUsedBy: (supervisor, session) => this.#findSupervisor(session) === supervisor,
      listsChanged: (supervisor, news) => this.ownLists.changed(supervisor, news),
      changed: (supervisor, state, connection) => {
        if (this.#eras.isNews(supervisor)) this.#note(supervisor)
        if (state === 'stopped') this.#restarts += supervisor.restarts
        this.#besides(supervisor, state, connection)
      },
      lost: (supervisor, connection, reason) => {
        // The server is away for all: what was watched here is not to be told to the main connection in its last moment.
        if (connection.transport.streams && era === undefined && this.main.connection !== undefined)
          this.main.lost(this.main.connection, reason)
        supervisor.lost(connection, reason)
        if (connection.transport.streams) this.#pool.drop(supervisor)
      },
    })
    if (era !== undefined) this.#eras.add(another)
    return another
  }

  #mainChanged(state: UpstreamState, connection: Connection | undefined): void {
    this.#shared = connection !== undefined && this.#isForAll(connection) ? connection : undefined
    this.#eras.follow(connection)
    this.#host.changed(state, connection)
    if (state !== 'ready') return
    this.#takeBackOffer ??= this.#host.context.processLimiter?.registerEvictable(this.#yielding())
    for (const supervisor of this.#replicas?.others(this.main) ?? []) void supervisor.start()
    this.#pool.fill()
    this.#idle?.arm()
  }

  #isForAll(connection: Connection): boolean {
    return this.#projects === undefined && this.#replicas === undefined && this.#pool.isShared(connection)
  }

  #besides(supervisor: Supervisor, state: UpstreamState, connection: Connection | undefined): void {
    const problem = getOwnerProblem(supervisor)
    const { log, name } = this.#host.context
    if (state === 'failed' && this.#mains().includes(supervisor))
      log.warn('a replica is not available', { upstream: name, problem })
    else log.debug('a connection beside the main one', { state, problem, pid: connection?.transport.pid })
    if (state === 'ready' && connection !== undefined) this.#host.opened(connection)
    if (state === 'starting') return
    this.#host.moved(supervisor)
    this.ownLists.moved(supervisor)
  }

  /** The main connection is about to be lost: a replica that is up takes its place, and nobody misses anything. */
  #handOver(reason: Reason): void {
    const heir = this.#replicas?.others(this.main).find(({ connection }) => connection !== undefined)
    if (heir === undefined) return
    this.#host.context.log.warn('a replica has ended; another one takes its place', {
      why: describeReason(reason),
    })
    this.main = heir
    this.#host.changed('ready', heir.connection)
  }

  #note(supervisor: Supervisor): void {
    const problem = supervisor.state === 'failed' ? getOwnerProblem(supervisor) : undefined
    if (problem !== undefined) this.note(problem)
  }

  /** Notes the last failure, for the owner. */
  note(problem: string): void {
    this.#lastError = { lastError: problem, lastErrorAt: Date.now() }
  }

  /** Since when nothing has used any of its connections. */
  #idleSince(): number | undefined {
    if (this.main.state !== 'ready' || this.#host.isWatched()) return undefined
    let latest = 0
    for (const { state, connection } of this.#supervisors()) {
      const since = state === 'starting' ? undefined : connection === undefined ? 0 : connection.use.idleSince
      if (since === undefined) return undefined
      latest = Math.max(latest, since)
    }
    return latest
  }

  #rest(why: string): void {
    this.#host.context.log.info('upstream rests until its next call', { why })
    for (const supervisor of this.#mains()) supervisor.rest(why)
    this.#pool.leave()
  }

  #yielding(): { readonly idleSince: number | undefined; evict(): void } {
    const pool = this.#pool
    const own = (): number | undefined => (this.#idle === undefined ? undefined : this.#idleSince())
    const rest = (): void => this.#rest('others need its place')
    return {
      get idleSince() {
        return pool.idleSince ?? own()
      },
      evict: () => {
        if (!pool.yield()) rest()
      },
    }
  }
}
