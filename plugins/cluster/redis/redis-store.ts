import { createHash } from 'node:crypto'
import type * as Client from '@redis/client'
import type { RedisClientType } from '@redis/client'
import type { Clock, Config, Log } from '../../../src/plugin.ts'
import { toOneLine } from '../../../src/plugin.ts'
import { clusterError } from '../errors.ts'
import { readPem } from '../tls.ts'
import type { Lua } from './scripts.ts'

interface Topic {
  readonly onMessage: (text: string) => void
  readonly missed: () => void
}

/**
 * Pub/sub subscriber with its own connection, opened by the first subscription. Messages are lost while disconnected,
 * so subscribers are notified after a reconnect.
 */
class Subscriber {
  readonly #make: () => RedisClientType
  readonly #channels = new Map<string, Set<Topic>>()
  readonly #subscribed = new Set<string>()
  #client: RedisClientType | undefined

  constructor(make: () => RedisClientType) {
    this.#make = make
  }

  add(channel: string, onMessage: (text: string) => void, missed: () => void): () => void {
    const topic = { onMessage, missed }
    const all = this.#channels.get(channel) ?? new Set()
    this.#channels.set(channel, all.add(topic))
    this.#client ??= this.#open()
    this.#subscribeChannel(channel)
    return () => {
      if (!all.delete(topic) || all.size > 0) return
      this.#channels.delete(channel)
      if (this.#subscribed.delete(channel)) void this.#client?.unsubscribe(channel).catch(() => undefined)
    }
  }

  close(): void {
    this.#channels.clear()
    if (this.#client?.isOpen === true) this.#client.destroy()
    this.#client = undefined
  }

  #open(): RedisClientType {
    const client = this.#make()
    // The main connection reports the error.
    client.on('error', () => undefined)
    client.on('ready', () => {
      for (const [channel, topics] of this.#channels)
        if (this.#subscribed.has(channel)) for (const { missed } of topics) missed()
        else this.#subscribeChannel(channel)
    })
    void client.connect().catch(() => undefined)
    return client
  }

  /** Subscribes once connected; a new connection subscribes to all channels. */
  #subscribeChannel(channel: string): void {
    const client = this.#client
    if (client?.isReady !== true || this.#subscribed.has(channel)) return
    this.#subscribed.add(channel)
    const deliver = (text: string): void => {
      for (const { onMessage } of [...(this.#channels.get(channel) ?? [])]) onMessage(text)
    }
    client.subscribe(channel, deliver).then(
      () => {
        for (const { missed } of [...(this.#channels.get(channel) ?? [])]) missed()
      },
      () => this.#subscribed.delete(channel),
    )
  }
}

type RedisConfig = NonNullable<Config['cluster']>['redis']

export type ScriptReply = string | number | null | readonly ScriptReply[]

const CONNECT_MS = 1000
const MIN_PAUSE_MS = 100
const MAX_PAUSE_MS = 2000
const MAX_QUEUED = 1000
const COMMAND_MS = 250
/** Timeout steps: a blocked event loop counts as one step, however long it takes. */
const STEPS = 5
/** Unanswered commands until the circuit opens. */
const MAX_FAILURES = 3
const OPEN_MS = 1000
/** Time during which a Redis error is reported and not logged again. */
const REFUSAL_MS = 30_000
const MAX_REFUSAL_LENGTH = 200
/** Matches Redis error replies such as `NOSCRIPT` or `OOM`. A starting or read-only server counts as unavailable. */
const OF_REDIS = /^(?!LOADING|READONLY|MASTERDOWN)[A-Z]+ /

interface RedisStoreDeps {
  readonly redis: RedisConfig
  /** Base directory for relative paths. */
  readonly directory: string
  readonly clock: Clock
  readonly log: Log
}

/**
 * Redis client shared by all components. Commands fail fast with GW_CLUSTER_AWAY while Redis is unavailable: none is
 * queued, and three timeouts open the circuit for one second.
 */
export class RedisStore {
  readonly #client: RedisClientType
  readonly #clock: Clock
  readonly #log: Log
  readonly #shas = new Map<Lua, string>()
  readonly #subscriber: Subscriber
  #refused: { readonly why: string; readonly at: number } | undefined
  #connecting: Promise<void> | undefined
  #failures = 0
  #openUntil: number | undefined

  /** @throws GatewayError GW_CLUSTER_PACKAGE, GW_CLUSTER_TLS */
  static async create(deps: RedisStoreDeps): Promise<RedisStore> {
    return new RedisStore(await createClient(deps.redis, deps.directory), deps)
  }

  private constructor(client: RedisClientType, { clock, log }: RedisStoreDeps) {
    this.#client = client
    this.#clock = clock
    this.#log = log
    this.#subscriber = new Subscriber(() => client.duplicate())
    let wasAway = false
    client.on('error', (error: Error) => {
      if (!wasAway) log.warn('Redis is unavailable', { code: 'GW_CLUSTER_AWAY', why: error.message })
      wasAway = true
    })
    client.on('ready', () => {
      if (wasAway) log.info('Redis is available again')
      wasAway = false
      this.#closeCircuit()
    })
  }

  get isUp(): boolean {
    return this.#client.isReady && this.#openUntil === undefined
  }

  /** The last error reply from Redis. */
  get refusal(): string | undefined {
    const { why, at = -Infinity } = this.#refused ?? {}
    return this.#clock.now() - at < REFUSAL_MS ? why : undefined
  }

  async run(script: Lua, keys: readonly string[], args: readonly string[]): Promise<ScriptReply> {
    const rest = [String(keys.length), ...keys, ...args]
    try {
      return await this.#send(['EVALSHA', this.#getSha(script), ...rest])
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
      return this.#send(['EVAL', script.lua, ...rest])
    }
  }

  /** Subscribes to a channel; `missed` is called when messages may have been lost. */
  subscribe(channel: string, onMessage: (text: string) => void, missed = (): void => undefined): () => void {
    return this.#subscriber.add(channel, onMessage, missed)
  }

  close(): void {
    this.#subscriber.close()
    if (this.#client.isOpen) this.#client.destroy()
  }

  /** Waits briefly for the first connection; the client keeps retrying. */
  connect(): Promise<void> {
    return (this.#connecting ??= this.#connect())
  }

  async #connect(): Promise<void> {
    const connecting = this.#client.connect().then(ignoreError, ignoreError)
    let forget = ignoreError
    const timeout = new Promise<void>(resolve => (forget = this.#clock.after(CONNECT_MS, resolve)))
    await Promise.race([connecting, timeout])
    forget()
  }

  #getSha(script: Lua): string {
    const sha = this.#shas.get(script) ?? createHash('sha1').update(script.lua).digest('hex')
    this.#shas.set(script, sha)
    return sha
  }

  async #send(command: string[]): Promise<ScriptReply> {
    await this.connect()
    if (!this.#client.isReady) throw createAwayError('not connected')
    if (!this.#canSend()) throw createAwayError('circuit open after timeouts')
    let forget = ignoreError
    const timeout = new Promise<never>((_, reject) => {
      let remainingSteps = STEPS
      const step = (): void => {
        if (remainingSteps-- > 0) forget = this.#clock.after(COMMAND_MS / STEPS, step)
        else reject(createAwayError(`timed out after ${COMMAND_MS} ms`))
      }
      step()
    })
    try {
      const sent = this.#client.sendCommand<ScriptReply>(command)
      sent.catch(ignoreError)
      const reply = await Promise.race([sent, timeout])
      this.#closeCircuit()
      return reply
    } catch (error) {
      // A Redis error reply shows that the server responds.
      if (error instanceof Error && OF_REDIS.test(error.message)) {
        this.#closeCircuit()
        this.#noteRefusal(error.message)
        throw error
      }
      if (++this.#failures >= MAX_FAILURES) this.#openUntil = this.#clock.now() + OPEN_MS
      throw isAwayError(error) ? error : createAwayError(error instanceof Error ? error.message : String(error))
    } finally {
      forget()
    }
  }

  /** True if the circuit is closed, or half-open after one second: then one command is sent. */
  #canSend(): boolean {
    if (this.#openUntil === undefined) return true
    const now = this.#clock.now()
    if (now < this.#openUntil) return false
    this.#openUntil = now + OPEN_MS
    return true
  }

  #closeCircuit(): void {
    this.#failures = 0
    this.#openUntil = undefined
  }

  /** Missing permissions and full memory require the owner. */
  #noteRefusal(message: string): void {
    if (message.startsWith('NOSCRIPT')) return
    const reason = toOneLine(message).slice(0, MAX_REFUSAL_LENGTH)
    if (this.refusal === undefined) this.#log.warn('Redis rejects commands', { why: reason })
    this.#refused = { why: reason, at: this.#clock.now() }
  }
}

/** @throws GatewayError GW_CLUSTER_PACKAGE, GW_CLUSTER_TLS */
async function createClient(redis: RedisConfig, directory: string): Promise<RedisClientType> {
  const { url, username, password, database, tls } = typeof redis === 'string' ? { url: redis } : redis
  const pem = tls === undefined || tls === false ? {} : readPem(tls === true ? {} : tls, directory)
  const client = (await loadPackage()).createClient({
    ...{ url, username, password, database },
    RESP: 2,
    // A command must fail now instead of running later.
    disableOfflineQueue: true,
    commandsQueueMaxLength: MAX_QUEUED,
    maintNotifications: 'disabled',
    socket: { ...pem, connectTimeout: CONNECT_MS, reconnectStrategy: computeBackoff },
  })
  return client as unknown as RedisClientType
}

async function loadPackage(): Promise<Pick<typeof Client, 'createClient'>> {
  try {
    return await import('@redis/client')
  } catch (cause) {
    throw clusterError('GW_CLUSTER_PACKAGE', { why: cause instanceof Error ? cause.message : '', cause })
  }
}

/** Exponential backoff with jitter, so that replicas do not reconnect simultaneously. */
function computeBackoff(retries: number): number {
  const maxMs = Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** Math.min(retries, 8))
  return maxMs / 2 + (Math.random() * maxMs) / 2
}

function createAwayError(why: string): Error {
  return clusterError('GW_CLUSTER_AWAY', { why })
}

function isAwayError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'GW_CLUSTER_AWAY'
}

function ignoreError(): void {}
