import { EventEmitter } from 'node:events'
import type { RedisClientType } from '@redis/client'
import type { Reply } from '../store.ts'
import {
  type Address,
  type Connection,
  CONNECT_MS,
  type Means,
  NO_QUEUE,
  pauseAfter,
  type Target,
} from './connection.ts'

/** The way to one Redis. */
export class SingleConnection extends EventEmitter implements Connection {
  readonly #target: Target
  readonly #means: Means
  readonly #client: RedisClientType

  /** `at` is its address, where no URL says it. */
  constructor(target: Target, means: Means, at?: Address) {
    super()
    this.#target = target
    this.#means = means
    this.#client = clientOf(target, means, at)
    this.#client.on('error', (error: Error) => this.emit('error', error))
    this.#client.on('ready', () => this.emit('ready'))
  }

  get isReady(): boolean {
    return this.#client.isReady
  }

  get isOpen(): boolean {
    return this.#client.isOpen
  }

  connect(): Promise<unknown> {
    return this.#client.connect()
  }

  send(_key: string, command: string[]): Promise<Reply> {
    return this.#client.sendCommand<Reply>(command)
  }

  subscribe(channel: string, heard: (text: string) => void): Promise<void> {
    return this.#client.subscribe(channel, heard)
  }

  unsubscribe(channel: string): Promise<void> {
    return this.#client.unsubscribe(channel)
  }

  duplicate(): Connection {
    return new SingleConnection(this.#target, this.#means)
  }

  destroy(): void {
    if (this.#client.isOpen) this.#client.destroy()
  }
}

function clientOf(target: Target, { library }: Means, at: Address | undefined): RedisClientType {
  const { url, login, database, tls } = target
  const made = library.createClient({
    ...NO_QUEUE,
    ...login,
    ...(url === undefined ? {} : { url }),
    ...(database === undefined ? {} : { database }),
    socket: { ...at, ...tls, connectTimeout: CONNECT_MS, reconnectStrategy: pauseAfter },
  })
  return made as unknown as RedisClientType
}
