import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../fixtures/free-port.ts'

const PATIENCE_MS = 20_000

/** What clients connect to. Each request goes to the next replica: no connection to one is kept. */
export interface Balancer {
  readonly url: string
  end(): Promise<void>
}

export async function startHaproxy(ports: readonly number[]): Promise<Balancer> {
  const directory = await mkdtemp(join(tmpdir(), 'balancer-'))
  const port = await freePort()
  const servers = ports.map((one, at) => `  server r${at} 127.0.0.1:${one} check inter 1s fall 3 rise 1`)
  const file = join(directory, 'balancer.conf')
  const lines = [
    'defaults\n  mode http\n  timeout connect 1s\n  timeout client 1h\n  timeout server 1h',
    `frontend clients\n  bind 127.0.0.1:${port}\n  default_backend replicas`,
    'backend replicas\n  balance roundrobin\n  option http-server-close\n  http-reuse never',
    '  option httpchk\n  http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host 127.0.0.1\n  timeout check 3s\n  option redispatch 1\n  retries 3\n  retry-on conn-failure',
    ...servers,
  ]
  await writeFile(file, `${lines.join('\n')}\n`)
  const child = spawn('haproxy', ['-f', file, '-db'], { stdio: 'ignore' })
  const missing = new Promise<never>((_resolve, reject) =>
    child.once('error', () => reject(new Error('haproxy did not start: apt-get install haproxy'))),
  )
  await Promise.race([missing, answers(`http://127.0.0.1:${port}/livez`)])
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    end: async () => {
      await end(child, 'SIGTERM')
      await rm(directory, { recursive: true, force: true })
    },
  }
}

async function answers(url: string): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS
  for (;;) {
    const is = await fetch(url).then(
      answer => answer.ok,
      () => false,
    )
    if (is) return
    if (Date.now() > deadline) throw new Error('haproxy does not answer')
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

/** Ends a process; with SIGINT a gateway waits for no load balancer. */
export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}
