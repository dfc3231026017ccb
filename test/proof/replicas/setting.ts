import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../fixtures/free-port.ts'
import { Redis } from '../../fixtures/redis.ts'
import { LAUNCHER } from '../../peers/gateway.ts'
import { end, startHaproxy } from './balancer.ts'
import { Relay } from './relay.ts'

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

export async function startCluster(count: number): Promise<Cluster> {
  const redis = await Redis.open()
  const key = newKey('a')
  let ring: readonly Key[] = [key]
  const ports: number[] = []
  for (let number = 0; number < count; number++) ports.push(await freePort())
  const make = (port: number): Promise<Replica> => startReplica({ port, redis, keys: ring })
  const replicas = await Promise.all(ports.map(make))
  const balancer = await startHaproxy(ports)
  return {
    redis,
    key,
    url: balancer.url,
    replicas,
    replace: async index => {
      replicas[index]?.relay.close()
      replicas[index] = await make(ports[index] ?? 0)
    },
    withKeys: async keys => {
      ring = keys
      for (const replica of replicas) {
        await configure({ ...replica, keys })
        replica.child.kill('SIGHUP')
        await replica.logged('configuration reloaded')
      }
    },
    end: async () => {
      for (const { child } of replicas) child.kill('SIGCONT')
      await Promise.all(replicas.map(stop))
      await balancer.end()
      await redis.remove()
    },
  }
}

interface Start {
  readonly port: number
  readonly redis: Redis
  readonly keys: readonly Key[]
}

async function configure({
  directory,
  port,
  entrance,
  relay,
  keys,
}: Pick<Replica, 'directory' | 'port' | 'entrance' | 'relay'> & Pick<Start, 'keys'>): Promise<void> {
  const config = {
    version: 1,
    log: { level: 'info' },
    listeners: { main: { type: 'http', port } },
    upstreams: { all: { type: 'stdio', command: process.execPath, args: [SERVER, '--stdio'], prefix: '' } },
    shutdown: { delay: DELAY },
    cluster: { redis: `redis://127.0.0.1:${relay.port}`, keys, listen: `127.0.0.1:${entrance}` },
  }
  await writeFile(join(directory, 'gateway.yaml'), JSON.stringify(config))
}

async function startReplica({ port, redis, keys }: Start): Promise<Replica> {
  const directory = await mkdtemp(join(tmpdir(), 'replica-'))
  const relay = await Relay.open(redis.port)
  const entrance = await freePort()
  await configure({ directory, port, entrance, relay, keys })
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
