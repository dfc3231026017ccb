import { type BesideOthers, canonical, type Clock, type Config, type Log } from '../../src/plugin.ts'
import { hostAndPort, isLoopback } from './address.ts'
import { Directory, type Entry, type Shared } from './directory.ts'
import { Entrance } from './entrance.ts'
import { clusterError } from './errors.ts'
import type { KeptEvents } from './events/kept-events.ts'
import { KeyRing } from './key-ring.ts'
import { storeKeys } from './keys.ts'
import { Replicas } from './neighbours.ts'
import { News } from './news.ts'
import { Replica } from './replica.ts'
import { Sessions } from './sessions.ts'
import type { Store } from './store/store.ts'
import { RedisShared } from './shared/redis-shared.ts'
import { ReplicaTls } from './tls.ts'
import { Vouchers } from './vouchers.ts'

export type ClusterConfig = NonNullable<Config['cluster']>

/** Sections that say where a replica runs, and not what it is. */
const OF_ONE_HOST = new Set(['cluster', 'listeners', 'state', 'log', 'audit'])
/** Longer than others go by what they knew of a replica. */
const HANDOVER_MS = 2000
/** Time for which the entries of other replicas are kept for the owner's findings. */
const LOOK_MS = 10_000

/** Means of the process that a replica runs in. */
interface Means {
  readonly clock: Clock
  readonly log: Log
  readonly version: string
  /** Directory that paths are relative to. */
  readonly directory: string
  /** Absent where events are kept by the owner of their session alone. */
  readonly Events?: typeof KeptEvents | undefined
}

/** A replica of a gateway with all its parts. It lives as long as the process, and reloads change its keys alone. */
export class Cluster {
  readonly ring: KeyRing
  readonly replica: Replica
  readonly directory: Directory
  readonly sessions: Sessions
  readonly neighbours: Replicas
  readonly entrance: Entrance
  readonly store: Store
  /** Store that plugins of all replicas share. */
  readonly shared: RedisShared
  /** Undefined where requests are handed on without. */
  readonly tls: ReplicaTls | undefined
  /** Changes of lists and resources, told to each other. */
  readonly news: News
  /** Events of sessions; undefined where their owner alone keeps them. */
  readonly events: KeptEvents | undefined
  /** True once its last user has stopped it. */
  hasEnded = false
  /** Replicas at the last look, this one among them. */
  others: readonly Entry[] = []
  readonly #options: ClusterConfig
  readonly #clock: Clock
  readonly #version: string
  #config = ''
  #keys: string
  #isStarted = false
  #users = 0
  #forget: (() => void)[] = []

  constructor(
    options: ClusterConfig,
    store: Store,
    { clock, log, version, directory: place, Events }: Means,
  ) {
    this.#options = options
    this.#keys = canonical(options.keys)
    this.#clock = clock
    this.#version = version
    this.store = store
    const ring = new KeyRing(options.name, options.keys)
    const tls = options.tls === undefined ? undefined : new ReplicaTls(options.name, options.tls, place)
    this.tls = tls
    const listeners = new Map<string, BesideOthers>()
    const shared: Shared = { store, ring, clock, keys: storeKeys(options.name) }
    const vouchers = new Vouchers(ring)
    this.ring = ring
    const sharers = (): number => this.others.length
    this.shared = new RedisShared({ name: options.name, store, ring, sharers })
    this.news = new News(this.shared, clock)
    this.directory = new Directory(shared)
    this.replica = new Replica(shared, log, {
      lapsed: () => this.sessions.lookAgain(),
      renamed: old => this.sessions.rename(old),
      renewed: () => void this.sessions.tend(),
    })
    const epochOf = (session: string): number | undefined => this.sessions.epochOf(session)
    const kept = { name: options.name, ring, clock, epochOf }
    this.events = Events === undefined ? undefined : new Events({ ...kept, store })
    const { events } = this
    this.sessions = new Sessions(shared, { log, listeners, events, me: () => this.replica.id })
    const every = (ms: number, run: () => void): (() => void) => this.#every(ms, run)
    const { replica, directory, sessions } = this
    this.neighbours = new Replicas({
      ...{ ring, replica, directory, sessions, events, vouchers, listeners, tls, log, every },
    })
    this.entrance = new Entrance({
      vouchers,
      log,
      listeners,
      tls,
      hostOf: async id => hostAndPort((await directory.find(id)).entry?.address ?? '')?.host,
      isMine: id => replica.is(id),
      arrived: (id, beside) => this.neighbours.arrived(id, beside),
    })
  }

