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

const LAUNCHER = fileURLToPath(new URL('../../../bin/run.js', import.meta.url))
const SERVER = fileURLToPath(new URL('../../fixtures/everything.ts', import.meta.url))
const KEY = randomBytes(32).toString('base64')

/** One replica, in a process of its own. */
export interface Replica {
  readonly child: ChildProcess
  readonly port: number
  readonly url: string
  readonly directory: string
}

/** Replicas, their Redis and what stands in front of them. */
export interface Cluster {
  readonly redis: Redis
  /** Address of the load balancer. */
  readonly url: string
  readonly replicas: Replica[]
  /** Starts another one in the place of one that has ended. */
  replace(index: number): Promise<void>
  end(): Promise<void>
}

export async function startCluster(count: number): Promise<Cluster> {
  const redis = await Redis.open()
  const ports: number[] = []
  for (let number = 0; number < count; number++) ports.push(await freePort())
  const replicas = await Promise.all(ports.map(port => startReplica(redis, port)))
  const front = await freePort()
  const balancer = await startBalancer(front, ports)
  return {
    redis,
    url: `http://127.0.0.1:${front}/mcp`,
    replicas,
    replace: async index => {
      replicas[index] = await startReplica(redis, ports[index] ?? 0)
    },
    end: async () => {
      for (const { child } of replicas) child.kill('SIGCONT')
      await Promise.all(replicas.map(stop))
      await end(balancer.child)
      await rm(balancer.directory, { recursive: true, force: true })
      await redis.remove()
    },
  }
}

async function startReplica(redis: Redis, port: number): Promise<Replica> {
  const directory = await mkdtemp(join(tmpdir(), 'replica-'))
  const config = {
    version: 1,
    log: { level: 'info' },
    listeners: { main: { type: 'http', port } },
    upstreams: {
      all: { type: 'stdio', command: process.execPath, args: [SERVER, '--stdio'], prefix: '' },
    },
    cluster: { redis: redis.url, keys: [{ id: 'a', key: KEY }] },
  }
  await writeFile(join(directory, 'gateway.yaml'), JSON.stringify(config))
  const child = spawn(process.execPath, [LAUNCHER, 'serve'], {
    cwd: directory,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const lines = createInterface({ input: child.stderr ?? process.stdin })
  await new Promise<void>((resolve, reject) => {
    lines.on('line', line => {
      if (line.includes('"serving"')) resolve()
    })
    child.once('exit', code => reject(new Error(`a replica ended with ${String(code)}`)))
  })
  return { child, port, url: `http://127.0.0.1:${port}/mcp`, directory }
}

/** A haproxy that keeps no connection to a replica, so that each request goes to the next one. */
async function startBalancer(
  port: number,
  ports: readonly number[],
): Promise<{ child: ChildProcess; directory: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'haproxy-'))
  const servers = ports.map((one, at) => `  server r${at} 127.0.0.1:${one} check inter 1s fall 3 rise 1`)
  const lines = [
    'defaults\n  mode http\n  timeout connect 1s\n  timeout client 1h\n  timeout server 1h',
    `frontend clients\n  bind 127.0.0.1:${port}\n  default_backend replicas`,
    'backend replicas\n  balance roundrobin\n  option http-server-close\n  http-reuse never',
    '  option httpchk\n  http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host 127.0.0.1\n  timeout check 3s\n  option redispatch 1\n  retries 3\n  retry-on conn-failure',
    ...servers,
  ]
  const file = join(directory, 'haproxy.cfg')
  await writeFile(file, `${lines.join('\n')}\n`)
  const child = spawn('haproxy', ['-f', file, '-db'], { stdio: 'ignore' })
  const deadline = Date.now() + 20_000
  while (!(await answers(`http://127.0.0.1:${port}/livez`))) {
    if (Date.now() > deadline) throw new Error('haproxy did not start: apt-get install haproxy')
    await pause(100)
  }
  return { child, directory }
}

function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    answer => answer.ok,
    () => false,
  )
}

async function stop({ child, directory }: Replica): Promise<void> {
  await end(child)
  await rm(directory, { recursive: true, force: true })
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

export function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
