import { EventEmitter } from 'node:events'
import type { RedisClientType } from '@redis/client'
import { reasonOf } from '../../../../src/plugin.ts'
import type { Reply } from '../store.ts'
import { type Address, type Connection, CONNECT_MS, type Means, NO_QUEUE, type Target } from './connection.ts'
import { SingleConnection } from './single.ts'

/** Sentinels are asked this often which Redis is the master. */
const LOOK_MS = 1000
/** The same where the master does not answer, or says that it is none. */
const HURRY_MS = 200

/**
 * The way to the Redis that sentinels call the master. The client of the package keeps commands back while one fails over, and
 * sends them late; here they are refused, and who wants to tries again.
 */
export class SentinelConnection extends EventEmitter implements Connection {
  readonly #target: Target
  readonly #means: Means
  readonly #sentinels: Sentinels
  readonly #channels = new Map<string, (text: string) => void>()
  #master: { readonly at: string; readonly connection: SingleConnection } | undefined
  #isMaster = false
  #isOpen = true
  #forget: () => void = () => undefined
  #looking: Promise<void> | undefined

  constructor(target: Target, means: Means) {
    super()
    this.#target = target
    this.#means = means
    this.#sentinels = new Sentinels(target, means)
  }

  get isReady(): boolean {
    return this.#isMaster && this.#master?.connection.isReady === true
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  async connect(): Promise<void> {
    await this.#look()
  }

  async send(key: string, command: string[]): Promise<Reply> {
    const connection = this.#master?.connection
    if (!this.isReady || connection === undefined) throw new Error('there is no master')
    try {
      return await connection.send(key, command)
    } catch (error) {
      if (error instanceof Error && error.message.startsWith('READONLY')) this.#demoted(error)
      throw error
    }
  }

  async subscribe(channel: string, heard: (text: string) => void): Promise<void> {
    this.#channels.set(channel, heard)
    await this.#master?.connection.subscribe(channel, heard)
  }

  async unsubscribe(channel: string): Promise<void> {
    this.#channels.delete(channel)
    await this.#master?.connection.unsubscribe(channel)
  }

  duplicate(): Connection {
    return new SentinelConnection(this.#target, this.#means)
  }

  destroy(): void {
    this.#isOpen = false
    this.#forget()
    this.#sentinels.close()
    this.#master?.connection.destroy()
    this.#master = undefined
  }

  /** Looks for the master now, and again after a while. */
  #look(): Promise<void> {
    this.#forget()
    this.#looking ??= this.#follow()
      .catch((error: unknown) => void this.emit('error', error))
      .finally(() => {
        this.#looking = undefined
        if (!this.#isOpen) return
        this.#forget = this.#means.clock.after(this.isReady ? LOOK_MS : HURRY_MS, () => void this.#look())
      })
    return this.#looking
  }

  async #follow(): Promise<void> {
    const address = await this.#sentinels.master()
    if (!this.#isOpen) return
    const connection = this.#connectionTo(address)
    if (this.#isMaster || !connection.isReady) return
    if (!(await this.#isTheMaster(connection)))
      throw new Error(`${address.host}:${address.port} is not the master yet`)
    if (this.#master?.connection !== connection || !connection.isReady) return
    this.#isMaster = true
    for (const [channel, heard] of this.#channels) await connection.subscribe(channel, heard)
    this.emit('ready')
  }

  #connectionTo(address: Address): SingleConnection {
    const at = `${address.host} ${address.port}`
    if (this.#master?.at === at) return this.#master.connection
    this.#master?.connection.destroy()
    this.#isMaster = false
    const connection = this.#open(address)
    this.#master = { at, connection }
    return connection
  }

  /** One that listens takes no other command, and hears the same from a Redis that is not the master yet. */
  async #isTheMaster(connection: SingleConnection): Promise<boolean> {
    if (this.#channels.size > 0) return true
    const said = await connection.send('', ['ROLE'])
    return Array.isArray(said) && said[0] === 'master'
  }

  #open(address: Address): SingleConnection {
    const connection = new SingleConnection(this.#target, this.#means, address)
    const isCurrent = (): boolean => this.#master?.connection === connection
    connection.on('error', (error: Error) => {
      if (!isCurrent()) return
      this.#isMaster = false
      this.emit('error', error)
    })
    connection.on('ready', () => {
      // What was subscribed on it is subscribed again by the client; who it is now, it is asked.
      this.#isMaster = false
      if (isCurrent()) void this.#look()
    })
    connection.connect().catch(() => undefined)
    return connection
  }

  /** Looks for the master anew: the one that was has become another one's replica. */
  #demoted(error: Error): void {
    this.#isMaster = false
    this.emit('error', error)
    void this.#look()
  }
}

/** The sentinels, of which one is asked as long as it answers. */
class Sentinels {
  readonly #target: Target
  readonly #means: Means
  #asked = 0
  #client: RedisClientType | undefined

  constructor(target: Target, means: Means) {
    this.#target = target
    this.#means = means
  }

  /** Address of the master. Rejects where no sentinel knows it. */
  async master(): Promise<Address> {
    const { sentinels = [], name = '' } = this.#target
    const problems: string[] = []
    for (let tries = 0; tries < sentinels.length; tries++) {
      try {
        return await this.#ask(name)
      } catch (error) {
        const { host, port } = this.#current
        problems.push(`${host}:${port}: ${reasonOf(error)}`)
        this.close()
        this.#asked++
      }
    }
    throw new Error(`no sentinel says who the master is (${problems.join('; ')})`)
  }

  close(): void {
    if (this.#client?.isOpen === true) this.#client.destroy()
    this.#client = undefined
  }

  get #current(): Address {
    const { sentinels = [] } = this.#target
    return sentinels[this.#asked % sentinels.length] ?? { host: '', port: 0 }
  }

  async #ask(name: string): Promise<Address> {
    const client = this.#client ?? (await this.#open())
    let forget = (): void => undefined
    const late = new Promise<never>((_, reject) => {
      forget = this.#means.clock.after(CONNECT_MS, () => reject(new Error('no answer')))
    })
    const asking = client.sendCommand<Reply>(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name])
    asking.catch(() => undefined)
    const said = await Promise.race([asking, late]).finally(() => forget())
    const [host, port] = Array.isArray(said) ? (said as Reply[]) : []
    if (typeof host !== 'string') throw new Error(`it does not know "${name}"`)
    return { host, port: Number(port) }
  }

  async #open(): Promise<RedisClientType> {
    const { sentinelLogin, tls } = this.#target
    const socket = { ...this.#current, ...tls, connectTimeout: CONNECT_MS, reconnectStrategy: false } as const
    const made = this.#means.library.createClient({ ...NO_QUEUE, ...sentinelLogin, socket })
    const client = made as unknown as RedisClientType
    this.#client = client
    client.on('error', () => undefined)
    await client.connect()
    return client
  }
}
