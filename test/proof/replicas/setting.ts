import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../fixtures/free-port.ts'
import { Redis } from '../../fixtures/redis.ts'
import { type Balancer, startHaproxy, startNginx } from './balancers.ts'
import { Relay } from './relay.ts'

const LAUNCHER = fileURLToPath(new URL('../../../bin/run.js', import.meta.url))
const SERVER = fileURLToPath(new URL('../../fixtures/everything.mjs', import.meta.url))
/** Longer than haproxy, and nginx, need to look elsewhere. */
const DELAY = '6s'

export interface Key {
  readonly id: string
  readonly key: string
}

export function newKey(id: string): Key {
  return { id, key: randomBytes(32).toString('base64') }
}

/** One replica, in a process of its own. */
export interface Replica {
  readonly child: ChildProcess
  readonly port: number
  /** Where others hand on to it. */
  readonly entrance: number
  readonly url: string
  readonly directory: string
  /** Its road to Redis. */
  readonly relay: Relay
  logged(message: string): Promise<void>
}

/** Replicas, their Redis and what stands in front of them. */
export interface Cluster {
  readonly redis: Redis
  /** Address of the load balancer. */
  readonly url: string
  readonly replicas: Replica[]
  readonly key: Key
  /** Starts another one in the place of one that has ended. */
  replace(index: number): Promise<void>
  /** Gives all replicas another ring of keys. */
  withKeys(keys: readonly Key[]): Promise<void>
  end(): Promise<void>
}

export interface Setting {
  readonly count: number
  readonly front: 'haproxy' | 'nginx' | 'none'
  /** Servers behind the gateway; by default one with all features, on a pipe. */
  readonly upstreams?: object
  /** More of the configuration. */
  readonly more?: object
  /** Limits of the listener. */
  readonly limits?: object
  /** Says that they are no replicas: without `cluster`. */
  readonly isPlain?: boolean
}

export async function startCluster({ count, front, ...given }: Setting): Promise<Cluster> {
  const redis = await Redis.open()
  const key = newKey('a')
  let ring: readonly Key[] = [key]
  const ports: number[] = []
  for (let number = 0; number < count; number++) ports.push(await freePort())
  const make = (port: number): Promise<Replica> => startReplica({ ...given, port, redis, keys: ring })
  const replicas = await Promise.all(ports.map(make))
  const balancer = await before(front, ports)
  return {
    redis,
    key,
    url: balancer?.url ?? replicas[0]?.url ?? '',
    replicas,
    replace: async index => {
      replicas[index]?.relay.close()
      replicas[index] = await make(ports[index] ?? 0)
    },
    withKeys: async keys => {
      ring = keys
      for (const replica of replicas) {
        await configure(replica.directory, { ...given, ...replica, redis, keys })
        replica.child.kill('SIGHUP')
        await replica.logged('configuration reloaded')
      }
    },
    end: async () => {
      for (const { child } of replicas) child.kill('SIGCONT')
      await Promise.all(replicas.map(stop))
      await balancer?.end()
      await redis.remove()
    },
  }
}

function before(front: Setting['front'], ports: readonly number[]): Promise<Balancer | undefined> {
  if (front === 'none') return Promise.resolve(undefined)
  return front === 'haproxy' ? startHaproxy(ports) : startNginx(ports)
}

interface Start extends Omit<Setting, 'count' | 'front'> {
  readonly port: number
  readonly redis: Redis
  readonly keys: readonly Key[]
}

type Written = Start & Pick<Replica, 'entrance' | 'relay'>

async function configure(
  directory: string,
  { port, entrance, relay, keys, limits = {}, isPlain = false, ...given }: Written,
): Promise<void> {
  const cluster = { redis: `redis://127.0.0.1:${relay.port}`, keys, listen: `127.0.0.1:${entrance}` }
  const config = {
    version: 1,
    log: { level: 'info' },
    listeners: { main: { type: 'http', port, limits } },
    upstreams: given.upstreams ?? {
      all: { type: 'stdio', command: process.execPath, args: [SERVER, '--stdio'], prefix: '' },
    },
    shutdown: { delay: DELAY },
    ...(isPlain ? {} : { cluster }),
    ...given.more,
  }
  await writeFile(join(directory, 'gateway.yaml'), JSON.stringify(config))
}

async function startReplica(start: Start): Promise<Replica> {
  const { port, redis } = start
  const directory = await mkdtemp(join(tmpdir(), 'replica-'))
  const relay = await Relay.open(redis.port)
  const entrance = await freePort()
  await configure(directory, { ...start, entrance, relay })
  const child = spawn(process.execPath, [LAUNCHER, 'serve'], {
    cwd: directory,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const logged = hear(child)
  await logged('serving')
  return { child, port, entrance, relay, directory, logged, url: `http://127.0.0.1:${port}/mcp` }
}

/** Finds lines of its log, each once. */
function hear(child: ChildProcess): Replica['logged'] {
  const lines: string[] = []
  let heard: () => void = () => undefined
  createInterface({ input: child.stderr ?? process.stdin }).on('line', line => {
    lines.push(line)
    if (lines.length > 1000) lines.shift()
    heard()
  })
  return async message => {
    for (;;) {
      const at = lines.findIndex(line => line.includes(`"${message}"`))
      if (at >= 0) return void lines.splice(at, 1)
      if (child.exitCode !== null) throw new Error(`a replica ended with ${child.exitCode}: ${lines.join('\n')}`)
      await new Promise<void>(resolve => {
        heard = resolve
        child.once('exit', () => resolve())
      })
    }
  }
}

async function stop({ child, directory, relay }: Replica): Promise<void> {
  await end(child, 'SIGINT')
  relay.close()
  await rm(directory, { recursive: true, force: true })
}

/** Ends a process; with SIGINT a gateway waits for no load balancer. */
export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}
