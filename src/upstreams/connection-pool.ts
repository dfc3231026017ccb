import type { Call, Clock, Session, UpstreamConfig } from '../api/index.ts'
import { gatewayError } from '../errors/errors.ts'
import { ANONYMOUS, conversationKey, principalKey } from '../plugin.ts'
import { ALL_CAPABILITIES, normalizeCapabilities, toLegacyCapabilities } from '../protocol/era/capabilities.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { METHODS } from '../protocol/methods.ts'
import { IdleSweeper } from '../util/clock.ts'
import { parseDuration } from '../util/units.ts'
import type { Connection } from './connection/connection.ts'
import { SUBSCRIBE } from './subscriptions/client-interest.ts'
import type { Supervisor } from './supervisor.ts'
import type { McpUpstreamConfig } from './transport.ts'

/** Pre-opened connections for future clients; each is used once. */
class WarmConnections {
  readonly #min: number
  readonly #make: (isWaiting: (supervisor: Supervisor) => boolean) => Supervisor
  readonly #waiting = new Set<Supervisor>()

  constructor(min: number, make: (isWaiting: (supervisor: Supervisor) => boolean) => Supervisor) {
    this.#min = min
    this.#make = make
  }

  get size(): number {
    return this.#waiting.size
  }

  get supervisors(): readonly Supervisor[] {
    return [...this.#waiting]
  }

  openMissing(freeSlots: number): void {
    const missing = Math.min(this.#min - this.#waiting.size, freeSlots)
    for (let count = 0; count < missing; count++) {
      const supervisor = this.#make(one => this.#waiting.has(one))
      this.#waiting.add(supervisor)
      void supervisor.start()
    }
  }

  /** Takes a ready connection, or one that is starting; the taker owns it. */
  takeConnection(): Supervisor | undefined {
    const rank = ({ state }: Supervisor): number => (state === 'ready' ? 0 : state === 'starting' ? 1 : 2)
    const [best] = [...this.#waiting].sort((a, b) => rank(a) - rank(b))
    if (best !== undefined) this.#waiting.delete(best)
    return best
  }

  /** Removes and returns all, so that the caller can close them. */
  takeAll(): Supervisor[] {
    const all = [...this.#waiting]
    this.#waiting.clear()
    return all
  }
}

/** Default limit for connections other than the main one. */
const MAX_CONNECTIONS = 64

/** Default limit per caller. */
const MAX_PER_CALLER = 16

/** Time after which an unused connection closes. */
export const CONNECTION_IDLE_MS = 5 * 60_000

/** Limit for connections that differ only in client capabilities. */
const MAX_SHARED = 8

const ANY_CLIENT = '*'

interface PoolDeps {
  readonly name: string
  readonly isolation: UpstreamConfig['isolation']
  readonly clock: Clock
  /** Limit for connections other than the main one, and how many to open ahead. */
  readonly max: number
  readonly min: number
  /** Limit per caller; does not apply to connections without an owner. */
  readonly maxEach: number
  /** Request headers that go upstream; callers that send different values do not share a connection. */
  readonly forwardedHeaders: readonly string[]
  /** Time after which an unused connection closes. */
  readonly idleMs: number
  /** The upstream's main connection, for lists and for calls that need no separate one. */
  main(): Supervisor
  /** True if an idle shared process stops, see `idle`. */
  readonly stopsWhenIdle: boolean
  /** The era for a call or session, if it differs from the main connection's. */
  eraOf(call: Call, main: Connection): 'legacy' | undefined
  eraOfSession(session: Session, main: Connection): 'legacy' | undefined
  isWatched(supervisor: Supervisor): boolean
  /** Creates a supervisor for a connection with these client capabilities. */
  supervisor(capabilities: JsonObject, also?: PoolOptions): Supervisor
}

export interface PoolOptions {
  readonly cwd?: string | undefined
  /** Era to use; undefined for the detected one. */
  readonly era?: 'legacy' | undefined
  /** True while the owner waits for it; it retries on its own until then. */
  readonly isWaitedFor?: (supervisor: Supervisor) => boolean
}

interface PooledConnection {
  readonly key: string
  readonly supervisor: Supervisor
  /** Session that owns it; a connection with a label closes when idle. */
  readonly session: string | undefined
  /** Owning caller, or undefined. */
  readonly caller: string | undefined
  /** True for a shared server's second process: it holds its sessions' state. */
  readonly isKept: boolean
  readonly openedAt: number
}

/** A call's pool key. */
interface ConnectionTraits {
  readonly headers: Headers
  readonly project: string | undefined
  readonly era: 'legacy' | undefined
}

interface DeclaredClient {
  readonly version: string
  readonly fingerprint: string
  readonly capabilities: JsonObject
}

type Headers = Readonly<Record<string, string>>

const NO_HEADERS: Headers = Object.freeze({})

/** Connections to one server: the shared one, and others if sessions, callers or capabilities must not mix. */
export class ConnectionPool {
  readonly #host: PoolDeps
  readonly #pooled = new Map<string, PooledConnection>()
  /** Closing connections with their pending calls. */
  readonly #leaving = new Map<Supervisor, Promise<void>>()
  readonly #declared = new WeakMap<JsonObject, DeclaredClient>()
  readonly #warm: WarmConnections
  readonly #sweeper: IdleSweeper<PooledConnection>

  constructor(host: PoolDeps) {
    this.#host = host
    this.#sweeper = new IdleSweeper(host.clock, {
      idleMs: () => host.idleMs,
      list: () => this.#pooled.values(),
      idleSince: pooled => (pooled.isKept || host.isWatched(pooled.supervisor) ? undefined : getIdleSince(pooled)),
      close: pooled => this.#drainPooled(pooled),
    })
    this.#warm = new WarmConnections(host.min, isWaitedFor => host.supervisor(ALL_LEGACY_CAPABILITIES, { isWaitedFor }))
  }

  /**
   * Finds the supervisor for a call while the main connection is up. Throws a GatewayError if the limit is exceeded.
   * With `of: main`, uses the main connection's era for every caller.
   */
  supervisorFor(call: Call, main: Connection, project?: string, of: 'client' | 'main' = 'client'): Supervisor {
    if (usesMainConnection(call.method)) return this.#host.main()
    const era = of === 'client' ? this.#host.eraOf(call, main) : undefined
    const traits = { headers: call.headers, project, era }
    const key = this.#createPoolKey(call.exchange.session, main, traits)
    if (key === undefined) return this.#host.main()
    const pooled = this.#pooled.get(key) ?? this.#openForCall(key, call, main, traits)
    return pooled?.supervisor ?? this.#host.main()
  }

  /** Returns the pool key for a session's calls, whether or not that connection is open. */
  findPoolKey(session: Session, main: Connection, project?: string): string | undefined {
    // The key depends on call headers, which are unknown without a call.
    if (this.#host.forwardedHeaders.length > 0) return undefined
    const era = this.#host.eraOfSession(session, main)
    return this.#createPoolKey(session, main, { headers: NO_HEADERS, project, era })
  }

  getByKey(poolKey: string | undefined): Supervisor | undefined {
    return poolKey === undefined ? undefined : this.#pooled.get(poolKey)?.supervisor
  }

  /** A subscription opens no connection if the pool is full or the era differs; it uses the main connection. */
  #openForCall(key: string, call: Call, main: Connection, traits: ConnectionTraits): PooledConnection | undefined {
    if (call.method === SUBSCRIBE && (traits.era !== undefined || this.#countFree() <= 0)) return undefined
    return this.#open(key, call.exchange.session, main, traits)
  }

  /** Returns undefined for calls on the main connection. */
  #createPoolKey(session: Session, main: Connection, { headers, project, era }: ConnectionTraits): string | undefined {
    if (project === undefined && era === undefined && this.isShared(main)) return undefined
    const owner = this.#getOwnerKey(session, headers)
    const key =
      project === undefined
        ? `${owner}\n${this.#getDeclaredClient(session, main).fingerprint}`
        : JSON.stringify([owner, project])
    return era === undefined ? key : `${era}\n${key}`
  }

  /** Lists the ready connections other than the main one. */
  listConnections(): Connection[] {
    return this.listSupervisors().flatMap(({ connection }) => connection ?? [])
  }

  listSupervisors(): Supervisor[] {
    const supervisors = [...this.#pooled.values()].map(({ supervisor }) => supervisor)
    return [...supervisors, ...this.#leaving.keys(), ...this.#warm.supervisors]
  }

  /** Opens connections ahead for new clients. */
  openWarm(): void {
    this.#warm.openMissing(this.#countFree())
  }

  /** Replaces this connection if it is in the pool. */
  reconnect(connection: Connection, reason: string): void {
    for (const { supervisor } of this.#pooled.values()) supervisor.reconnect(connection, reason)
  }

  sessionEnded({ id }: Session): void {
    if (this.#host.isolation !== 'session') return
    for (const pooled of this.#pooled.values()) if (pooled.session === id) this.#drainPooled(pooled)
  }

  removeSupervisor(supervisor: Supervisor): void {
    for (const pooled of this.#pooled.values()) if (pooled.supervisor === supervisor) this.#drainPooled(pooled)
  }

  /** Earliest idle start among ready connections. */
  get idleSince(): number | undefined {
    const idle = this.#listIdle().find(isUp)
    return idle === undefined ? undefined : getIdleSince(idle)
  }

  /** Closes the ready connection that was idle longest, with its process. */
  closeIdle(): boolean {
    const idle = this.#listIdle().find(isUp)
    if (idle !== undefined) this.#drainPooled(idle)
    return idle !== undefined
  }

  /** Closes the connection that was idle longest, ready or not. */
  evictIdle(): boolean {
    const [idle] = this.#listIdle()
    if (idle !== undefined) this.#drainPooled(idle)
    return idle !== undefined
  }

  /** Closes every connection after its last call. */
  drainAll(): void {
    for (const pooled of this.#pooled.values()) this.#drainPooled(pooled)
    for (const supervisor of this.#warm.takeAll()) this.#drainSupervisor(supervisor)
  }

  async stop(): Promise<void> {
    this.#sweeper.stop()
    this.drainAll()
    await Promise.all([...this.#leaving.keys()].map(supervisor => supervisor.stop()))
  }

  /** A modern HTTP server has no state between requests; a server on a pipe has one process for all sharers. */
  isShared({ transport, server }: Connection): boolean {
    return transport.streams ? server?.era === 'modern' : this.#host.isolation === 'shared'
  }

  #getOwnerKey(session: Session, headers: Headers): string {
    const { isolation, forwardedHeaders } = this.#host
    const owner = isolation === 'shared' ? '' : getIsolationKey(isolation, session)
    return forwardedHeaders.length === 0
      ? owner
      : JSON.stringify([owner, ...forwardedHeaders.map(name => headers[name] ?? null)])
  }

  /**
   * Returns the client to declare in `initialize`. Programs with the same caller or label share a process, whatever
   * their capabilities; a process opened ahead has no client yet.
   */
  #getDeclaredClient({ client, label }: Session, main: Connection): DeclaredClient {
    const isOfMany = this.#host.isolation === 'session' && label !== undefined
    if (isOfMany || (!main.transport.streams && (this.#host.isolation !== 'session' || this.#host.min > 0)))
      return { version: '', fingerprint: ANY_CLIENT, capabilities: ALL_LEGACY_CAPABILITIES }
    const cached = this.#declared.get(client.capabilities)
    if (cached?.version === client.version) return cached
    const capabilities = toLegacyCapabilities(normalizeCapabilities(client))
    const declared = { version: client.version, fingerprint: JSON.stringify(capabilities), capabilities }
    this.#declared.set(client.capabilities, declared)
    return declared
  }

  #countFree(): number {
    // A closing connection has no client; the limit on all processes still counts it.
    const busy = [...this.#leaving.keys()].filter(({ connection }) => connection !== undefined).length
    return this.#host.max - this.#pooled.size - busy - this.#warm.size
  }

  #open(
    key: string,
    session: Session,
    main: Connection,
    { project: cwd, era }: ConnectionTraits,
  ): PooledConnection | undefined {
    const isShared = this.#host.isolation === 'shared' && cwd === undefined
    if (isShared && this.#pooled.size >= MAX_SHARED) return undefined
    const isKept = isShared && !main.transport.streams && !this.#host.stopsWhenIdle
    if (!isKept) this.#evictIfFull(session)
    const isAhead = era === undefined ? this.#warm.takeConnection() : undefined
    const pooled: PooledConnection = {
      key,
      supervisor: isAhead ?? this.#createSupervisor(this.#getDeclaredClient(session, main).capabilities, { cwd, era }),
      session: this.#getSessionKey(session),
      caller: isKept ? undefined : getCallerKey(session),
      isKept,
      openedAt: this.#host.clock.now(),
    }
    this.#pooled.set(key, pooled)
    this.#sweeper.arm()
    this.openWarm()
    return pooled
  }

  #getSessionKey({ id, label }: Session): string | undefined {
    return this.#host.isolation === 'session' && label === undefined ? id : undefined
  }

  #createSupervisor(capabilities: JsonObject, also: PoolOptions): Supervisor {
    const { name, max, supervisor } = this.#host
    if (this.#countFree() > 0 || this.evictIdle()) return supervisor(capabilities, also)
    const why = `limit of ${max} client connections exceeded`
    throw gatewayError('GW_UPSTREAM_BUSY', { upstream: name, why, retryAfterMs: 1000 })
  }

  /** If a caller exceeds its share, evict only its own idle connections. */
  #evictIfFull(session: Session): void {
    const { name, maxEach } = this.#host
    const caller = getCallerKey(session)
    if (caller === undefined) return
    let count = 0
    for (const pooled of this.#pooled.values()) if (pooled.caller === caller) count++
    if (count < maxEach) return
    const idle = this.#listIdle().find(pooled => pooled.caller === caller)
    if (idle !== undefined) return this.#drainPooled(idle)
    const why = `limit of ${maxEach} connections for this caller exceeded`
    throw gatewayError('GW_UPSTREAM_BUSY', { upstream: name, why, retryAfterMs: 1000 })
  }

  #listIdle(): PooledConnection[] {
    const idle = [...this.#pooled.values()].filter(pooled => !pooled.isKept && getIdleSince(pooled) !== undefined)
    return idle.sort((a, b) => (getIdleSince(a) ?? 0) - (getIdleSince(b) ?? 0))
  }

  #drainPooled(pooled: PooledConnection): void {
    this.#pooled.delete(pooled.key)
    this.#drainSupervisor(pooled.supervisor)
  }

  #drainSupervisor(supervisor: Supervisor): void {
    const stopping = supervisor.stopAfterLastCall().finally(() => {
      this.#leaving.delete(supervisor)
      if (this.#host.main().state === 'ready') this.openWarm()
    })
    this.#leaving.set(supervisor, stopping)
  }
}

/** All client capabilities, as `initialize` declares them. */
export const ALL_LEGACY_CAPABILITIES = toLegacyCapabilities(ALL_CAPABILITIES)

/** True for methods on the main connection: lists, and requests for all sessions. */
export function usesMainConnection(method: string): boolean {
  return method === 'logging/setLevel' || METHODS.get(method)?.to === 'list'
}

function getIsolationKey(isolation: 'session' | 'principal', session: Session): string {
  return isolation === 'session' ? conversationKey(session) : principalKey(session.principal)
}

function getCallerKey({ principal }: Session): string | undefined {
  const key = principalKey(principal)
  return key === principalKey(ANONYMOUS) ? undefined : key
}

function isUp({ supervisor }: PooledConnection): boolean {
  return supervisor.connection !== undefined
}

function getIdleSince({ supervisor, openedAt }: PooledConnection): number | undefined {
  if (supervisor.state === 'starting') return undefined
  const { connection } = supervisor
  return connection === undefined ? openedAt : connection.use.idleSince
}

/** Limits per connection kind. */
interface PoolSizes {
  readonly replicas: number
  readonly min: number
  readonly max: number
  readonly maxEach: number
  readonly idleMs: number | undefined
}

/**
 * Reads the connection limits from a spec; processes can have 0 ahead, other transports 1 and more as clients
 * connect.
 */
export function getPoolSizes(spec: McpUpstreamConfig): PoolSizes {
  const idleMs = spec.idle === undefined ? undefined : parseDuration(spec.idle)
  const {
    min,
    max,
    perPrincipal: maxEach,
  } = spec.pool ?? { min: 0, max: MAX_CONNECTIONS, perPrincipal: MAX_PER_CALLER }
  // The project directory is unknown before the first call.
  const isAhead = spec.isolation !== 'shared' && !isPerProject(spec)
  const hasReplicas = spec.type === 'stdio' && spec.isolation === 'shared' && !isPerProject(spec)
  return {
    replicas: hasReplicas ? spec.replicas : 1,
    min: isAhead ? min : 0,
    max,
    maxEach,
    idleMs,
  }
}

/** Lower-case header names, as calls carry them. */
export function listForwardedHeaders(spec: UpstreamConfig): readonly string[] {
  const names = 'forwardHeaders' in spec ? spec.forwardHeaders : undefined
  return (names ?? []).map(name => name.toLowerCase())
}

/** True if each project gets its own process. */
export function isPerProject(spec: UpstreamConfig): boolean {
  return spec.type === 'stdio' && spec.cwd === 'project'
}

/** Returns the directories that may contain projects. */
export function getAllowedDirectories(spec: UpstreamConfig): readonly string[] | undefined {
  return spec.type === 'stdio' ? spec.projects : undefined
}
