import type {
  Answer,
  Call,
  EvictableProcesses,
  Notification,
  Principal,
  ServerDescription,
  Session,
  UpstreamConfig,
  UpstreamContext,
  UpstreamRuntime,
  UpstreamState,
} from '../api/index.ts'
import type { Reason } from '../errors/errors.ts'
import { GatewayError, gatewayError, getOwnerProblem } from '../errors/errors.ts'
import { DroppedMessages } from '../net/unexpected-messages.ts'
import { ANONYMOUS, conversationKey, principalKey } from '../plugin.ts'
import { ALL_CAPABILITIES, toLegacyCapabilities } from '../protocol/era/capabilities.ts'
import { isObject } from '../protocol/json/json.ts'
import { getChangedKinds, METHODS } from '../protocol/methods.ts'
import { IdleSweeper } from '../util/clock.ts'
import { parseDuration } from '../util/units.ts'
import { Connection } from './connection/connection.ts'
import { EraMemory, isInitializeRefusal, performHandshake } from './connection/handshake.ts'
import { ProjectDirectories } from './project-directories.ts'
import { ConnectionSubscriptions, createListChanges, ResourceSubscriptions, SUBSCRIBE } from './subscriptions.ts'
import { Supervisor } from './supervisor.ts'
import type { ConnectionDeps, ConnectionEvents, McpUpstreamConfig, Transport } from './transport.ts'

/** Default limits for connections other than the main one, in total and per caller. */
const MAX_CONNECTIONS = 64
const MAX_PER_CALLER = 16
/** Time after which an unused connection closes. */
const CONNECTION_IDLE_MS = 5 * 60_000
const MAX_PROBE_MS = 5000
/** Task status notification: task ids belong to one connection (2025-11-25, tasks). */
const TASK_STATUS = 'notifications/tasks/status'
/** Client capabilities that allow requests by a legacy server. */
const INPUT_CAPABILITIES = ['elicitation', 'sampling', 'roots']
/** Every connection declares all capabilities; requests to clients that lack them are refused. */
const DECLARED_CAPABILITIES = toLegacyCapabilities(ALL_CAPABILITIES)

/** Opens a transport; `cwd` is for processes. */
export type OpenTransport = (events: ConnectionEvents, context: UpstreamContext, cwd: string | undefined) => Transport

/** What distinguishes one connection from others to the same server. */
interface ConnectionTraits {
  readonly key: string
  /** The connection that decides how others are shared; undefined for a main one. */
  readonly main: PooledConnection | undefined
  /** The upstream's, or its account's. */
  readonly context: UpstreamContext
  readonly project?: string | undefined
  /** Era to use; undefined for the detected one. */
  readonly era?: 'legacy' | undefined
  /** Session that owns it; a connection with a label closes when idle. */
  readonly session?: string | undefined
  /** Owning caller, for the limit per caller. */
  readonly caller?: string | undefined
  /** True if it holds state of all callers, so that it closes only if `idle` is configured. */
  readonly isKept: boolean
  /** True for its account's sessions; undefined without accounts. */
  readonly isOfAccount: ((session: Session) => boolean) | undefined
}

/** One supervised connection, with the callers that share it. */
export interface PooledConnection extends ConnectionTraits {
  readonly supervisor: Supervisor
  readonly subscriptions: ConnectionSubscriptions
  readonly openedAt: number
}

interface ConnectionPoolDeps {
  readonly spec: McpUpstreamConfig
  readonly context: UpstreamContext
  readonly connect: OpenTransport
  /** A main connection became ready or was closed. */
  mainChanged(main: PooledConnection): void
  /** A connection is ready. */
  opened(connection: Connection): void
}

/**
 * All connections to one server, by key. Lists use the main one, or that of the caller's account; calls use it too,
 * unless sessions, callers, projects, forwarded headers or eras must not mix.
 */
export class ConnectionPool {
  readonly eraMemory: EraMemory
  readonly drops: DroppedMessages
  readonly subscriptions = new ResourceSubscriptions()
  readonly #deps: ConnectionPoolDeps
  readonly #isolation: UpstreamConfig['isolation']
  /** Request headers that go upstream; callers that send different values do not share a connection. */
  readonly #forwardedHeaders: readonly string[]
  readonly #projects: ProjectDirectories | undefined
  readonly #connections = new Map<string, PooledConnection>()
  /** Closing connections with their pending calls. */
  readonly #closing = new Map<Supervisor, Promise<void>>()
  readonly #sweeper: IdleSweeper<PooledConnection>
  /** The main connection; undefined if each account has its own. */
  readonly #main: PooledConnection | undefined
  /** Latest caller by account key, for the gateway's own requests. */
  readonly #callers = new Map<string, Principal>()
  /** Servers that refused the legacy era. */
  readonly #modernOnly = new WeakSet<ServerDescription>()
  #isStopped = false
  #lastError: { readonly lastError: string; readonly lastErrorAt: number } | undefined
  #unregister: (() => void) | undefined

