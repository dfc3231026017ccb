import type * as Client from '@redis/client'
import type { RedisClientType } from '@redis/client'
import type { Clock, Config, Log } from '../../../src/plugin.ts'
import { toOneLine } from '../../../src/plugin.ts'
import { clusterError } from '../errors.ts'
import { readPem } from '../tls.ts'

type RedisConfig = NonNullable<Config['cluster']>['redis']

export type RedisReply = string | number | null | readonly RedisReply[]

const CONNECT_MS = 1000
const MIN_PAUSE_MS = 100
const MAX_PAUSE_MS = 2000
const MAX_QUEUED = 1000
const COMMAND_MS = 250
/** Pause after a timeout. */
const PAUSE_MS = 1000
/** Time during which a Redis error is reported and not logged again. */
const REFUSAL_MS = 30_000
const MAX_REFUSAL_LENGTH = 200
/** Matches Redis error replies such as `NOPERM` or `OOM`. A starting or read-only server counts as unavailable. */
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
 * queued, and after a timeout none is sent for one second.
 */
export class RedisStore {
  readonly #client: RedisClientType
  readonly #clock: Clock
  readonly #log: Log
  /** Subscriptions need their own connection, opened by the first one. */
  #subscriber: RedisClientType | undefined
  #refused: { readonly why: string; readonly at: number } | undefined
  #connecting: Promise<void> | undefined
  /** Last failure time without a later answer. */
  #failedAt: number | undefined

  /** @throws GatewayError GW_CLUSTER_PACKAGE, GW_CLUSTER_TLS */
  static async create(deps: RedisStoreDeps): Promise<RedisStore> {
    return new RedisStore(await createClient(deps.redis, deps.directory), deps)
  }

  private constructor(client: RedisClientType, { clock, log }: RedisStoreDeps) {
    this.#client = client
    this.#clock = clock
    this.#log = log
    let wasAway = false
    client.on('error', (error: Error) => {
      if (!wasAway) log.warn('Redis is unavailable', { code: 'GW_CLUSTER_AWAY', why: error.message })
      wasAway = true
    })
    client.on('ready', () => {
      if (wasAway) log.info('Redis is available again')
      wasAway = false
      this.#failedAt = undefined
    })
  }

  get isUp(): boolean {
    return this.#client.isReady && this.#failedAt === undefined
  }

  /** The last error reply from Redis. */
  get refusal(): string | undefined {
    const { why, at = -Infinity } = this.#refused ?? {}
    return this.#clock.now() - at < REFUSAL_MS ? why : undefined
  }

  /** Runs a Lua script. */
  runScript(script: string, keys: readonly string[], args: readonly string[]): Promise<RedisReply> {
    return this.send(['EVAL', script, String(keys.length), ...keys, ...args])
  }

  /** Subscribes to a channel; `missed` is called when messages may have been lost, as while disconnected. */
  subscribe(channel: string, onMessage: (text: string) => void, missed = (): void => undefined): () => void {
    const client = (this.#subscriber ??= this.#openSubscriber())
    const join = (): void => void client.subscribe(channel, onMessage).then(missed, ignoreError)
    client.on('ready', join)
    if (client.isReady) join()
    return () => {
      client.off('ready', join)
      void client.unsubscribe(channel, onMessage).catch(ignoreError)
    }
  }

  #openSubscriber(): RedisClientType {
    const client = this.#client.duplicate().setMaxListeners(0)
    // The main connection reports the error.
    client.on('error', ignoreError)
    void client.connect().catch(ignoreError)
    return client
  }

  close(): void {
    for (const client of [this.#subscriber, this.#client]) if (client?.isOpen === true) client.destroy()
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

  async send(command: string[]): Promise<RedisReply> {
    await this.connect()
    if (!this.#client.isReady) throw createAwayError('not connected')
    if (this.#failedAt !== undefined && this.#clock.now() < this.#failedAt + PAUSE_MS)
      throw createAwayError('paused after a timeout')
    let forget = ignoreError
    const timeout = new Promise<never>((_, reject) => {
      // If this process was busy, first read an answer that has arrived meanwhile.
      const expire = (): void => void setImmediate(reject, createAwayError(`timed out after ${COMMAND_MS} ms`))
      forget = this.#clock.after(COMMAND_MS, expire)
    })
    try {
      const sent = this.#client.sendCommand<RedisReply>(command)
      sent.catch(ignoreError)
      const reply = await Promise.race([sent, timeout])
      this.#failedAt = undefined
      return reply
    } catch (error) {
      // A Redis error reply shows that the server responds.
      if (error instanceof Error && OF_REDIS.test(error.message)) {
        this.#failedAt = undefined
        this.#noteRefusal(error.message)
        throw error
      }
      this.#failedAt = this.#clock.now()
      throw isAwayError(error) ? error : createAwayError(error instanceof Error ? error.message : String(error))
    } finally {
      forget()
    }
  }

  /** Missing permissions and full memory require the owner. */
  #noteRefusal(message: string): void {
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
