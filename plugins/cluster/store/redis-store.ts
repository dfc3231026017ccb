import { createHash } from 'node:crypto'
import { type Clock, type Log, oneLine } from '../../../src/plugin.ts'
import { clusterError } from '../errors.ts'
import { Circuit } from './circuit.ts'
import { type Connection, CONNECT_MS, type RedisConfig } from './connections/connection.ts'
import { connectionTo } from './connections/index.ts'
import { MOST_ENTRY } from './short.ts'
import type { Lua, Reply, Store } from './store.ts'
import { Subscriber } from './subscriber.ts'

const COMMAND_MS = 250
/** Steps in which that time is counted. One for which this process itself was busy counts once, however long it took: Redis may have answered. */
const STEPS = 5
/** Time for which what Redis refused last is shown, and not logged again. */
const REFUSAL_MS = 30_000
const LONGEST_REFUSAL = 200
/** Begins what Redis itself refuses, such as `NOSCRIPT` or `OOM`. One that is starting, or no master, is not there yet. */
const OF_REDIS = /^(?!LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK)[A-Z]+ /

interface RedisOptions {
  readonly redis: RedisConfig
  /** Directory that paths are relative to. */
  readonly directory: string
  readonly clock: Clock
  readonly log: Log
}

/** Redis as the store. Nothing waits for it for long: a command is refused while there is no connection. */
export class RedisStore implements Store {
  readonly #client: Connection
  readonly #circuit: Circuit
  readonly #clock: Clock
  readonly #log: Log
  readonly #shas = new Map<string, string>()
  readonly #subscriber: Subscriber
  #upSince: number | undefined
  #refused: { readonly why: string; readonly at: number } | undefined
  #connecting: Promise<void> | undefined

  /** @throws GatewayError GW_CLUSTER_PACKAGE, GW_CLUSTER_TLS */
  static async make(options: RedisOptions): Promise<RedisStore> {
    const { redis, directory, clock } = options
    return new RedisStore(await connectionTo(redis, directory, clock), options)
  }

  private constructor(client: Connection, { clock, log }: RedisOptions) {
    this.#client = client
    this.#clock = clock
    this.#log = log
    this.#circuit = new Circuit(clock)
    this.#subscriber = new Subscriber(() => client.duplicate())
    let wasAway = false
    client.on('error', (error: Error) => {
      if (!wasAway) log.warn('Redis is away', { code: 'GW_CLUSTER_AWAY', why: error.message })
      wasAway = true
    })
    client.on('ready', () => {
      if (wasAway) log.info('Redis is back')
      wasAway = false
      this.#upSince = clock.now()
      this.#circuit.answered()
    })
  }

  get isUp(): boolean {
    return this.#client.isReady && !this.#circuit.isOpen
  }

  get upSince(): number | undefined {
    return this.#upSince
  }

  get refusal(): string | undefined {
    const { why, at = -Infinity } = this.#refused ?? {}
    return this.#clock.now() - at < REFUSAL_MS ? why : undefined
  }

  async get(key: string): Promise<string | undefined> {
    const reply = await this.#send(key, ['GETRANGE', key, '0', String(MOST_ENTRY)])
    return typeof reply === 'string' && reply !== '' ? reply : undefined
  }

  async run(script: Lua, keys: readonly string[], args: readonly string[]): Promise<Reply> {
    const rest = [String(keys.length), ...keys, ...args]
    const [first = ''] = keys
    try {
      return await this.#send(first, ['EVALSHA', this.#shaOf(script), ...rest])
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
      return this.#send(first, ['EVAL', script.lua, ...rest])
    }
  }

  /** Hears what is published at a channel; `missed` is called whenever something may have been lost. */
  subscribe(channel: string, heard: (text: string) => void, missed = (): void => undefined): () => void {
    return this.#subscriber.add(channel, heard, missed)
  }

  close(): void {
    this.#subscriber.close()
    if (this.#client.isOpen) this.#client.destroy()
  }

  /** Waits a moment for the first connection; without one, the client goes on trying. Whoever asks first begins it. */
  connect(): Promise<void> {
    return (this.#connecting ??= this.#connect())
  }

  async #connect(): Promise<void> {
    const connecting = this.#client.connect().then(
      () => undefined,
      () => undefined,
    )
    let forget = (): void => undefined
    const late = new Promise<void>(resolve => (forget = this.#clock.after(CONNECT_MS, resolve)))
    await Promise.race([connecting, late])
    forget()
  }

  #shaOf({ name, lua }: Lua): string {
    const known = this.#shas.get(name) ?? createHash('sha1').update(lua).digest('hex')
    this.#shas.set(name, known)
    return known
  }

  async #send(key: string, command: string[]): Promise<Reply> {
    if (this.#upSince === undefined) await this.connect()
    if (!this.#client.isReady) throw away('there is no connection')
    if (!this.#circuit.enter()) throw away('it is too slow')
    let forget = (): void => undefined
    const late = new Promise<never>((_, reject) => {
      let left = STEPS
      const step = (): void => {
        if (left-- > 0) forget = this.#clock.after(COMMAND_MS / STEPS, step)
        else reject(away(`no answer in ${COMMAND_MS} ms`))
      }
      step()
    })
    try {
      const sent = this.#client.send(key, command)
      sent.catch(() => undefined)
      const reply = await Promise.race([sent, late])
      this.#circuit.answered()
      return reply
    } catch (error) {
      // An error that Redis itself tells is an answer.
      if (error instanceof Error && OF_REDIS.test(error.message)) {
        this.#circuit.answered()
        this.#noteRefusal(error.message)
        throw error
      }
      this.#circuit.failed()
      // Records that others wanted to write may not be there yet.
      if (this.#upSince !== undefined) this.#upSince = this.#clock.now()
      throw isAway(error) ? error : away(error instanceof Error ? error.message : String(error))
    } finally {
      forget()
    }
  }

  /** Tells the owner: rights that a user has not, and memory that is full, end by themselves never. */
  #noteRefusal(message: string): void {
    if (message.startsWith('NOSCRIPT')) return
    const why = oneLine(message).slice(0, LONGEST_REFUSAL)
    if (this.refusal === undefined) this.#log.warn('Redis refuses what replicas ask of it', { why })
    this.#refused = { why, at: this.#clock.now() }
  }
}

function away(why: string): Error {
  return clusterError('GW_CLUSTER_AWAY', { why })
}

function isAway(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'GW_CLUSTER_AWAY'
}
