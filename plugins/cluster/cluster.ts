import { join } from 'node:path'
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
import type { SharingStore, Store } from './store/store.ts'
import { RedisShared } from './shared/redis-shared.ts'
import { ReplicaTls } from './tls.ts'
import { Vouchers } from './vouchers.ts'

export type ClusterConfig = NonNullable<Config['cluster']>

/** Options of replicas that are processes of one machine, which no file has. */
export interface HostOptions {
  readonly name: string
  readonly keys: ClusterConfig['keys']
  /** Directory of the sockets at which they hand on to each other. */
  readonly sockets: string
}

/** True where the memory of the process that started them is what the replicas share. */
export function isOfHost(options: ClusterConfig | HostOptions): options is HostOptions {
  return 'sockets' in options
}

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
  /** Store that plugins of all replicas share; undefined where it is the memory of the process that started them. */
  readonly shared: RedisShared | undefined
  /** Undefined where requests are handed on without. */
  readonly tls: ReplicaTls | undefined
  /** Changes of lists and resources, told to each other; undefined where processes of one machine hear enough by themselves. */
  readonly news: News | undefined
  /** Events of sessions; undefined where their owner alone keeps them. */
  readonly events: KeptEvents | undefined
  /** True once its last user has stopped it. */
  hasEnded = false
  /** Replicas at the last look, this one among them. */
  others: readonly Entry[] = []
  readonly #options: ClusterConfig | HostOptions
  readonly #clock: Clock
  readonly #version: string
  #config = ''
  #keys: string
  #isStarted = false
  #users = 0
  #forget: (() => void)[] = []

  constructor(
    options: ClusterConfig | HostOptions,
    store: Store,
    { clock, log, version, directory: place, Events }: Means,
  ) {
    this.#options = options
    this.#keys = canonical(options.keys)
    this.#clock = clock
    this.#version = version
    this.store = store
    const ring = new KeyRing(options.name, options.keys)
    const files = tlsOf(options)
    const tls = files === undefined ? undefined : new ReplicaTls(options.name, files, place)
    this.tls = tls
    const listeners = new Map<string, BesideOthers>()
    const shared: Shared = { store, ring, clock, keys: storeKeys(options.name) }
    const vouchers = new Vouchers(ring)
    this.ring = ring
    const sharers = (): number => this.others.length
    this.shared = isSharing(store) ? new RedisShared({ name: options.name, store, ring, sharers }) : undefined
    this.news = this.shared === undefined ? undefined : new News(this.shared, clock)
    this.directory = new Directory(shared)
    this.replica = new Replica(shared, log, {
      lapsed: () => this.sessions.lookAgain(),
      renamed: old => this.sessions.rename(old),
      renewed: () => void this.sessions.tend(),
    })
    const epochOf = (session: string): number | undefined => this.sessions.epochOf(session)
    const kept = { name: options.name, ring, clock, epochOf }
    this.events = isSharing(store) && Events !== undefined ? new Events({ ...kept, store }) : undefined
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
      serveWork: () => this.neighbours.serveWork,
      clock,
    })
  }

  /** @throws GatewayError GW_CLUSTER_CHANGED where more than its keys is another, GW_CLUSTER_TLS */
  become(options: ClusterConfig | HostOptions, config: Config, directory: string): void {
    if (!isSameBut(this.#options, options)) throw clusterError('GW_CLUSTER_CHANGED')
    const tls = tlsOf(options)
    if (tls !== undefined) this.tls?.become(tls, directory)
    if (canonical(options.keys) !== this.#keys) {
      this.sessions.writeAgain()
      this.events?.writeAgain()
    }
    this.#keys = canonical(options.keys)
    this.ring.become(options.keys)
    this.#config = this.ring.digest(canonical(ofAllHosts(config)))
    this.replica.describe({ config: this.#config })
  }

  /** Opens the entrance, and enters the directory, where it is a replica. Goes on without Redis where that is away. */
  async start(isReplica: boolean): Promise<void> {
    this.#users++
    if (this.#isStarted) return
    this.#isStarted = true
    await this.store.connect()
    if (isReplica) {
      const address = await this.#enter()
      const started = Date.now()
      await this.replica.start({ address, started, version: this.#version, config: this.#config })
    }
    this.#forget.push(this.#every(LOOK_MS, () => void this.look()))
    if (isReplica) this.news?.start()
    await this.look()
  }

  /** Opens the entrance. Resolves with the address that others find it at. */
  async #enter(): Promise<string> {
    const options = this.#options
    if (isOfHost(options)) return this.entrance.start({ path: join(options.sockets, this.replica.id) })
    const bound = await this.entrance.start(hostAndPort(options.listen) ?? { host: '127.0.0.1', port: 0 })
    return options.address ?? bound
  }

  /** True where the replicas are processes of one machine. */
  get isOfHost(): boolean {
    return isOfHost(this.#options)
  }

  /** The address at which it takes what is handed on where others can listen to that; undefined where nobody can. */
  get plainAddress(): string | undefined {
    const options = this.#options
    if (isOfHost(options) || this.tls !== undefined) return undefined
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
    this.news?.stop()
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

function isSharing(store: Store): store is SharingStore {
  return 'subscribe' in store
}

/** True where nothing but keys and names of files differs. */
function isSameBut(one: ClusterConfig | HostOptions, other: ClusterConfig | HostOptions): boolean {
  const without = ({ keys: _, ...rest }: ClusterConfig | HostOptions): string =>
    canonical({ ...rest, tls: tlsOf(rest) !== undefined })
  return without(one) === without(other)
}

/** Between processes of one machine nobody listens. */
function tlsOf(options: object): ClusterConfig['tls'] {
  return 'tls' in options ? (options as ClusterConfig).tls : undefined
}

function ofAllHosts(config: Config): Record<string, unknown> {
  return Object.fromEntries(Object.entries(config).filter(([section]) => !OF_ONE_HOST.has(section)))
}
