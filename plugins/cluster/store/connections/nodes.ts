import { EventEmitter } from 'node:events'
import type { RedisClusterType } from '@redis/client'
import type { Reply } from '../store.ts'
import { type Connection, CONNECT_MS, type Means, NO_QUEUE, pauseAfter, type Target } from './connection.ts'

/** A node that moved a slot says where it is; more than that in a row is a cluster that does not know itself. */
const MOST_MOVES = 4
/** A node that is away this long has another one in its place perhaps. */
const LOOK_AGAIN_MS = 500

/** The way to a Redis Cluster: each command goes to the node that has the slot of its key. */
export class NodesConnection extends EventEmitter implements Connection {
  readonly #target: Target
  readonly #means: Means
  readonly #cluster: RedisClusterType
  #isOpen = true

  constructor(target: Target, means: Means) {
    super()
    this.#target = target
    this.#means = means
    this.#cluster = clusterOf(target, means)
    const tell = (error: Error): void => void this.emit('error', error)
    this.#cluster.on('error', tell)
    this.#cluster.on('node-error', tell)
    this.#cluster.on('node-ready', () => this.emit('ready'))
  }

  get isReady(): boolean {
    return this.#cluster.isReady
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  async connect(): Promise<void> {
    for (let tries = 0; this.#isOpen; tries++) {
      try {
        await this.#cluster.connect()
        this.emit('ready')
        return
      } catch {
        // The error was emitted.
        await new Promise<void>(resolve => void this.#means.clock.after(pauseAfter(tries), resolve))
      }
    }
  }

  send(key: string, command: string[]): Promise<Reply> {
    return this.#cluster.sendCommand<Reply>(key, false, command)
  }

  subscribe(channel: string, heard: (text: string) => void): Promise<void> {
    return this.#cluster.subscribe(channel, heard)
  }

  unsubscribe(channel: string): Promise<void> {
    return this.#cluster.unsubscribe(channel)
  }

  duplicate(): Connection {
    return new NodesConnection(this.#target, this.#means)
  }

  destroy(): void {
    this.#isOpen = false
    if (this.#cluster.isOpen) this.#cluster.destroy()
  }
}

function clusterOf({ nodes = [], login, tls }: Target, { library }: Means): RedisClusterType {
  const { RESP, ...own } = NO_QUEUE
  const defaults = {
    ...{ ...own, ...login },
    socket: { ...tls, connectTimeout: CONNECT_MS, reconnectStrategy: pauseAfter },
  }
  const made = library.createCluster({
    RESP,
    rootNodes: nodes.map(({ host, port }) => ({
      ...defaults,
      socket: { ...defaults.socket, host, port, reconnectStrategy: false },
    })),
    defaults,
    maxCommandRedirections: MOST_MOVES,
    topologyRefreshOnReconnectionAttemptStrategy: LOOK_AGAIN_MS,
  })
  return made as unknown as RedisClusterType
}
