import { createHash } from 'node:crypto'
import type { Clock, Config, Log, PeerDirectory, Refusal, SharedStore } from '../../src/plugin.ts'
import { RPC, canonicalizeJson, gatewayError, getErrorMessage, readText } from '../../src/plugin.ts'
import { formatAddress, isLoopback, parseAddress } from './host-port.ts'
import type { LiveReplica, ReplicaEntry } from './replica-directory.ts'
import { ReplicaDirectory } from './replica-directory.ts'
import { PeerServer } from './peer-server.ts'
import { clusterError } from './errors.ts'
import { KeyRing } from './key-ring.ts'
import { ChangeFeed } from './change-feed.ts'
import type { RedisReply, RedisStore } from './redis/redis-store.ts'
import { ReplicaTls } from './tls.ts'
import type { ServeForwarded } from './vouchers.ts'
import { Vouchers } from './vouchers.ts'
import { COUNT, DELETE, REPLACE } from './redis/scripts.ts'

const LATER: Refusal = {
  status: 503,
  error: {
    code: RPC.internal,
    message: 'The replica that owns the session is unavailable; retry later',
    data: { code: 'GW_CLUSTER_AWAY' },
  },
  headers: { 'retry-after': '1' },
}

export type ClusterConfig = NonNullable<Config['cluster']>

/** Sections that may differ between replicas. */
const OF_ONE_HOST = new Set(['cluster', 'listeners', 'state', 'log', 'audit'])

interface ClusterDeps {
  readonly clock: Clock
  readonly log: Log
  readonly version: string
  /** Base directory for relative paths. */
  readonly directory: string
}

/** One replica with its components. Lives as long as the process; reloads change only keys and certificates. */
export class Cluster implements PeerDirectory {
  readonly store: RedisStore
  readonly directory: ReplicaDirectory
  readonly peerServer: PeerServer
  /** Storage shared between all replicas. */
  readonly shared: RedisShared
  readonly changeFeed: ChangeFeed
  readonly sealing: PeerDirectory['sealing']
  /** Requests forwarded to peers. */
  forwarded = 0
  /** True once the last user has stopped it. */
  hasEnded = false
  readonly #ring: KeyRing
  readonly #vouchers: Vouchers
  readonly #listeners = new Map<string, ServeForwarded>()
  readonly #tls: ReplicaTls | undefined
  readonly #options: ClusterConfig
  readonly #version: string
  #config = ''
  #isStarted = false
  #users = 0

