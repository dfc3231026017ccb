import type { Call, Clock, Session, UpstreamConfig } from '../api/index.ts'
import { gatewayError } from '../errors/errors.ts'
import { ANONYMOUS, conversationKey, principalKey } from '../plugin.ts'
import {
  ALL_CAPABILITIES,
  normalizeCapabilities,
  toLegacyCapabilities,
} from '../protocol/era/capabilities.ts'
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

  /** Opens missing connections within the limit. */
  openMissing(room: number): void {
    const missing = Math.min(this.#min - this.#waiting.size, room)
    for (let count = 0; count < missing; count++) {
      const supervisor = this.#make(one => this.#waiting.has(one))
      this.#waiting.add(supervisor)
      void supervisor.start()
    }
  }

  /** One that is up, or else one that is on its way; it belongs to its taker from now on. */
  takeConnection(): Supervisor | undefined {
    const rank = ({ state }: Supervisor): number => (state === 'ready' ? 0 : state === 'starting' ? 1 : 2)
    const [best] = [...this.#waiting].sort((a, b) => rank(a) - rank(b))
    if (best !== undefined) this.#waiting.delete(best)
    return best
  }

  /** Gives all of them away, to be ended. */
  takeAll(): Supervisor[] {
    const all = [...this.#waiting]
    this.#waiting.clear()
    return all
  }
}

/** Connections beside the main one, unless the configuration says otherwise. */
const MAX_CONNECTIONS = 64

/** Most of them for one caller. */
const MAX_PER_CALLER = 16

/** Time after which one that nobody uses is ended. */
export const CONNECTION_IDLE_MS = 5 * 60_000

/** Connections that differ in nothing but what their clients can be asked for. */
const MAX_SHARED = 8

const ANY_CLIENT = '*'

/** Dependencies of a pool: the upstream that it belongs to. */
interface PoolDeps {
  readonly name: string
  readonly isolation: UpstreamConfig['isolation']
  readonly clock: Clock
  /** Connections beside the main one, at most, and how many of them are opened ahead. */
  readonly max: number
  readonly min: number
  /** Most of one caller; those of nobody in particular may be many. */
  readonly maxEach: number
  /** Headers of a caller's requests that go upstream: who sends others shares no connection with him. */
  readonly forwardedHeaders: readonly string[]
  /** Time after which one that nobody uses is ended. */
  readonly idleMs: number
  /** The connection of the upstream itself, for lists and for all who need none of their own. */
  main(): Supervisor
  /** True where a process that all share ends for want of calls, as `idle` says. */
  readonly stopsWhenIdle: boolean
  /** The era of a call, or of a session's calls, where it is not that of the main connection. */
  eraOf(call: Call, main: Connection): 'legacy' | undefined
  eraOfSession(session: Session, main: Connection): 'legacy' | undefined
  /** True if a client waits for notifications on this connection. */
  isWatched(supervisor: Supervisor): boolean
  /** Makes the supervisor of another connection, for clients that can be asked for this. */
  supervisor(capabilities: JsonObject, also?: PoolOptions): Supervisor
}

export interface PoolOptions {
  /** The working directory of its process. */
  readonly cwd?: string | undefined
  /** The era that it speaks; undefined for the one that the server was found to speak. */
  readonly era?: 'legacy' | undefined
  /** True while it waits for its owner; it tries again by itself that long. */
  readonly isWaitedFor?: (supervisor: Supervisor) => boolean
}

interface PooledConnection {
  readonly key: string
  readonly supervisor: Supervisor
  /** The session with which it ends; a labelled one ends when nobody uses it. */
  readonly session: string | undefined
  /** The caller that it belongs to; undefined where nobody in particular has it. */
  readonly caller: string | undefined
  /** True for the second process of a server that all share: it keeps what they did there. */
  readonly isKept: boolean
  readonly openedAt: number
}

/** Place of a call among the connections. */
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

/** The connections to one server: one that all share, and more where sessions, callers or capabilities must not mix. */
export class ConnectionPool {
  readonly #host: PoolDeps
  readonly #pooled = new Map<string, PooledConnection>()
  /** On their way out, with the calls that they still have. */
  readonly #leaving = new Map<Supervisor, Promise<void>>()
  readonly #declared = new WeakMap<JsonObject, DeclaredClient>()
  readonly #warm: WarmConnections
  readonly #sweeper: IdleSweeper<PooledConnection>

  constructor(host: PoolDeps) {
    this.#host = host
    this.#sweeper = new IdleSweeper(host.clock, {
      idleMs: () => host.idleMs,
      list: () => this.#pooled.values(),
      idleSince: pooled =>
        pooled.isKept || host.isWatched(pooled.supervisor) ? undefined : getIdleSince(pooled),
      close: pooled => this.#drainPooled(pooled),
    })
    this.#warm = new WarmConnections(host.min, isWaitedFor =>
      host.supervisor(ALL_LEGACY_CAPABILITIES, { isWaitedFor }),
    )
  }

  /**
   * Finds the supervisor of the connection that a call takes, now that the main one is up. Throws a GatewayError when there are
   * too many. With `of: main` it speaks the era of the main connection, whoever calls.
   */
  supervisorFor(
    call: Call,
    main: Connection,
    project?: string,
    of: 'client' | 'main' = 'client',
  ): Supervisor {
    if (usesMainConnection(call.method)) return this.#host.main()
    const era = of === 'client' ? this.#host.eraOf(call, main) : undefined
    const place = { headers: call.headers, project, era }
    const key = this.#createPoolKey(call.exchange.session, main, place)
    if (key === undefined) return this.#host.main()
    const pooled = this.#pooled.get(key) ?? this.#openForCall(key, call, main, place)
    return pooled?.supervisor ?? this.#host.main()
  }

  /** Place of the connection that the calls of a session take beside the main one, whether it is open or not. */
  findPoolKey(session: Session, main: Connection, project?: string): string | undefined {
    // The headers decide which one that is, and nobody knows them without a call.
    if (this.#host.forwardedHeaders.length > 0) return undefined
    const era = this.#host.eraOfSession(session, main)
    return this.#createPoolKey(session, main, { headers: NO_HEADERS, project, era })
  }

  /** Finds the supervisor of the connection at a place, where there is one. */
  getByKey(place: string | undefined): Supervisor | undefined {
    return place === undefined ? undefined : this.#pooled.get(place)?.supervisor
  }

  /** A subscription alone opens no connection while there is no room, nor one of another era; it uses the main one. */
  #openForCall(
    key: string,
    call: Call,
    main: Connection,
    place: ConnectionTraits,
  ): PooledConnection | undefined {
    if (call.method === SUBSCRIBE && (place.era !== undefined || this.#countFree() <= 0)) return undefined
    return this.#open(key, call.exchange.session, main, place)
  }

  /** Undefined for who takes the main connection. */
  #createPoolKey(
    session: Session,
    main: Connection,
    { headers, project, era }: ConnectionTraits,
  ): string | undefined {
    if (project === undefined && era === undefined && this.isShared(main)) return undefined
    const owner = this.#getOwnerKey(session, headers)
    const key =
      project === undefined
        ? `${owner}\n${this.#getDeclaredClient(session, main).fingerprint}`
        : JSON.stringify([owner, project])
    return era === undefined ? key : `${era}\n${key}`
  }

  /** All connections beside the main one that are up. */
  listConnections(): Connection[] {
    return this.listSupervisors().flatMap(({ connection }) => connection ?? [])
  }

  listSupervisors(): Supervisor[] {
    const supervisors = [...this.#pooled.values()].map(({ supervisor }) => supervisor)
    return [...supervisors, ...this.#leaving.keys(), ...this.#warm.supervisors]
  }

  /** Opens ahead what is to be ready for newcomers. */
  openWarm(): void {
    this.#warm.openMissing(this.#countFree())
  }

  /** Takes a new connection in the place of this one, if it is here. */
  reconnect(connection: Connection, why: string): void {
    for (const { supervisor } of this.#pooled.values()) supervisor.reconnect(connection, why)
  }

  sessionEnded({ id }: Session): void {
    if (this.#host.isolation !== 'session') return
    for (const pooled of this.#pooled.values()) if (pooled.session === id) this.#drainPooled(pooled)
  }

  removeSupervisor(supervisor: Supervisor): void {
    for (const pooled of this.#pooled.values())
      if (pooled.supervisor === supervisor) this.#drainPooled(pooled)
  }

  /** Since when the connection that is up and idle longest has had nothing to do. */
  get idleSince(): number | undefined {
    const idle = this.#listIdle().find(isUp)
    return idle === undefined ? undefined : getIdleSince(idle)
  }

  /** Ends the connection that is up and idle longest, and its process. */
  closeIdle(): boolean {
    const idle = this.#listIdle().find(isUp)
    if (idle !== undefined) this.#drainPooled(idle)
    return idle !== undefined
  }

  /** Ends the connection that was idle longest, up or not. */
  evictIdle(): boolean {
    const [idle] = this.#listIdle()
    if (idle !== undefined) this.#drainPooled(idle)
    return idle !== undefined
  }

  /** Lets every connection end with its last call. */
  drainAll(): void {
    for (const pooled of this.#pooled.values()) this.#drainPooled(pooled)
    for (const supervisor of this.#warm.takeAll()) this.#drainSupervisor(supervisor)
  }

  async stop(): Promise<void> {
    this.#sweeper.stop()
    this.drainAll()
    await Promise.all([...this.#leaving.keys()].map(supervisor => supervisor.stop()))
  }

  /** A modern server on HTTP keeps nothing between requests; one on a pipe has a single process for all who share it. */
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
   * Declares this client in `initialize`. The programs of one caller, or of one label, share a process, whatever each
   * of them can; and a process that was started ahead did not know for whom.
   */
  #getDeclaredClient({ client, label }: Session, main: Connection): DeclaredClient {
    const isOfMany = this.#host.isolation === 'session' && label !== undefined
    if (isOfMany || (!main.transport.streams && (this.#host.isolation !== 'session' || this.#host.min > 0)))
      return { version: '', fingerprint: ANY_CLIENT, capabilities: ALL_LEGACY_CAPABILITIES }
    const known = this.#declared.get(client.capabilities)
    if (known?.version === client.version) return known
    const capabilities = toLegacyCapabilities(normalizeCapabilities(client))
    const declared = { version: client.version, fingerprint: JSON.stringify(capabilities), capabilities }
    this.#declared.set(client.capabilities, declared)
    return declared
  }

  #countFree(): number {
    // A connection that only stops has no client any more; the bound on all processes still counts it.
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
      supervisor:
        isAhead ?? this.#createSupervisor(this.#getDeclaredClient(session, main).capabilities, { cwd, era }),
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
    const why = `${max} clients have connections of their own to it already`
    throw gatewayError('GW_UPSTREAM_BUSY', { upstream: name, why, retryAfterMs: 1000 })
  }

  /** Over its share, a caller's own idle connections are evicted, never those of others. */
  #evictIfFull(session: Session): void {
    const { name, maxEach } = this.#host
    const caller = getCallerKey(session)
    if (caller === undefined) return
    let count = 0
    for (const pooled of this.#pooled.values()) if (pooled.caller === caller) count++
    if (count < maxEach) return
    const idle = this.#listIdle().find(pooled => pooled.caller === caller)
    if (idle !== undefined) return this.#drainPooled(idle)
    const why = `${maxEach} conversations of this caller have connections of their own to it already`
    throw gatewayError('GW_UPSTREAM_BUSY', { upstream: name, why, retryAfterMs: 1000 })
  }

  /** Idle connections, longest idle first. */
  #listIdle(): PooledConnection[] {
    const idle = [...this.#pooled.values()].filter(
      pooled => !pooled.isKept && getIdleSince(pooled) !== undefined,
    )
    return idle.sort((a, b) => (getIdleSince(a) ?? 0) - (getIdleSince(b) ?? 0))
  }

  #drainPooled(pooled: PooledConnection): void {
    this.#pooled.delete(pooled.key)
    this.#drainSupervisor(pooled.supervisor)
  }

  #drainSupervisor(supervisor: Supervisor): void {
    const left = supervisor.stopAfterLastCall().finally(() => {
      this.#leaving.delete(supervisor)
      if (this.#host.main().state === 'ready') this.openWarm()
    })
    this.#leaving.set(supervisor, left)
  }
}

/** All that a client can be asked for, as `initialize` declares it. */
export const ALL_LEGACY_CAPABILITIES = toLegacyCapabilities(ALL_CAPABILITIES)

/** True for methods of the main connection: lists, which are the same everywhere at first, and what is sent in everybody's name. */
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

/** Numbers of connections of each sort. */
interface PoolSizes {
  readonly replicas: number
  readonly min: number
  readonly max: number
  readonly maxEach: number
  readonly idleMs: number | undefined
}

/** Reads the numbers of connections from a spec; all but processes have one, and more as clients come. */
export function getPoolSizes(spec: McpUpstreamConfig): PoolSizes {
  const idleMs = spec.idle === undefined ? undefined : parseDuration(spec.idle)
  const {
    min,
    max,
    perPrincipal: maxEach,
  } = spec.pool ?? { min: 0, max: MAX_CONNECTIONS, perPrincipal: MAX_PER_CALLER }
  // The directory of a project's process is not known ahead.
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

/** Lower case, as calls carry them. */
export function listForwardedHeaders(spec: UpstreamConfig): readonly string[] {
  const names = 'forwardHeaders' in spec ? spec.forwardHeaders : undefined
  return (names ?? []).map(name => name.toLowerCase())
}

/** True where each project has a process of its own. */
export function isPerProject(spec: UpstreamConfig): boolean {
  return spec.type === 'stdio' && spec.cwd === 'project'
}

/** Directories that projects may lie in. */
export function getAllowedDirectories(spec: UpstreamConfig): readonly string[] | undefined {
  return spec.type === 'stdio' ? spec.projects : undefined
}
