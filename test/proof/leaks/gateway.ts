import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { LAUNCHER } from '../../peers/gateway.ts'

const SERVER = fileURLToPath(new URL('server.sh', import.meta.url))

/** A gateway that runs as a process of its own. */
export interface Running {
  readonly child: ChildProcess
  readonly pid: number
  readonly webSocket: string
}

/**
 * A configuration of some servers of the leaky kind, all of whose processes carry `cookie`. JSON is YAML. What `leaves` its
 * server's group lives as long as the gateway does.
 */
export function configOf(
  cookie: string,
  servers: number,
  isolation: 'shared' | 'session',
  children: 'stays' | 'leaves' = 'stays',
): string {
  const upstream = {
    type: 'stdio',
    command: '/bin/sh',
    args: [SERVER, children],
    env: { LEAK_COOKIE: cookie },
    era: 'legacy',
    isolation,
  }
  const names = Array.from({ length: servers }, (_, index) => `leaky-${index + 1}`)
  const config = {
    version: 1,
    log: { level: 'info', format: 'json' },
    shutdown: { grace: '1s' },
    listeners: { main: { type: 'http', port: 0, ws: {} } },
    upstreams: Object.fromEntries(names.map(name => [name, upstream])),
  }
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'proof-leaks-')), 'gateway.yaml')
  writeFileSync(file, JSON.stringify(config))
  return file
}

/** Resolves when it listens. Its group is its own, to be killed as a whole. */
export async function startGateway(file: string): Promise<Running> {
  const child = spawn(process.execPath, [LAUNCHER, 'serve', '-c', file], {
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  })
  process.once('exit', () => child.kill('SIGKILL'))
  for await (const line of createInterface({ input: child.stderr })) {
    const url = /"url":"http:\/\/([^"/]+)/.exec(line)?.[1]
    if (url === undefined) continue
    child.stderr.resume()
    return { child, pid: child.pid ?? 0, webSocket: `ws://${url}/ws` }
  }
  throw new Error('the gateway did not start')
}