  /** @throws GatewayError GW_CLUSTER_TLS, GW_CLUSTER_KEY */
  constructor(options: ClusterConfig, store: RedisStore, { clock, log, version, directory: path }: ClusterDeps) {
    const { name } = options
    this.#options = options
    this.#version = version
    this.store = store
    const ring = (this.#ring = new KeyRing(name, options.keys))
    const tls = (this.#tls = options.tls && new ReplicaTls(name, options.tls, path))
    const listeners = this.#listeners
    const vouchers = (this.#vouchers = new Vouchers(ring))
    const directory = (this.directory = new ReplicaDirectory({ name, store, ring, clock }))
    this.shared = new RedisShared({ name, store, ring, sharers: () => directory.entries.length })
    this.changeFeed = new ChangeFeed(this.shared, clock)
    this.sealing = {
      get keys() {
        return ring.deriveKeys('seal')
      },
      replicaId: directory.id,
    }
    this.peerServer = new PeerServer({ vouchers, log, listeners, tls, id: directory.id })
  }

  /** @throws GatewayError GW_CLUSTER_CHANGED if more than keys or certificates changed, GW_CLUSTER_TLS */
  configure(options: ClusterConfig, config: Config, directory: string): void {
    if (!isSameButKeys(this.#options, options)) throw clusterError('GW_CLUSTER_CHANGED')
    if (options.tls !== undefined) this.#tls?.reload(options.tls, directory)
    this.#ring.setKeys(options.keys)
    this.#config = this.#ring.digest(canonicalizeJson(pickSharedConfig(config)))
    this.directory.updateSelf({ config: this.#config })
  }

  /** Starts the peer server and joins the directory. Continues if Redis is unavailable. */
  async start(): Promise<void> {
    this.#users++
    if (this.#isStarted) return
    this.#isStarted = true
    await this.store.connect()
    const { listen, address } = this.#options
    const bound = await this.peerServer.start(parseAddress(listen) ?? { host: '127.0.0.1', port: 0 })
    const self = { address: address ?? formatAddress(bound), version: this.#version, config: this.#config }
    await this.directory.start({ ...self, started: Date.now() })
    this.changeFeed.start()
  }

  /** Returns the non-loopback address that accepts requests without TLS; undefined if there is none. */
  get plainAddress(): string | undefined {
    const { listen, address = listen } = this.#options
    if (this.#tls !== undefined) return undefined
    const isLocal = [listen, address].every(one => isLoopback(parseAddress(one)?.host ?? ''))
    return isLocal ? undefined : address
  }

  get replicas(): readonly ReplicaEntry[] {
    return this.directory.entries
  }

  listReplicas(): Promise<readonly ReplicaEntry[]> {
    return this.directory.refresh()
  }

  createSessionId(): string {
    return this.#ring.newId(`${this.directory.id}_`)
  }

  registerListener(listener: string, serve: ServeForwarded): void {
    this.#listeners.set(listener, serve)
  }

  findPeer(replicaId: string, session?: string): ReturnType<PeerDirectory['findPeer']> {
    const { directory } = this
    if (replicaId === directory.id) return 'here'
    // A forged id needs no Redis lookup.
    if (session !== undefined && !this.#ring.isOurs(session)) return 'here'
    const knownReplica = directory.getKnown(replicaId)
    if (knownReplica !== undefined) return this.#createPeer(knownReplica)
    return directory.find(replicaId).then(
      replica => (replica === undefined ? 'here' : this.#createPeer(replica)),
      () => LATER,
    )
  }

  #createPeer({
    entry,
    address,
    deathSignal,
  }: LiveReplica): Exclude<Awaited<ReturnType<PeerDirectory['findPeer']>>, 'here' | Refusal> {
    this.forwarded++
    return {
      ...{ address, deathSignal, tls: this.#tls?.options },
      signForwarded: (request, handed) => this.#vouchers.issue(request, handed, entry.id),
    }
  }

  /** Stops when the last generation is stopped; one that was `unused` because of another failure never started it. */
  async stop(wasUsed: boolean): Promise<void> {
    if (wasUsed) this.#users--
    if (this.#users > 0 || this.hasEnded) return
    this.hasEnded = true
    this.changeFeed.stop()
    if (this.#isStarted) await this.directory.leave()
    this.peerServer.stop()
    this.store.close()
  }
}

/** True if only keys and file names differ. */
function isSameButKeys(one: ClusterConfig, other: ClusterConfig): boolean {
  const without = ({ keys: _, ...rest }: ClusterConfig): string =>
    canonicalizeJson({ ...rest, tls: rest.tls !== undefined })
  return without(one) === without(other)
}

function pickSharedConfig(config: Config): Record<string, unknown> {
  return Object.fromEntries(Object.entries(config).filter(([section]) => !OF_ONE_HOST.has(section)))
}

/** Key namespaces. */
type KeyKind = 'value' | 'count' | 'topic'

const HASH_BYTES = 18

interface RedisSharedDeps {
  readonly name: string
  readonly store: RedisStore
  readonly ring: KeyRing
  /** Returns the replica count. */
  readonly sharers: () => number
}

/** Shared store on Redis. Key names are digests. */
export class RedisShared implements SharedStore {
  readonly #options: RedisSharedDeps

  constructor(options: RedisSharedDeps) {
    this.#options = options
  }

  get isUp(): boolean {
    return this.#options.store.isUp
  }

  get processCount(): number {
    return this.#options.sharers()
  }

  async get(key: string): Promise<string | undefined> {
    return readText(await this.#send('GET', this.#buildKey('value', key)))
  }

  async put(key: string, value: string, { expiresInMs, when }: Parameters<SharedStore['put']>[2]): Promise<boolean> {
    const name = this.#buildKey('value', key)
    if (typeof when === 'object') return (await this.#run(REPLACE, name, value, expiresInMs, when.is)) === 1
    const condition = when === 'absent' ? ['NX'] : []
    return (await this.#send('SET', name, value, 'PX', expiresInMs, ...condition)) !== null
  }

  async take(key: string): Promise<string | undefined> {
    return readText(await this.#send('GETDEL', this.#buildKey('value', key)))
  }

  async delete(key: string, is?: string): Promise<boolean> {
    const name = this.#buildKey('value', key)
    return (is === undefined ? await this.#send('DEL', name) : await this.#run(DELETE, name, is)) === 1
  }

  async addToCounter(
    key: string,
    { delta, expiresInMs, max = -1, initial = 0 }: Parameters<SharedStore['addToCounter']>[1],
  ): ReturnType<SharedStore['addToCounter']> {
    const reply = await this.#run(COUNT, this.#buildKey('count', key), delta, expiresInMs, max, initial)
    const [added = 0, total = 0] = (Array.isArray(reply) ? reply : []).map(Number)
    return { added, total }
  }

  async publish(topic: string, text: string): Promise<void> {
    await this.#send('PUBLISH', this.#buildKey('topic', topic), text)
  }

  subscribe(topic: string, onMessage: (text: string) => void, missed?: () => void): () => void {
    return this.#options.store.subscribe(this.#buildKey('topic', topic), onMessage, missed)
  }

  seal(text: string, boundTo: string): string {
    return this.#options.ring.seal('shared', text, boundTo)
  }

  open(sealed: string, boundTo: string): string | undefined {
    return readText(this.#options.ring.open('shared', sealed, boundTo))
  }

  #run(script: string, key: string, ...args: (string | number)[]): Promise<RedisReply> {
    return this.#send('EVAL', script, 1, key, ...args)
  }

  async #send(...command: (string | number)[]): Promise<RedisReply> {
    try {
      return await this.#options.store.send(command.map(String))
    } catch (cause) {
      throw gatewayError('GW_SHARED_AWAY', { why: getErrorMessage(cause), cause })
    }
  }

  #buildKey(sort: KeyKind, key: string): string {
    const hash = createHash('sha256').update(key).digest().subarray(0, HASH_BYTES).toString('base64url')
    return `tg:${this.#options.name}:${sort}:${hash}`
  }
}
