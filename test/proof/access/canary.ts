import { readdirSync, readFileSync } from 'node:fs'
import { createServer, connect, type AddressInfo } from 'node:net'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { stringify } from 'yaml'
import { createKey } from '../../../src/cli/scaffold.ts'
import { testClient, testUpstream, type TestClient } from '../../../src/testing/index.ts'
import { LAUNCHER } from '../../peers/gateway.ts'
import { startIssuer } from './issuer.ts'
import { family } from '../../fixtures/processes.ts'

const SERVER = join(import.meta.dirname, '../../fixtures/bad-server.mjs')
const RESOURCE = 'https://gateway.example/mcp'

/** Number of calls were answered, and how often a caller's credential was found in each place. */
export interface Found {
  readonly answered: number
  readonly places: Readonly<Record<string, { readonly bytes: number; readonly found: number }>>
}

/** Makes `calls` calls with a key and a token, to a server over HTTP and one on a pipe, and looks for them everywhere after. */
export async function canary(calls: number): Promise<Found> {
  const directory = await mkdtemp(join(tmpdir(), 'canary-'))
  const issuer = await startIssuer()
  const upstream = await testUpstream({ tools: { echo: (_args, { headers }) => JSON.stringify(headers) } })
  const tap = await listenIn(Number(new URL(upstream.url).port))
  const made = createKey('canary', [])
  const token = await issuer.sign(RESOURCE, { sub: 'canary' })
  const stdin = join(directory, 'stdin.log')
  const pipe = ['-c', `tee ${stdin} | ${process.execPath} ${SERVER}`]
  const config = {
    version: 1,
    log: { level: 'debug' },
    listeners: { main: { type: 'http', port: 0 } },
    upstreams: {
      web: { type: 'http', url: upstream.url.replace(/:\d+\//, `:${tap.port}/`) },
      pipe: { type: 'stdio', command: 'sh', args: pipe },
    },
    sessionHeaders: { upstreams: ['web'] },
    auth: {
      keys: [{ name: made.name, hash: made.hash }],
      jwt: [{ issuer: issuer.url, jwks: issuer.jwks }],
      resource: RESOURCE,
    },
    rateLimit: { rules: { daily: { perDay: 1_000_000 } }, state: './state' },
  }
  const file = join(directory, 'gateway.yaml')
  await writeFile(file, stringify(config))
  const gateway = spawn(process.execPath, [LAUNCHER, 'serve', '--config', file], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  for (const stream of [gateway.stdout, gateway.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (log += text))
  try {
    const url = await until(
      () => /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(log.replaceAll(config.upstreams.web.url, ''))?.[0],
    )
    const { answered, replies } = await callAll(url, made.key, token, calls)
    const processes = family(gateway.pid ?? 0)
    const places = {
      'bytes to the HTTP server': tap.heard(),
      'bytes to the server on a pipe': await readFile(stdin, 'latin1'),
      'argv of every process': processes.map(pid => textAt(`/proc/${pid}/cmdline`)).join(''),
      'environment of every process': processes.map(pid => textAt(`/proc/${pid}/environ`)).join(''),
      'results and errors': replies,
      'log, at level debug': log,
      'state on disk': readAll(join(directory, 'state')),
      'cache and inspection': (await ask(directory, file, ['cache', 'ls'])) + (await ask(directory, file, ['ps'])),
    }
    const secrets = [made.key, token, token.split('.')[2] ?? '', Buffer.from(made.key).toString('base64')]
    const found = Object.entries(places).map(([place, text]) => [
      place,
      { bytes: text.length, found: secrets.filter(secret => text.includes(secret)).length },
    ])
    return { answered, places: Object.fromEntries(found) as Found['places'] }
  } finally {
    gateway.kill('SIGTERM')
    await once(gateway, 'exit')
    await Promise.all([upstream[Symbol.asyncDispose](), issuer.close(), tap.close()])
    await rm(directory, { recursive: true, force: true })
  }
}

/** Calls with each credential in turn, in both eras, over both servers. */
async function callAll(
  url: string,
  key: string,
  token: string,
  calls: number,
): Promise<{ answered: number; replies: string }> {
  const clients = await Promise.all([
    testClient({ url }, { headers: { authorization: `Bearer ${key}` } }),
    testClient({ url }, { headers: { authorization: `Bearer ${token}` } }),
    testClient({ url }, { headers: { 'x-api-key': key } }),
    testClient({ url }, { era: 'legacy', headers: { authorization: `Bearer ${token}` } }),
  ])
  const names = await namesOf(clients[0])
  let answered = 0
  let replies = ''
  for (let i = 0; i < calls; i++) {
    const params = { name: names[i % names.length], arguments: {} }
    const reply = await clients[i % clients.length]?.request('tools/call', params)
    if (reply?.result !== undefined) answered++
    replies += JSON.stringify(reply)
  }
  return { answered, replies }
}

/** A tool of each server. */
async function namesOf(client: TestClient | undefined): Promise<string[]> {
  const list = await client?.request('tools/list')
  const names = (list?.result?.tools as { name: string }[]).map(({ name }) => name)
  return ['web__', 'pipe__'].map(prefix => names.find(name => name.startsWith(prefix)) ?? prefix)
}

/** Passes bytes on, and keeps what goes to the server. */
async function listenIn(port: number): Promise<{ port: number; heard(): string; close(): Promise<void> }> {
  const heard: Buffer[] = []
  const server = createServer(client => {
    const onward = connect(port, '127.0.0.1')
    client.on('data', (bytes: Buffer) => heard.push(bytes)).pipe(onward)
    onward.pipe(client)
    for (const socket of [client, onward]) socket.on('error', () => [client, onward].forEach(one => one.destroy()))
    client.on('close', () => onward.destroy())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    heard: () => Buffer.concat(heard).toString('latin1'),
    close: () => new Promise(resolve => server.close(() => resolve())),
  }
}

function textAt(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

function readAll(directory: string): string {
  return readdirSync(directory)
    .map(name => textAt(join(directory, name)))
    .join('')
}

async function ask(cwd: string, file: string, args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [LAUNCHER, ...args, '--config', file, '--json'], { cwd })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (text += bytes.toString()))
  await once(child, 'close')
  return text
}

async function until<T>(look: () => T | undefined): Promise<T> {
  for (let i = 0; i < 400; i++) {
    const found = look()
    if (found !== undefined) return found
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  throw new Error('the gateway did not come up')
}