  constructor(deps: ConnectionPoolDeps) {
    const { spec, context } = deps
    this.#deps = deps
    this.eraMemory = new EraMemory(context.clock)
    this.drops = new DroppedMessages(context.log, context.clock)
    this.#forwardedHeaders = listForwardedHeaders(spec)
    // Forwarded headers can affect the server's session, so callers must not share it.
    this.#isolation = this.#forwardedHeaders.length > 0 && spec.isolation === 'shared' ? 'principal' : spec.isolation
    this.#projects =
      spec.type === 'stdio' && spec.cwd === 'project' ? new ProjectDirectories(context, spec.projects) : undefined
    const idleMs = spec.idle === undefined ? CONNECTION_IDLE_MS : parseDuration(spec.idle)
    this.#sweeper = new IdleSweeper<PooledConnection>(context.clock, {
      idleMs: () => idleMs,
      list: () => this.#listClosable(),
      idleSince: pooled => this.#getIdleSince(pooled),
      close: pooled => this.#closeIdle(pooled, `idle for ${String(spec.idle)}`),
    })
    if (this.isPerAccount) return
    this.#main = this.#add({ key: '', main: undefined, context, isKept: true, isOfAccount: undefined })
  }

  /** True if callers with different accounts share no connection. */
  get isPerAccount(): boolean {
    const { spec, context } = this.#deps
    return spec.type !== 'stdio' && context.authorizer?.getAccount !== undefined
  }

  get state(): UpstreamState {
    if (this.#main !== undefined) return this.#main.supervisor.state
    if (this.#isStopped) return 'stopped'
    return this.listConnections().length > 0 ? 'ready' : 'idle'
  }

  /** The main connection's supervisor; a failed account does not affect others. */
  get main(): Supervisor | undefined {
    return this.#main?.supervisor
  }

  get runtime(): UpstreamRuntime {
    const mainEra = this.main?.connection?.server?.era
    const instances = this.listConnections().map(({ transport, use, server }) => ({
      ...(transport.pid === undefined ? {} : { pid: transport.pid }),
      ...(mainEra === undefined || server === undefined || server.era === mainEra ? {} : { era: server.era }),
      startedAt: use.startedAt,
      inFlight: use.inFlight,
    }))
    return {
      instances,
      inFlight: instances.reduce((sum, { inFlight }) => sum + inFlight, 0),
      restarts: this.#listSupervisors().reduce((sum, { restarts }) => sum + restarts, 0),
      ...this.#lastError,
    }
  }

  /** Lists the ready connections. */
  listConnections(): Connection[] {
    return this.#listSupervisors().flatMap(({ connection }) => connection ?? [])
  }

  start(): Promise<void> {
    this.#isStopped = false
    return this.#main?.supervisor.start() ?? Promise.resolve()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#sweeper.stop()
    this.#unregister?.()
    this.#unregister = undefined
    for (const pooled of this.#connections.values()) if (pooled !== this.#main) this.#remove(pooled)
    this.#main?.subscriptions.stop()
    await Promise.all([...this.#closing.keys(), ...(this.main === undefined ? [] : [this.main])].map(one => one.stop()))
    // A manual stop clears the last error.
    this.#lastError = undefined
  }

  /** Returns the connection for a call if it is ready. */
  getReadyConnection(call: Call): Connection | undefined {
    const main = this.#getMain(call.exchange.principal)
    const { connection } = main.supervisor
    if (connection === undefined || usesMainConnection(call.method)) return connection
    const project = this.#projects?.getKnown(call.exchange.session)
    if (this.#projects !== undefined && project === undefined) {
      // The client cannot be asked for its roots during a subscription.
      return call.method === SUBSCRIBE ? connection : undefined
    }
    return this.#select(call, main, connection, project).supervisor.connection
  }

  /** Waits for the connection; undefined if the client stopped waiting. */
  async waitForConnection(call: Call): Promise<Connection | undefined> {
    const main = this.#getMain(call.exchange.principal)
    const connection = await main.supervisor.waitUntilReady(call)
    if (connection === undefined || usesMainConnection(call.method)) return connection
    const project = call.method === SUBSCRIBE ? undefined : await this.#projects?.getProject(call)
    const pooled = this.#select(call, main, connection, project)
    if (pooled.era === undefined) return pooled.supervisor.waitUntilReady(call)
    try {
      return await pooled.supervisor.waitUntilReady(call)
    } catch (error) {
      if (this.#isLegacyRefused(error, connection)) {
        if (connection.server !== undefined) this.#modernOnly.add(connection.server)
        this.#remove(pooled)
      }
      return this.#select(call, main, connection, project, true).supervisor.waitUntilReady(call)
    }
  }

  /** Handles `resources/subscribe` on a connection for the session's calls. */
  subscribe(call: Call, connection: Connection): Promise<Answer> {
    const pooled = [...this.#connections.values()].find(({ supervisor }) => supervisor.connection === connection)
    const { subscriptions } = pooled ?? this.#getMain(call.exchange.principal)
    return this.subscriptions.subscribe(call, connection, subscriptions)
  }

  /** Reports that this connection needs a login. */
  handleAuthRequired(connection: Connection, failure: GatewayError): void {
    for (const supervisor of this.#listSupervisors()) supervisor.handleAuthRequired(connection, failure)
  }

  reconnect(connection: Connection, reason: string): void {
    for (const { supervisor } of this.#connections.values()) supervisor.reconnect(connection, reason)
  }

  /** The server was replaced: reconnects the main connections and closes all others. */
  restart(reason: string): void {
    this.eraMemory.forgetEra()
    for (const pooled of this.#connections.values()) {
      const { supervisor, main } = pooled
      if (main !== undefined) this.#remove(pooled)
      else if (supervisor.connection !== undefined) supervisor.reconnect(supervisor.connection, reason)
    }
  }

  /** Notifies servers that requested roots when they changed. */
  handleRootsChange(changed: readonly Session[]): void {
    for (const connection of this.listConnections())
      if (connection.roots !== undefined) void this.#notifyRootsChange(connection, changed)
  }

  handleSessionEnd(session: Session): void {
    this.#projects?.sessionEnded(session)
    if (this.#isolation !== 'session') return
    for (const pooled of this.#connections.values()) if (pooled.session === session.id) this.#remove(pooled)
  }

  /** Stores the last error, for the owner. */
  recordProblem(problem: string): void {
    this.#lastError = { lastError: problem, lastErrorAt: Date.now() }
  }

  /** Returns the main connection for a caller. Throws if the caller has no account. */
  #getMain(principal: Principal): PooledConnection {
    if (this.#main !== undefined) return this.#main
    const { context } = this.#deps
    if (this.#isStopped) throw gatewayError('GW_UPSTREAM_DOWN', { upstream: context.name, why: 'stopped' })
    const account = context.authorizer?.getAccount?.(principal) ?? ''
    const key = JSON.stringify([account])
    this.#callers.set(key, principal)
    return this.#connections.get(key) ?? this.#addMain(key, account)
  }

  #addMain(key: string, account: string): PooledConnection {
    const { context } = this.#deps
    this.#makeRoom(undefined)
    return this.#add({
      key,
      main: undefined,
      context: {
        ...context,
        account,
        caller: () => this.#callers.get(key) ?? ANONYMOUS,
        log: context.log.child({ account }),
      },
      isKept: false,
      isOfAccount: session => this.#findMain(session)?.key === key,
    })
  }

  /** Finds a session's main connection; undefined for callers without an account or a connection. */
  #findMain({ principal }: Session): PooledConnection | undefined {
    if (this.#main !== undefined) return this.#main
    try {
      return this.#connections.get(JSON.stringify([this.#deps.context.authorizer?.getAccount?.(principal)]))
    } catch {
      return undefined
    }
  }

  /** Returns the connection for a call, while the main one is up. Throws if a limit is exceeded. */
  #select(
    call: Call,
    main: PooledConnection,
    connection: Connection,
    project: string | undefined,
    isInMainEra = false,
  ): PooledConnection {
    const { session } = call.exchange
    const era = isInMainEra ? undefined : this.#getEra(call, connection)
    const traits = { headers: call.headers, project: this.#separateProject(project), era }
    const key = this.#createKey(session, main, connection, traits)
    if (key === main.key) return main
    return this.#connections.get(key) ?? this.#addForCall(key, session, main, traits)
  }

  #createKey(
    session: Session,
    main: PooledConnection,
    { transport, server }: Connection,
    { headers, project, era }: KeyParts,
  ): string {
    // A modern HTTP server has no state between requests.
    const isShared = this.#isolation === 'shared' || (transport.streams && server?.era === 'modern')
    if (isShared && project === undefined && era === undefined) return main.key
    const owner =
      this.#isolation === 'shared'
        ? ''
        : this.#isolation === 'session'
          ? conversationKey(session)
          : principalKey(session.principal)
    const forwarded = this.#forwardedHeaders.map(name => headers?.[name] ?? null)
    return JSON.stringify([main.key, owner, project, era, ...forwarded])
  }

  /** Finds the connection for a session's calls, as far as it is known without a call; else the main one. */
  #findForSession(session: Session): PooledConnection | undefined {
    const main = this.#findMain(session)
    const connection = main?.supervisor.connection
    const project = this.#projects?.getKnown(session)
    const isUnknown = this.#forwardedHeaders.length > 0 || (this.#projects !== undefined && project === undefined)
    if (main === undefined || connection === undefined || isUnknown) return main
    const era = this.#getSessionEra(session, connection)
    const key = this.#createKey(session, main, connection, { project: this.#separateProject(project), era })
    return this.#connections.get(key) ?? main
  }

  /** The main process runs in the gateway's directory: shared clients there need no other process. */
  #separateProject(project: string | undefined): string | undefined {
    return project !== this.#projects?.fallback || this.#isolation !== 'shared' ? project : undefined
  }

  /** The era for a call, if it differs from the main connection's. Tasks exist only in the server's own era. */
  #getEra({ method, mayBeTask, exchange }: Call, main: Connection): 'legacy' | undefined {
    return mayBeTask === true || method.startsWith('tasks/') ? undefined : this.#getSessionEra(exchange.session, main)
  }

  /**
   * The era for a session's calls, if it differs: with `era: match`, a legacy client with input capabilities gets a
   * legacy connection, as tools there send requests that the modern era does not have.
   */
  #getSessionEra({ client }: Session, { server }: Connection): 'legacy' | undefined {
    const { type, era } = this.#deps.spec
    if (era !== 'match' || client.era !== 'legacy' || server?.era !== 'modern') return undefined
    // A second process would have another state.
    if (type === 'stdio' && this.#isolation === 'shared') return undefined
    if (this.#modernOnly.has(server)) return undefined
    return INPUT_CAPABILITIES.some(capability => isObject(client.capabilities[capability])) ? 'legacy' : undefined
  }

  /** True if a legacy connection failed because the server supports only the modern era. */
  #isLegacyRefused(error: unknown, { transport }: Connection): boolean {
    if (isInitializeRefusal(error)) return true
    // Network errors do not reflect the server's support.
    const hasFailed = error instanceof GatewayError && error.code === 'GW_UPSTREAM_START'
    return hasFailed && !transport.streams
  }

  #addForCall(key: string, session: Session, main: PooledConnection, { project, era }: KeyParts): PooledConnection {
    const isShared = this.#isolation === 'shared' && project === undefined
    const { id, label, principal } = session
    const caller = isShared || principalKey(principal) === principalKey(ANONYMOUS) ? undefined : principalKey(principal)
    this.#makeRoom(caller)
    return this.#add({
      ...{ key, main, project, era, caller },
      context: main.context,
      session: this.#isolation === 'session' && label === undefined ? id : undefined,
      isKept: isShared && main === this.#main,
      isOfAccount: main.isOfAccount,
    })
  }

  #add(traits: ConnectionTraits): PooledConnection {
    const { context, main, key } = traits
    const pooled: PooledConnection = {
      ...traits,
      openedAt: context.clock.now(),
      supervisor: this.#createSupervisor(traits, () => pooled),
      subscriptions: new ConnectionSubscriptions(context, {
        listensForLists: main === undefined,
        notify: notification => this.#notify(pooled, notification),
      }),
    }
    this.#connections.set(key, pooled)
    if (!traits.isKept || main !== undefined) this.#sweeper.arm()
    return pooled
  }

  #createSupervisor({ context, project, era, main }: ConnectionTraits, getPooled: () => PooledConnection): Supervisor {
    const { spec, connect } = this.#deps
    const { name, clock, gateway } = context
    const startupMs = parseDuration(spec.startupTimeout)
    const handshake = {
      upstream: name,
      era: era ?? (spec.era === 'match' ? 'auto' : spec.era),
      memory: this.eraMemory,
      capabilities: DECLARED_CAPABILITIES,
      gateway,
      clock,
      probeMs: Math.min(MAX_PROBE_MS, startupMs / 3),
    }
    const cwd = project ?? this.#projects?.fallback
    let deps: ConnectionDeps<Connection> | undefined
    const open = (): Connection =>
      new Connection((deps ??= this.#createConnectionDeps(getPooled())), events => connect(events, context, cwd))
    return new Supervisor({
      ...{ name, clock, startupMs },
      log: context.log,
      hide: text => context.hide(text),
      lifetimeMs: spec.maxLifetime === undefined ? undefined : parseDuration(spec.maxLifetime),
      isProcess: spec.type === 'stdio',
      retries: () => main === undefined || getPooled().subscriptions.isWanted,
      enter: () => (spec.type === 'stdio' ? context.processLimiter?.requestPermit() : undefined),
      connect: own => performHandshake({ ...handshake, open: () => own(open) }),
      changed: (state, connection) => this.#handleChange(getPooled(), state, connection),
    })
  }

  #createConnectionDeps(pooled: PooledConnection): ConnectionDeps<Connection> {
    const { context, isOfAccount, main } = pooled
    const { roots } = context
    const isOn =
      main === undefined || this.#deps.spec.isolation === 'shared'
        ? isOfAccount
        : (session: Session) => this.#findForSession(session) === pooled
    return {
      name: context.name,
      log: context.log,
      clock: context.clock,
      drops: this.drops,
      notify: notification => this.#notify(pooled, notification),
      clients: context,
      isOnlyClient: roots && (session => roots.isOnly(session, isOn)),
      listRoots: roots && (ask => roots.list(ask, isOn)),
      findRootsClient: roots && (() => roots.findClient(isOn)),
      missed: ({ server }) => {
        for (const change of createListChanges(server)) context.notify(change, isOfAccount)
      },
      closed: (connection, reason) => this.#handleClosed(pooled, connection, reason),
    }
  }

  #notify(pooled: PooledConnection, notification: Notification): void {
    const { method } = notification
    const { context, isOfAccount, subscriptions } = pooled
    if (getChangedKinds(method).length > 0) context.notify(notification, isOfAccount)
    else if (method === TASK_STATUS) context.notify(notification, session => this.#findForSession(session) === pooled)
    else if (this.#main !== undefined && this.#connections.size === 1) context.notify(notification)
    else context.notify(notification, session => this.subscriptions.isHeld(session, subscriptions))
  }

  async #notifyRootsChange(connection: Connection, changed: readonly Session[]): Promise<void> {
    const client = await connection.host.findRootsClient?.()
    if (client === undefined || (client.id === connection.roots?.of && !changed.includes(client))) return
    if (connection.closedBecause === undefined) await connection.notify('notifications/roots/list_changed')
  }

  #handleChange(pooled: PooledConnection, state: UpstreamState, connection: Connection | undefined): void {
    const { subscriptions, main, context } = pooled
    this.#recordState(pooled, state)
    if (state !== 'starting') subscriptions.setConnection(state === 'ready' ? connection : undefined)
    if (main === undefined) this.#handleMainChange(pooled, state)
    else context.log.debug('connection changed', { state, pid: connection?.transport.pid })
    if (state === 'ready' && connection !== undefined) this.#deps.opened(connection)
  }

  #recordState({ supervisor, era }: PooledConnection, state: UpstreamState): void {
    const problem = state === 'failed' ? getOwnerProblem(supervisor) : undefined
    // A failure in another era is not the server's.
    if (problem !== undefined && era === undefined) this.recordProblem(problem)
  }

  #handleMainChange(main: PooledConnection, state: UpstreamState): void {
    this.#deps.mainChanged(main)
    if (state !== 'ready') return
    this.#unregister ??= main.context.processLimiter?.registerEvictable(this.#createEvictable())
    if (this.#deps.spec.idle !== undefined) this.#sweeper.arm()
    for (const { supervisor, subscriptions, main: own } of this.#connections.values())
      if (own === main && subscriptions.isWanted && supervisor.state === 'idle') void supervisor.start()
  }

  #handleClosed(pooled: PooledConnection, connection: Connection, reason: Reason): void {
    const { supervisor, main, era } = pooled
    const isRemote = connection.transport.streams && main !== undefined
    // The server is down for all.
    if (isRemote && era === undefined && main.supervisor.connection !== undefined)
      main.supervisor.handleClosed(main.supervisor.connection, reason)
    supervisor.handleClosed(connection, reason)
    // The main connection finds out when the server is back; then the next call may connect immediately.
    if (isRemote) supervisor.goIdle(reason.why)
  }

  #listSupervisors(): Supervisor[] {
    return [...[...this.#connections.values()].map(({ supervisor }) => supervisor), ...this.#closing.keys()]
  }

  /** Lists the connections that may close when idle. */
  #listClosable(): PooledConnection[] {
    const isAlways = this.#deps.spec.idle !== undefined
    return [...this.#connections.values()].filter(({ isKept }) => isAlways || !isKept)
  }

  /** Returns the time since which a connection is idle; undefined while it is needed. */
  #getIdleSince(pooled: PooledConnection): number | undefined {
    const { supervisor, subscriptions, main, openedAt } = pooled
    const { state, connection } = supervisor
    if (subscriptions.isWanted || state === 'starting' || (pooled === this.#main && state !== 'ready')) return undefined
    if (main === undefined && [...this.#connections.values()].some(one => one.main === pooled)) return undefined
    return connection === undefined ? openedAt : connection.use.idleSince
  }

  /** Lists idle connections, the one idle longest first. */
  #listIdle(): PooledConnection[] {
    const idle = this.#listClosable().flatMap(pooled => {
      const since = this.#getIdleSince(pooled)
      return since === undefined ? [] : [{ pooled, since }]
    })
    return idle.sort((a, b) => a.since - b.since).map(({ pooled }) => pooled)
  }

  #closeIdle(pooled: PooledConnection, why: string): void {
    if (pooled !== this.#main) return this.#remove(pooled)
    pooled.context.log.info('upstream idle, stopping until the next call', { why })
    pooled.supervisor.goIdle(why)
  }

  #createEvictable(): EvictableProcesses {
    const find = (): PooledConnection | undefined =>
      this.#listIdle().find(({ supervisor }) => supervisor.connection !== undefined)
    const getIdleSince = (pooled: PooledConnection): number | undefined => this.#getIdleSince(pooled)
    return {
      get idleSince() {
        const pooled = find()
        return pooled && getIdleSince(pooled)
      },
      evict: () => {
        const pooled = find()
        if (pooled !== undefined) this.#closeIdle(pooled, 'process limit reached')
      },
    }
  }

  /** Makes room for a connection. A caller at its limit loses only its own idle connections. */
  #makeRoom(caller: string | undefined): void {
    const { max, perPrincipal } = this.#deps.spec.pool ?? { max: MAX_CONNECTIONS, perPrincipal: MAX_PER_CALLER }
    const all = [...this.#connections.values()].filter(pooled => pooled !== this.#main)
    const own = all.filter(pooled => pooled.caller === caller)
    if (caller !== undefined && own.length >= perPrincipal)
      this.#evict(own, `limit of ${perPrincipal} connections for this caller exceeded`)
    // A closing connection has no client; the limit on all processes still counts it.
    const busy = [...this.#closing.keys()].filter(({ connection }) => connection !== undefined).length
    if (all.length + busy >= max) this.#evict(all, `limit of ${max} client connections exceeded`)
  }

  #evict(among: readonly PooledConnection[], why: string): void {
    const idle = this.#listIdle().find(pooled => among.includes(pooled))
    if (idle !== undefined) return this.#remove(idle)
    throw gatewayError('GW_UPSTREAM_BUSY', { upstream: this.#deps.context.name, why, retryAfterMs: 1000 })
  }

  /** Closes a connection after its last call; its subscriptions continue on the main one. */
  #remove({ key, supervisor, subscriptions, main }: PooledConnection): void {
    this.#connections.delete(key)
    this.#callers.delete(key)
    this.subscriptions.move(subscriptions, main?.subscriptions)
    this.#closing.set(
      supervisor,
      supervisor.stopAfterLastCall().finally(() => this.#closing.delete(supervisor)),
    )
  }
}

interface KeyParts {
  /** Call headers; undefined without a call. */
  readonly headers?: Readonly<Record<string, string>>
  readonly project: string | undefined
  readonly era: 'legacy' | undefined
}

/** True for methods on the main connection: lists, and requests for all sessions. */
function usesMainConnection(method: string): boolean {
  return method === 'logging/setLevel' || METHODS.get(method)?.to === 'list'
}

/** Lower-case header names, as calls carry them. */
function listForwardedHeaders(spec: UpstreamConfig): readonly string[] {
  const names = 'forwardHeaders' in spec ? spec.forwardHeaders : undefined
  return (names ?? []).map(name => name.toLowerCase())
}
