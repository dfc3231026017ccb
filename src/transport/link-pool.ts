import type { Call, ClientSide, Clock, Session, UpstreamConfig } from '../core/ports.ts'
import { gatewayError } from '../errors.ts'
import { principalKey } from '../plugin.ts'
import { ALL_CAPABILITIES, neutralCapabilities, toLegacyCapabilities } from '../protocol/era/capabilities.ts'
import type { JsonObject } from '../protocol/jsonrpc.ts'
import { METHODS } from '../protocol/methods.ts'
import type { Link } from './link.ts'
import type { LinkKeeper } from './link-keeper.ts'

/** Links beside the main one. */
const MAX_LINKS = 64
/** Links that differ in nothing but what their clients can be asked for. */
const MAX_SHARED = 8
const IDLE_MS = 5 * 60_000
const EVERYTHING = '*'

/** What a pool needs from its upstream. */
export interface PoolHost {
  readonly name: string
  readonly isolation: UpstreamConfig['isolation']
  readonly clock: Clock
  /** The link of the upstream itself, for lists and for all who need none of their own. */
  readonly main: LinkKeeper
  /** Makes the keeper of another link, for clients that can be asked for this. */
  keeper(capabilities: JsonObject): LinkKeeper
}

interface Lane {
  readonly key: string
  readonly keeper: LinkKeeper
  readonly session: string | undefined
  usedAt: number
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

  constructor(host: PoolHost) {
    this.#host = host
  }

  /** Whose link a call takes, now that the main one is up. Throws a GatewayError when there are too many. */
  keeperFor({ method, exchange }: Call, main: Link): LinkKeeper {
    if (this.#isShared(main) || METHODS.get(method)?.to === 'list' || OWN.has(method)) return this.#host.main
    const { fingerprint, capabilities } = this.#declares(exchange.session.client, main)
    const key = `${this.#owner(exchange.session)}\n${fingerprint}`
    const lane = this.#lanes.get(key) ?? this.#open(key, capabilities, exchange.session)
    if (lane === undefined) return this.#host.main
    lane.usedAt = this.#host.clock.now()
    return lane.keeper
  }

  /** All links that are up. */
  links(): Link[] {
    return [this.#host.main, ...[...this.#lanes.values()].map(({ keeper }) => keeper)].flatMap(
      ({ link }) => link ?? [],
    )
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

  /** Lets every link end with its last call. */
  leave(): void {
    for (const lane of this.#lanes.values()) this.#leave(lane)
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

  /** What `initialize` says for this client. The programs of one caller share a process, whatever each of them can. */
  #declares(client: ClientSide, main: Link): Declared {
    if (!main.wire.streams && this.#host.isolation === 'principal')
      return { version: '', fingerprint: EVERYTHING, capabilities: ALL }
    const known = this.#declared.get(client.capabilities)
    if (known?.version === client.version) return known
    const capabilities = toLegacyCapabilities(neutralCapabilities(client))
    const declared = { version: client.version, fingerprint: JSON.stringify(capabilities), capabilities }
    this.#declared.set(client.capabilities, declared)
    return declared
  }

  #open(key: string, capabilities: JsonObject, session: Session): Lane | undefined {
    const { name, isolation, clock } = this.#host
    if (isolation === 'shared' && this.#lanes.size >= MAX_SHARED) return undefined
    if (this.#lanes.size + this.#leaving.size >= MAX_LINKS && !this.#makeRoom()) {
      const why = `${MAX_LINKS} clients have connections of their own to it already`
      throw gatewayError('GW_UPSTREAM_DOWN', { upstream: name, why })
    }
    const lane: Lane = {
      key,
      keeper: this.#host.keeper(capabilities),
      session: isolation === 'session' ? session.id : undefined,
      usedAt: clock.now(),
      takeBackCheck: () => undefined,
    }
    this.#lanes.set(key, lane)
    this.#check(lane, IDLE_MS)
    return lane
  }

  /** Ends the link that was idle longest. */
  #makeRoom(): boolean {
    const idle = [...this.#lanes.values()].filter(isIdle).sort((a, b) => a.usedAt - b.usedAt)
    if (idle[0] === undefined) return false
    this.#leave(idle[0])
    return true
  }

  #check(lane: Lane, ms: number): void {
    const { clock } = this.#host
    lane.takeBackCheck = clock.after(ms, () => {
      const idleMs = clock.now() - lane.usedAt
      if (idleMs >= IDLE_MS && isIdle(lane)) this.#leave(lane)
      else this.#check(lane, Math.max(IDLE_MS - idleMs, 1000))
    })
  }

  #leave(lane: Lane): void {
    lane.takeBackCheck()
    this.#lanes.delete(lane.key)
    const left = lane.keeper.leave().finally(() => this.#leaving.delete(lane.keeper))
    this.#leaving.set(lane.keeper, left)
  }
}

const ALL = toLegacyCapabilities(ALL_CAPABILITIES)
/** What the upstream is asked for in everybody's name. */
const OWN: ReadonlySet<string> = new Set(['resources/subscribe', 'resources/unsubscribe', 'logging/setLevel'])

function isIdle({ keeper }: Lane): boolean {
  return keeper.state !== 'starting' && keeper.link?.isBusy !== true
}
