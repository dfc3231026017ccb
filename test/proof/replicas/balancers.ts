import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../fixtures/free-port.ts'

const NGINX = new URL('../../../deploy/compose/nginx.conf', import.meta.url)
const PATIENCE_MS = 20_000

/** What clients connect to. Each request goes to the next replica: no connection to one is kept. */
export interface Balancer {
  readonly url: string
  end(): Promise<void>
}

export async function startHaproxy(ports: readonly number[]): Promise<Balancer> {
  const servers = ports.map((one, at) => `  server r${at} 127.0.0.1:${one} check inter 1s fall 3 rise 1`)
  return begin(port => ({
    text: [
      'defaults\n  mode http\n  timeout connect 1s\n  timeout client 1h\n  timeout server 1h',
      `frontend clients\n  bind 127.0.0.1:${port}\n  default_backend replicas`,
      'backend replicas\n  balance roundrobin\n  option http-server-close\n  http-reuse never',
      '  option httpchk\n  http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host 127.0.0.1\n  timeout check 3s\n  option redispatch 1\n  retries 3\n  retry-on conn-failure',
      ...servers,
    ].join('\n'),
    command: file => ['haproxy', ['-f', file, '-db']],
  }))
}

/** The nginx of deploy/compose, with these replicas in the place of its own. */
export async function startNginx(ports: readonly number[]): Promise<Balancer> {
  const shipped = await readFile(NGINX, 'utf8')
  const servers = ports.map(port => `server 127.0.0.1:${port} max_fails=1 fail_timeout=5s;`).join('\n')
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return begin((port, directory) => ({
    text: shipped
      .replace(/(server gateway-\d:8080[^;]*;\s*)+/, servers)
      .replace('listen 8080;', `listen 127.0.0.1:${port};`)
      .replace(/^(pid|error_log) .*$/gm, '')
      .replace('http {', `http {\n${kinds.map(kind => `  ${kind}_temp_path ${directory}/${kind};`).join('\n')}`)
      .concat(`\npid ${directory}/nginx.pid;\ndaemon off;\n`),
    command: file => ['/usr/sbin/nginx', ['-p', directory, '-c', file, '-e', join(directory, 'error.log')]],
  }))
}

interface Program {
  readonly text: string
  command(file: string): readonly [string, readonly string[]]
}

async function begin(program: (port: number, directory: string) => Program): Promise<Balancer> {
  const directory = await mkdtemp(join(tmpdir(), 'balancer-'))
  const port = await freePort()
  const { text, command } = program(port, directory)
  const file = join(directory, 'balancer.conf')
  await writeFile(file, `${text}\n`)
  const [name, args] = command(file)
  const child = spawn(name, args, { stdio: 'ignore' })
  const missing = new Promise<never>((_resolve, reject) =>
    child.once('error', () => reject(new Error(`${name} did not start: apt-get install haproxy nginx-light`))),
  )
  await Promise.race([missing, answers(`http://127.0.0.1:${port}/livez`, name)])
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    end: async () => {
      await ended(child)
      await rm(directory, { recursive: true, force: true })
    },
  }
}

async function answers(url: string, name: string): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS
  for (;;) {
    const is = await fetch(url).then(
      answer => answer.ok,
      () => false,
    )
    if (is) return
    if (Date.now() > deadline) throw new Error(`${name} does not answer`)
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  await gone
}
