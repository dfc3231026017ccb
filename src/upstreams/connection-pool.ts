import type { Call, Clock, Session, UpstreamConfig } from '../api/index.ts'
import { gatewayError } from '../errors/errors.ts'
import { ANONYMOUS, conversationKey, principalKey } from '../plugin.ts'
import { ALL_CAPABILITIES, neutralCapabilities, toLegacyCapabilities } from '../protocol/era/capabilities.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { METHODS } from '../protocol/methods.ts'
import type { Link } from './connection/connection.ts'
import { SUBSCRIBE } from './subscriptions/client-interest.ts'
import type { Supervisor } from './supervisor.ts'
import { WarmLinks } from './warm-connections.ts'

/** Links that differ in nothing but what their clients can be asked for. */
const MAX_SHARED = 8
const EVERYTHING = '*'

/** What a pool needs from its upstream. */
export interface PoolHost {
  readonly name: string
  readonly isolation: UpstreamConfig['isolation']
  readonly clock: Clock
  /** Links beside the main one, at most, and how many of them are opened ahead. */
  readonly max: number
  readonly min: number
  /** How many of one caller; those of nobody in particular may be many. */
  readonly maxEach: number
  /** Headers of a caller's requests that go upstream: who sends others shares no link with him. */
  readonly forwarded: readonly string[]
  /** How long one is kept that nobody uses. */
  readonly idleMs: number
  /** The link of the upstream itself, for lists and for all who need none of their own. */
  readonly main: Supervisor
  /** Whether somebody waits for what is said on its link. */
  isWatched(supervisor: Supervisor): boolean
  /** Makes the supervisor of another link, for clients that can be asked for this. */
  supervisor(capabilities: JsonObject, also?: PoolOptions): Supervisor
}

export interface PoolOptions {
  /** Where its process runs. */
  readonly cwd?: string | undefined
  /** Whether it still waits for its owner; it tries again by itself that long. */
  readonly waits?: (supervisor: Supervisor) => boolean
}

interface PooledConnection {
  readonly key: string
  readonly supervisor: Supervisor
  /** The session with which it ends; a labelled one ends when nobody uses it. */
  readonly session: string | undefined
  /** Whose it is; undefined where nobody in particular has it. */
  readonly caller: string | undefined
  readonly openedAt: number
  takeBackCheck: () => void
}

interface Declared {
  readonly version: string
  readonly fingerprint: string
  readonly capabilities: JsonObject
}

type Headers = Readonly<Record<string, string>>
const NO_HEADERS: Headers = Object.freeze({})

/** The links to one server: one that all share, and more where sessions, callers or capabilities must not mix. */
export class LinkPool {
  readonly #host: PoolHost
  readonly #pooled = new Map<string, PooledConnection>()
  /** On their way out, with the calls that they still have. */
  readonly #leaving = new Map<Supervisor, Promise<void>>()
  readonly #declared = new WeakMap<JsonObject, Declared>()
  readonly #warm: WarmLinks

  constructor(host: PoolHost) {
    this.#host = host
    this.#warm = new WarmLinks(host.min, waits => host.supervisor(ALL, { waits }))
  }

  /** Whose link a call takes, now that the main one is up. Throws a GatewayError when there are too many. */
  supervisorFor({ method, exchange, headers }: Call, main: Link, project?: string): Supervisor {
    if (METHODS.get(method)?.to === 'list' || method === SET_LEVEL) return this.#host.main
    const { session } = exchange
    const key = this.#keyOf(session, headers, main, project)
    if (key === undefined) return this.#host.main
    const pooled =
      this.#pooled.get(key) ?? (this.#mayOpen(method) ? this.#open(key, session, main, project) : undefined)
    return pooled?.supervisor ?? this.#host.main
  }

  /** Whose link a session has already, beside the main one. */
  supervisorOf(session: Session, main: Link, project?: string): Supervisor | undefined {
    // Which one that is depends on headers that nobody knows without a call.
    if (this.#host.forwarded.length > 0) return undefined
    const key = this.#keyOf(session, NO_HEADERS, main, project)
    return key === undefined ? undefined : this.#pooled.get(key)?.supervisor
  }

  /** Who only watches takes nobody's place, and can watch on the main link. */
  #mayOpen(method: string): boolean {
    return method !== SUBSCRIBE || this.#room() > 0
  }

