import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type * as Client from '@redis/client'
import { type Clock, type Config, reasonOf } from '../../../../src/plugin.ts'
import { hostAndPort } from '../../address.ts'
import { clusterError } from '../../errors.ts'
import type { Reply } from '../store.ts'

export type RedisConfig = NonNullable<Config['cluster']>['redis']

/** The package, once it is loaded. */
export type Library = Pick<typeof Client, 'createClient' | 'createCluster'>

/** One way to Redis, wherever that is now. Nothing waits in it: a command is refused while there is no connection. */
export interface Connection {
  readonly isReady: boolean
  readonly isOpen: boolean
  /** `ready` comes with each connection anew: what was there before may be lost. */
  on(event: 'ready', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  /** Goes on trying until it is closed. */
  connect(): Promise<unknown>
  /** Sends a command to where its first key is. */
  send(key: string, command: string[]): Promise<Reply>
  subscribe(channel: string, heard: (text: string) => void): Promise<void>
  unsubscribe(channel: string): Promise<void>
  /** Another one to the same Redis, which is not open yet. */
  duplicate(): Connection
  destroy(): void
}

/** Means of connections. */
export interface Means {
  readonly library: Library
  readonly clock: Clock
}

/** An address of `cluster.redis`. */
export interface Address {
  readonly host: string
  readonly port: number
}

/** Redis as `cluster.redis` describes it, with its files read. */
export interface Target {
  /** One Redis; absent where it is found by others. */
  readonly url?: string | undefined
  readonly sentinels?: readonly Address[] | undefined
  /** Name that sentinels have for the master. */
  readonly name?: string | undefined
  /** Nodes of a Redis Cluster. */
  readonly nodes?: readonly Address[] | undefined
  readonly login: Login
  readonly sentinelLogin: Login
  readonly database?: number | undefined
  readonly tls?: Tls | undefined
}

export interface Login {
  readonly username?: string
  readonly password?: string
}

export interface Tls {
  readonly tls: true
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly passphrase?: string
}

export const CONNECT_MS = 1000
const LEAST_PAUSE_MS = 100
const MOST_PAUSE_MS = 2000
const MOST_WAITING = 1000

/** Options of every client: it never queues what cannot be sent, as that would be done when nobody wants it any more. */
export const NO_QUEUE = {
  RESP: 2,
  disableOfflineQueue: true,
  commandsQueueMaxLength: MOST_WAITING,
  maintNotifications: 'disabled',
} as const

/** Grows, and is another one each time, so that replicas do not come back all at once. */
export function pauseAfter(retries: number): number {
  const most = Math.min(MOST_PAUSE_MS, LEAST_PAUSE_MS * 2 ** Math.min(retries, 8))
  return most / 2 + (Math.random() * most) / 2
}

/** @throws GatewayError GW_CLUSTER_TLS where a file cannot be read */
export function targetOf(config: RedisConfig, directory: string): Target {
  if (typeof config === 'string') return { url: config, login: {}, sentinelLogin: {} }
  const { url, sentinels, name, nodes, database, username, password } = config
  const { sentinelUsername, sentinelPassword } = config
  return {
    ...{ url, name, database, tls: tlsOf(config, directory) },
    sentinels: sentinels?.map(addressIn),
    nodes: nodes?.map(addressIn),
    login: loginOf(username, password),
    sentinelLogin: loginOf(sentinelUsername, sentinelPassword),
  }
}

function addressIn(text: string): Address {
  return hostAndPort(text) ?? { host: text, port: 0 }
}

function loginOf(username: string | undefined, password: string | undefined): Login {
  return { ...(username === undefined ? {} : { username }), ...(password === undefined ? {} : { password }) }
}

function tlsOf({ tls }: Exclude<RedisConfig, string>, directory: string): Tls | undefined {
  if (tls === undefined || tls === false) return undefined
  if (tls === true) return { tls: true }
  const { ca, cert, key, passphrase } = tls
  const files = { ca, cert, key }
  const texts = Object.entries(files).flatMap(([name, file]) =>
    file === undefined ? [] : [[name, textOf(file, directory)] as const],
  )
  return { tls: true, ...Object.fromEntries(texts), ...(passphrase === undefined ? {} : { passphrase }) }
}

function textOf(file: string, directory: string): string {
  try {
    return readFileSync(resolve(directory, file), 'utf8')
  } catch (cause) {
    throw clusterError('GW_CLUSTER_TLS', { why: `${file} cannot be read (${reasonOf(cause)})`, cause })
  }
}