  /** @throws GatewayError GW_CLUSTER_CHANGED where more than its keys is another, GW_CLUSTER_TLS */
  become(options: ClusterConfig, config: Config, directory: string): void {
    if (!isSameBut(this.#options, options)) throw clusterError('GW_CLUSTER_CHANGED')
    if (options.tls !== undefined) this.tls?.become(options.tls, directory)
    if (canonical(options.keys) !== this.#keys) {
      this.sessions.writeAgain()
      this.events?.writeAgain()
    }
    this.#keys = canonical(options.keys)
    this.ring.become(options.keys)
    this.#config = this.ring.digest(canonical(ofAllHosts(config)))
    this.replica.describe({ config: this.#config })
  }

  /** Opens the entrance, and enters the directory. Goes on without Redis where that is away. */
  async start(): Promise<void> {
    this.#users++
    if (this.#isStarted) return
    this.#isStarted = true
    await this.store.connect()
    const address = await this.#enter()
    const started = Date.now()
    await this.replica.start({ address, started, version: this.#version, config: this.#config })
    this.#forget.push(this.#every(LOOK_MS, () => void this.look()))
    this.news.start()
    await this.look()
  }

  /** Opens the entrance. Resolves with the address that others find it at. */
  async #enter(): Promise<string> {
    const options = this.#options
    const bound = await this.entrance.start(hostAndPort(options.listen) ?? { host: '127.0.0.1', port: 0 })
    return options.address ?? bound
  }

  /** The address at which it takes what is handed on where others can listen to that; undefined where nobody can. */
  get plainAddress(): string | undefined {
    const options = this.#options
    if (this.tls !== undefined) return undefined
    const { listen, address = listen } = options
    const isOfMachine = [listen, address].every(one => isLoopback(hostAndPort(one)?.host ?? ''))
    return isOfMachine ? undefined : address
  }

  /** Looks who is there. */
  async look(): Promise<readonly Entry[]> {
    try {
      this.others = await this.directory.list()
    } catch {
      // The known replicas stay until the directory can be read again.
    }
    return this.others
  }

  /** Has others take its sessions shortly before `delayMs` have passed: until then requests may still come here. */
  drain(delayMs: number): void {
    this.#forget.push(this.#clock.after(Math.max(0, delayMs - HANDOVER_MS), () => this.leave()))
  }

  /** Has others take its sessions from now on; what is under way here is answered here. */
  leave(): void {
    this.sessions.leave()
    void this.replica.announceLeave()
  }

  /** Ends with the last generation that uses it. */
  async stop(): Promise<void> {
    if (--this.#users > 0) return
    this.hasEnded = true
    for (const forget of this.#forget) forget()
    this.neighbours.stop()
    this.news.stop()
    await this.replica.leave()
    this.entrance.stop()
    this.store.close()
  }

  /** Ends one that was made and never started, as something else went wrong. */
  closeUnused(): void {
    if (this.#users > 0 || this.hasEnded) return
    this.hasEnded = true
    this.store.close()
  }

  #every(ms: number, run: () => void): () => void {
    let forget = (): void => undefined
    const turn = (): void => {
      forget = this.#clock.after(ms, () => {
        turn()
        run()
      })
    }
    turn()
    return () => forget()
  }
}

/** True where nothing but keys and names of files differs. */
function isSameBut(one: ClusterConfig, other: ClusterConfig): boolean {
  const without = ({ keys: _, ...rest }: ClusterConfig): string =>
    canonical({ ...rest, tls: rest.tls !== undefined })
  return without(one) === without(other)
}

function ofAllHosts(config: Config): Record<string, unknown> {
  return Object.fromEntries(Object.entries(config).filter(([section]) => !OF_ONE_HOST.has(section)))
}
