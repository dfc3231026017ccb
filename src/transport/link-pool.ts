import type { Call, ClientSide, Clock, Session, UpstreamConfig } from '../core/ports.ts'
import { gatewayError } from '../errors.ts'
import { principalKey } from '../plugin.ts'
import { ALL_CAPABILITIES, neutralCapabilities, toLegacyCapabilities } from '../protocol/era/capabilities.ts'
import type { JsonObject } from '../protocol/jsonrpc.ts'
import { METHODS } from '../protocol/methods.ts'
import type { Link } from './link.ts'
import type { LinkKeeper } from './link-keeper.ts'
import { WarmLinks } from './warm-links.ts'
import { SUBSCRIBE } from './wishes.ts'

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
  /** How long one is kept that nobody uses. */
  readonly idleMs: number
  /** The link of the upstream itself, for lists and for all who need none of their own. */
  readonly main: LinkKeeper
  /** Whether somebody waits for what is said on its link. */
  isWatched(keeper: LinkKeeper): boolean
  /** Makes the keeper of another link, for clients that can be asked for this. */
  keeper(capabilities: JsonObject, also?: LaneOptions): LinkKeeper
}

export interface LaneOptions {
  /** Where its process runs. */
  readonly cwd?: string | undefined
  /** Whether it still waits for its owner; it tries again by itself that long. */
  readonly waits?: (keeper: LinkKeeper) => boolean
}

interface Lane {
  readonly key: string
  readonly keeper: LinkKeeper
  readonly session: string | undefined
  readonly openedAt: number
  takeBackCheck: () => void
}

interface Declared {
  readonly version: string
  readonly fingerprint: string
  readonly capabilities: JsonObject
}

/** The links to one server: one that all share, and more where sessions, callers or capabilities must not mix. */
export class LinkPool {
  readonly #host: PoolHost
  readonly #lanes = new Map<string, Lane>()
  /** On their way out, with the calls that they still have. */
  readonly #leaving = new Map<LinkKeeper, Promise<void>>()
  readonly #declared = new WeakMap<JsonObject, Declared>()
  readonly #warm: WarmLinks

  constructor(host: PoolHost) {
    this.#host = host
    this.#warm = new WarmLinks(host.min, waits => host.keeper(ALL, { waits }))
  }

  /** Whose link a call takes, now that the main one is up. Throws a GatewayError when there are too many. */
  keeperFor({ method, exchange }: Call, main: Link, project?: string): LinkKeeper {
    if (METHODS.get(method)?.to === 'list' || method === SET_LEVEL) return this.#host.main
    const { session } = exchange
    const key = this.#keyOf(session, main, project)
    if (key === undefined) return this.#host.main
    const lane =
      this.#lanes.get(key) ?? (this.#mayOpen(method) ? this.#open(key, session, main, project) : undefined)
    return lane?.keeper ?? this.#host.main
  }

  /** Whose link a session has already, beside the main one. */
  laneOf(session: Session, main: Link, project?: string): LinkKeeper | undefined {
    const key = this.#keyOf(session, main, project)
    return key === undefined ? undefined : this.#lanes.get(key)?.keeper
  }