  /** Undefined for who takes the main link. */
  #keyOf(session: Session, headers: Headers, main: Link, project: string | undefined): string | undefined {
    if (project === undefined && this.#isShared(main)) return undefined
    const owner = this.#owner(session, headers)
    if (project !== undefined) return JSON.stringify([owner, project])
    return `${owner}\n${this.#declares(session, main).fingerprint}`
  }

  /** All links beside the main one that are up. */
  links(): Link[] {
    return this.supervisors().flatMap(({ link }) => link ?? [])
  }

  supervisors(): Supervisor[] {
    const supervisors = [...this.#pooled.values()].map(({ supervisor }) => supervisor)
    return [...supervisors, ...this.#leaving.keys(), ...this.#warm.supervisors]
  }

  /** Opens ahead what is to be ready for newcomers. */
  fill(): void {
    this.#warm.fill(this.#room())
  }

  /** Takes a new link in the place of this one, if it is here. */
  replace(link: Link, why: string): void {
    for (const { supervisor } of this.#pooled.values()) supervisor.replace(link, why)
  }

  sessionEnded({ id }: Session): void {
    if (this.#host.isolation !== 'session') return
    for (const pooled of this.#pooled.values()) if (pooled.session === id) this.#leave(pooled)
  }

  /** A link is of no use any more. */
  drop(supervisor: Supervisor): void {
    for (const pooled of this.#pooled.values()) if (pooled.supervisor === supervisor) this.#leave(pooled)
  }

  /** Since when the link that is up and idle longest has had nothing to do. */
  get idleSince(): number | undefined {
    const idle = this.#idle().find(isUp)
    return idle === undefined ? undefined : idleSince(idle)
  }

  /** Ends the link that is up and idle longest, and its process. */
  yield(): boolean {
    const idle = this.#idle().find(isUp)
    if (idle !== undefined) this.#leave(idle)
    return idle !== undefined
  }

  /** Ends the link that was idle longest, up or not. */
  makeRoom(): boolean {
    const [idle] = this.#idle()
    if (idle !== undefined) this.#leave(idle)
    return idle !== undefined
  }

  /** Lets every link end with its last call. */
  leave(): void {
    for (const pooled of this.#pooled.values()) this.#leave(pooled)
    for (const supervisor of this.#warm.empty()) this.#end(supervisor)
  }

  async stop(): Promise<void> {
    this.leave()
    await Promise.all([...this.#leaving.keys()].map(supervisor => supervisor.stop()))
  }

  /** A modern server on HTTP keeps nothing between requests; one on a pipe has a single process for all who share it. */
  #isShared({ wire, server }: Link): boolean {
    return wire.streams ? server?.era === 'modern' : this.#host.isolation === 'shared'
  }

  #owner(session: Session, headers: Headers): string {
    const { isolation, forwarded } = this.#host
    const owner = isolation === 'shared' ? '' : ownerIn(isolation, session)
    return forwarded.length === 0
      ? owner
      : JSON.stringify([owner, ...forwarded.map(name => headers[name] ?? null)])
  }

  /**
   * What `initialize` says for this client. The programs of one caller, or of one label, share a process, whatever each
   * of them can; and a process that was started ahead did not know for whom.
   */
  #declares({ client, label }: Session, main: Link): Declared {
    const isOfMany = this.#host.isolation === 'session' && label !== undefined
    if (isOfMany || (!main.wire.streams && (this.#host.isolation !== 'session' || this.#host.min > 0)))
      return { version: '', fingerprint: EVERYTHING, capabilities: ALL }
    const known = this.#declared.get(client.capabilities)
    if (known?.version === client.version) return known
    const capabilities = toLegacyCapabilities(neutralCapabilities(client))
    const declared = { version: client.version, fingerprint: JSON.stringify(capabilities), capabilities }
    this.#declared.set(client.capabilities, declared)
    return declared
  }

  #room(): number {
    // What only stops has no client any more; the bound on all processes still counts it.
    const busy = [...this.#leaving.keys()].filter(({ link }) => link !== undefined).length
    return this.#host.max - this.#pooled.size - busy - this.#warm.size
  }

  #open(key: string, session: Session, main: Link, cwd?: string): PooledConnection | undefined {
    const { isolation, clock, idleMs } = this.#host
    if (isolation === 'shared' && cwd === undefined && this.#pooled.size >= MAX_SHARED) return undefined
    this.#makeRoomFor(session)
    const pooled: PooledConnection = {
      key,
      supervisor: this.#warm.take() ?? this.#fresh(this.#declares(session, main).capabilities, cwd),
      session: isolation === 'session' && session.label === undefined ? session.id : undefined,
      caller: callerOf(session),
      openedAt: clock.now(),
      takeBackCheck: () => undefined,
    }
    this.#pooled.set(key, pooled)
    this.#check(pooled, idleMs)
    this.fill()
    return pooled
  }

  #fresh(capabilities: JsonObject, cwd: string | undefined): Supervisor {
    const { name, max, supervisor } = this.#host
    if (this.#room() > 0 || this.makeRoom()) return supervisor(capabilities, { cwd })
    const why = `${max} clients have connections of their own to it already`
    throw gatewayError('GW_UPSTREAM_BUSY', { upstream: name, why, retryAfterMs: 1000 })
  }

  /** One caller cannot take the places of all others: beyond his share his own idle ones make room. */
  #makeRoomFor(session: Session): void {
    const { name, maxEach } = this.#host
    const caller = callerOf(session)
    if (caller === undefined) return
    let count = 0
    for (const pooled of this.#pooled.values()) if (pooled.caller === caller) count++
    if (count < maxEach) return
    const idle = this.#idle().find(pooled => pooled.caller === caller)
    if (idle !== undefined) return this.#leave(idle)
    const why = `${maxEach} conversations of this caller have connections of their own to it already`
    throw gatewayError('GW_UPSTREAM_BUSY', { upstream: name, why, retryAfterMs: 1000 })
  }

  /** Those that nobody uses, the one idle longest first. */
  #idle(): PooledConnection[] {
    const idle = [...this.#pooled.values()].filter(pooled => idleSince(pooled) !== undefined)
    return idle.sort((a, b) => (idleSince(a) ?? 0) - (idleSince(b) ?? 0))
  }

  #check(pooled: PooledConnection, ms: number): void {
    const { clock, idleMs } = this.#host
    pooled.takeBackCheck = clock.after(ms, () => {
      const since = idleSince(pooled)
      const left = since === undefined ? 0 : since + idleMs - clock.now()
      if (since !== undefined && left <= 0 && !this.#host.isWatched(pooled.supervisor)) this.#leave(pooled)
      else this.#check(pooled, Math.max(left, 1000))
    })
  }

  #leave(pooled: PooledConnection): void {
    pooled.takeBackCheck()
    this.#pooled.delete(pooled.key)
    this.#end(pooled.supervisor)
  }

  #end(supervisor: Supervisor): void {
    const left = supervisor.leave().finally(() => {
      this.#leaving.delete(supervisor)
      if (this.#host.main.state === 'ready') this.fill()
    })
    this.#leaving.set(supervisor, left)
  }
}

const ALL = toLegacyCapabilities(ALL_CAPABILITIES)
/** What the upstream is told in everybody's name. */
const SET_LEVEL = 'logging/setLevel'

function ownerIn(isolation: 'session' | 'principal', session: Session): string {
  return isolation === 'session' ? conversationKey(session) : principalKey(session.principal)
}

function callerOf({ principal }: Session): string | undefined {
  const key = principalKey(principal)
  return key === principalKey(ANONYMOUS) ? undefined : key
}

function isUp({ supervisor }: PooledConnection): boolean {
  return supervisor.link !== undefined
}

function idleSince({ supervisor, openedAt }: PooledConnection): number | undefined {
  if (supervisor.state === 'starting') return undefined
  const { link } = supervisor
  return link === undefined ? openedAt : link.use.idleSince
}