  /** Who only watches takes nobody's place, and can watch on the main link. */
  #mayOpen(method: string): boolean {
    return method !== SUBSCRIBE || this.#room() > 0
  }

  /** Undefined for who takes the main link. */
  #keyOf(session: Session, main: Link, project: string | undefined): string | undefined {
    if (project === undefined && this.#isShared(main)) return undefined
    const owner = this.#owner(session)
    if (project !== undefined) return JSON.stringify([owner, project])
    return `${owner}\n${this.#declares(session.client, main).fingerprint}`
  }

  /** All links beside the main one that are up. */
  links(): Link[] {
    return this.keepers().flatMap(({ link }) => link ?? [])
  }

  keepers(): LinkKeeper[] {
    const lanes = [...this.#lanes.values()].map(({ keeper }) => keeper)
    return [...lanes, ...this.#leaving.keys(), ...this.#warm.keepers]
  }

  /** Opens ahead what is to be ready for newcomers. */
  fill(): void {
    this.#warm.fill(this.#room())
  }

  /** Takes a new link in the place of this one, if it is here. */
  replace(link: Link, why: string): void {
    for (const { keeper } of this.#lanes.values()) keeper.replace(link, why)
  }

  sessionEnded({ id }: Session): void {
    if (this.#host.isolation !== 'session') return
    for (const lane of this.#lanes.values()) if (lane.session === id) this.#leave(lane)
  }

  /** A link is of no use any more. */
  drop(keeper: LinkKeeper): void {
    for (const lane of this.#lanes.values()) if (lane.keeper === keeper) this.#leave(lane)
  }

  /** Since when the one idle longest has had nothing to do. */
  get idleSince(): number | undefined {
    const [idle] = this.#idle()
    return idle === undefined ? undefined : idleSince(idle)
  }

  /** Ends the link that was idle longest. */
  makeRoom(): boolean {
    const [idle] = this.#idle()
    if (idle !== undefined) this.#leave(idle)
    return idle !== undefined
  }

  /** Lets every link end with its last call. */
  leave(): void {
    for (const lane of this.#lanes.values()) this.#leave(lane)
    for (const keeper of this.#warm.empty()) this.#end(keeper)
  }

  async stop(): Promise<void> {
    this.leave()
    await Promise.all([...this.#leaving.keys()].map(keeper => keeper.stop()))
  }

  /** A modern server on HTTP keeps nothing between requests; one on a pipe has a single process for all who share it. */
  #isShared({ wire, server }: Link): boolean {
    return wire.streams ? server?.era === 'modern' : this.#host.isolation === 'shared'
  }

  #owner(session: Session): string {
    const { isolation } = this.#host
    if (isolation === 'session') return session.id
    return isolation === 'principal' ? principalKey(session.principal) : ''
  }

  /**
   * What `initialize` says for this client. The programs of one caller share a process, whatever each of them can; and a
   * process that was started ahead did not know for whom.
   */
  #declares(client: ClientSide, main: Link): Declared {
    if (!main.wire.streams && (this.#host.isolation !== 'session' || this.#host.min > 0))
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
    return this.#host.max - this.#lanes.size - busy - this.#warm.size
  }

  #open(key: string, session: Session, main: Link, cwd?: string): Lane | undefined {
    const { isolation, clock, idleMs } = this.#host
    if (isolation === 'shared' && cwd === undefined && this.#lanes.size >= MAX_SHARED) return undefined
    const lane: Lane = {
      key,
      keeper: this.#warm.take() ?? this.#fresh(this.#declares(session.client, main).capabilities, cwd),
      session: isolation === 'session' ? session.id : undefined,
      openedAt: clock.now(),
      takeBackCheck: () => undefined,
    }
    this.#lanes.set(key, lane)
    this.#check(lane, idleMs)
    this.fill()
    return lane
  }

  #fresh(capabilities: JsonObject, cwd: string | undefined): LinkKeeper {
    const { name, max, keeper } = this.#host
    if (this.#room() > 0 || this.makeRoom()) return keeper(capabilities, { cwd })
    const why = `${max} clients have connections of their own to it already`
    throw gatewayError('GW_UPSTREAM_DOWN', { upstream: name, why })
  }

  /** Those that nobody uses, the one idle longest first. */
  #idle(): Lane[] {
    const idle = [...this.#lanes.values()].filter(lane => idleSince(lane) !== undefined)
    return idle.sort((a, b) => (idleSince(a) ?? 0) - (idleSince(b) ?? 0))
  }

  #check(lane: Lane, ms: number): void {
    const { clock, idleMs } = this.#host
    lane.takeBackCheck = clock.after(ms, () => {
      const since = idleSince(lane)
      const left = since === undefined ? 0 : since + idleMs - clock.now()
      if (since !== undefined && left <= 0 && !this.#host.isWatched(lane.keeper)) this.#leave(lane)
      else this.#check(lane, Math.max(left, 1000))
    })
  }

  #leave(lane: Lane): void {
    lane.takeBackCheck()
    this.#lanes.delete(lane.key)
    this.#end(lane.keeper)
  }

  #end(keeper: LinkKeeper): void {
    const left = keeper.leave().finally(() => {
      this.#leaving.delete(keeper)
      if (this.#host.main.state === 'ready') this.fill()
    })
    this.#leaving.set(keeper, left)
  }
}

const ALL = toLegacyCapabilities(ALL_CAPABILITIES)
/** What the upstream is told in everybody's name. */
const SET_LEVEL = 'logging/setLevel'

function idleSince({ keeper, openedAt }: Lane): number | undefined {
  if (keeper.state === 'starting') return undefined
  const { link } = keeper
  return link === undefined ? openedAt : link.use.idleSince
}
