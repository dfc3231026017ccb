import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { stringify } from 'yaml'
import { testClient } from '../../../src/testing/index.ts'
import { LAUNCHER } from '../../peers/gateway.ts'
import { ENCODINGS, secretsOf } from '../../unit/secrets/encodings.ts'
import { tellTale, type TellTale } from './http-server.ts'
import { CLIENT, loginServer } from './login-server.ts'
import { family } from '../../fixtures/processes.ts'

const SHOWING = join(import.meta.dirname, 'showing-server.mjs')
const RELOADS = 5
/** Servers that want a token: of the gateway itself, and of a person who has logged in. */
const LOGINS = ['login', 'person'] as const
/** What the gateway has to get one. */
const CLIENT_SECRETS: Readonly<Record<string, string>> = {
  login: 'seeded-client-secret-0f3a',
  person: 'seeded-client-secret-9c1e',
}

/** A secret, and the only server that may get it. */
interface Seed {
  readonly value: string
  readonly owner: string
}

/** Sources of the values, in turn. */
const SOURCES = ['literal', 'variable', 'file', 'command'] as const

/** Result of a run. */
export interface Seeded {
  readonly calls: number
  readonly secrets: number
  /** Secrets that did not reach the server they are for: then nothing would have been shown. */
  readonly undelivered: number
  readonly places: Readonly<Record<string, { readonly bytes: number; readonly found: number }>>
}

/** Runs a gateway with `count` secrets for `servers` servers of each kind, makes calls that succeed, fail and crash, and looks everywhere. */
export async function seeded(count: number, calls: number, servers = 10): Promise<Seeded> {
  const world = await World.open(count, servers)
  try {
    return await world.run(calls)
  } finally {
    await world.close()
  }
}

class World {
  readonly #directory: string
  readonly #seeds: Seed[]
  readonly #variables: Record<string, string> = {}
  readonly #talking: ReadonlyMap<string, TellTale>
  readonly #names: readonly string[]
  /** Takes the spans. */
  readonly #collector: TellTale
  #log = ''
  #gateway: ChildProcessByStdio<null, Readable, Readable> | undefined

  private constructor(directory: string, seeds: Seed[], talking: Map<string, TellTale>, collector: TellTale) {
    this.#directory = directory
    this.#seeds = seeds
    this.#talking = talking
    this.#names = [...new Set(seeds.map(({ owner }) => owner))]
    this.#collector = collector
  }

  static async open(count: number, servers: number): Promise<World> {
    const directory = await mkdtemp(join(tmpdir(), 'seeded-'))
    for (const name of ['keys', 'seen']) mkdirSync(join(directory, name))
    const web = Array.from({ length: servers }, (_, i) => `web-${i}`)
    const pipes = Array.from({ length: servers }, (_, i) => `pipe-${i}`)
    const talking = new Map(await Promise.all(web.map(async name => [name, await tellTale()] as const)))
    const names = [...web, ...pipes]
    const seeds = secretsOf(count, 29).map((value, n) => ({ value, owner: names[n % names.length] ?? '' }))
    // Tokens are secrets from the moment that they are given.
    for (const owner of LOGINS) {
      talking.set(owner, await loginServer(value => void seeds.push({ value, owner })))
      seeds.push({ value: CLIENT_SECRETS[owner] ?? '', owner })
    }
    return new World(directory, seeds, talking, await tellTale())
  }

  async run(calls: number): Promise<Seeded> {
    writeFileSync(join(this.#directory, 'gateway.yaml'), stringify(this.#config()))
    const url = await this.#serve()
    const said = await this.#logIn()
    const replies = await this.#callAll(url, calls)
    const argv = family(this.#gateway?.pid ?? 0).map(pid => textAt(`/proc/${pid}/cmdline`))
    const shown = await Promise.all(
      [
        ['ps'],
        ['inspect'],
        ['inspect', '--offline', '--origins'],
        ['validate'],
        ['cache', 'ls'],
        ['logins'],
        ['logs', 'pipe-0'],
      ].map(args => this.#ask(args)),
    )
    const metrics = await (await fetch(new URL('/metrics', url))).text()
    await this.#stop()
    const places = {
      'results and errors': replies,
      'log, at level debug': this.#log,
      'ps, inspect, validate, logs, login, logins': [said, ...shown].join(''),
      metrics,
      traces: this.#collector.heard(),
      audit: this.#read('audit'),
      'state on disk': this.#read('state'),
      'argv of every process': argv.join('\n'),
    }
    const everywhere = Object.entries(places).map(
      ([place, text]) => [place, { bytes: text.length, found: this.#found(text, () => true) }] as const,
    )
    const heard = this.#names.map(name => [name, this.#heardBy(name)] as const)
    return {
      calls,
      secrets: this.#seeds.length,
      undelivered: this.#seeds.filter(
        ({ value, owner }) => !this.#heardBy(owner).includes(inFile(value, owner)),
      ).length,
      places: Object.fromEntries([
        ...everywhere,
        [
          'bytes, environment and argv of other servers',
          {
            bytes: heard.reduce((sum, [, text]) => sum + text.length, 0),
            found: heard.reduce(
              (sum, [name, text]) => sum + this.#found(text, seed => seed.owner !== name),
              0,
            ),
          },
        ],
      ]),
    }
  }

  /** Number of forms of secrets in a text. */
  #found(text: string, isMeant: (seed: Seed) => boolean): number {
    const forms = this.#seeds
      .filter(isMeant)
      .flatMap(({ value }) => Object.values(ENCODINGS).map(encode => encode(value)))
    return [...new Set(forms)].filter(form => text.includes(form)).length
  }

  #heardBy(name: string): string {
    return this.#talking.get(name)?.heard() ?? textAt(join(this.#directory, 'seen', name))
  }

  #config(): object {
    const upstreams = this.#names.map((name): [string, object] => {
      const own = this.#seeds.flatMap((seed, n) =>
        seed.owner === name ? [[n, this.#written(seed, n)] as const] : [],
      )
      const named = (prefix: string, from: typeof own): Record<string, string> =>
        Object.fromEntries(from.map(([n, text]) => [`${prefix}${n}`, text]))
      const server = this.#talking.get(name)
      if (server !== undefined && name in CLIENT_SECRETS) return [name, loginOf(server, name)]
      if (server === undefined) {
        const args = [SHOWING, join(this.#directory, 'seen', name)]
        const spec = { type: 'stdio', command: process.execPath, args, env: named('OWN_', own) }
        return [name, { ...spec, breaker: false }]
      }
      const half = Math.ceil(own.length / 2)
      const headers = named('X-Key-', own.slice(0, half))
      const query = named('key', own.slice(half))
      const url = `http://127.0.0.1:${server.port}/mcp`
      return [name, { type: 'http', url, headers, query, breaker: false, retry: false }]
    })
    return {
      version: 1,
      log: { level: 'debug' },
      listeners: { main: { type: 'http', port: 0 } },
      metrics: {},
      cache: {},
      state: { directory: './state' },
      tracing: { endpoint: `http://127.0.0.1:${this.#collector.port}`, arguments: ['*'] },
      audit: { file: './audit/lines.jsonl', methods: '*', values: '*' },
      upstreams: Object.fromEntries(upstreams),
    }
  }

  /** A value of the configuration that comes to this secret. */
  #written({ value }: Seed, n: number): string {
    const source = SOURCES[Math.floor(n / this.#names.length) % SOURCES.length] ?? 'literal'
    if (source === 'literal') return value.replaceAll('${', '$${')
    if (source === 'variable') {
      this.#variables[`SEED_TOKEN_${n}`] = value
      return `\${SEED_TOKEN_${n}}`
    }
    writeFileSync(join(this.#directory, 'keys', String(n)), value)
    return source === 'file' ? `\${file:keys/${n}}` : `\${exec:cat keys/${n}}`
  }

  async #serve(): Promise<string> {
    const gateway: ChildProcessByStdio<null, Readable, Readable> = spawn(
      process.execPath,
      [LAUNCHER, 'serve', '--config', 'gateway.yaml'],
      {
        cwd: this.#directory,
        env: { ...process.env, ...this.#variables },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    this.#gateway = gateway
    for (const stream of [gateway.stdout, gateway.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (this.#log += text))
    const ports = [...this.#talking.values(), this.#collector].map(({ port }) => `:${port}/`)
    return until('it listens', () =>
      [...this.#log.matchAll(/http:\/\/127\.0\.0\.1:\d+\/mcp/g)]
        .map(([url]) => url)
        .find(url => !ports.some(port => url.includes(port))),
    )
  }

  /** A person logs in with the command. The page that it prints is the one place where its state belongs. */
  async #logIn(): Promise<string> {
    const args = [LAUNCHER, 'login', 'person', '--no-browser', '--config', 'gateway.yaml']
    const child = spawn(process.execPath, args, {
      cwd: this.#directory,
      env: { ...process.env, ...this.#variables },
    })
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (bytes: Buffer) => (text += bytes.toString()))
    const ended = once(child, 'close')
    const page = await until('it prints a page', () => /http:\S+\/authorize\S+(?=\s)/.exec(text)?.[0])
    await fetch(page)
    const [code] = (await ended) as [number | null]
    if (code !== 0) throw new Error(`nobody could log in: ${text}`)
    return text.replace(page, '')
  }

  /** Calls every tool of every server in turn, and reloads in between with secrets that are new. */
  async #callAll(url: string, calls: number): Promise<string> {
    const clients = [await testClient({ url }), await testClient({ url }, { era: 'legacy' })]
    let replies = ''
    for (let i = 0; i < calls; i++) {
      const server = this.#names[i % this.#names.length] ?? ''
      const round = Math.floor(i / this.#names.length)
      const params = { name: `${server}__${toolOf(server, round)}`, arguments: { round } }
      replies += JSON.stringify(await clients[i % 2]?.request('tools/call', params))
      if (i % Math.ceil(calls / (RELOADS + 1)) === calls % 7) await this.#reload(i)
    }
    return replies
  }

  /** A secret in a file is another one from here on; the old one is hidden still. */
  async #reload(i: number): Promise<void> {
    const n = this.#seeds.findIndex((_, at) => Math.floor(at / this.#names.length) % SOURCES.length === 2)
    const { owner = '' } = this.#seeds[n] ?? {}
    const value = `fresh-${i}-${secretsOf(1, i + 100).join('')}`
    this.#seeds.push({ value, owner })
    writeFileSync(join(this.#directory, 'keys', String(n)), value)
    const before = this.#log.split('reloaded').length
    this.#gateway?.kill('SIGHUP')
    await until('it reloads', () => (this.#log.split('reloaded').length > before ? true : undefined))
  }

  async #ask(args: readonly string[]): Promise<string> {
    const child = spawn(process.execPath, [LAUNCHER, ...args, '--config', 'gateway.yaml', '--json'], {
      cwd: this.#directory,
      env: { ...process.env, ...this.#variables },
    })
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (bytes: Buffer) => (text += bytes.toString()))
    await once(child, 'close')
    return text
  }

  #read(name: string): string {
    const directory = join(this.#directory, name)
    return readdirSync(directory, { recursive: true, encoding: 'utf8' })
      .map(file => textAt(join(directory, file)))
      .join('\n')
  }

  async #stop(): Promise<void> {
    const gateway = this.#gateway
    this.#gateway = undefined
    if (gateway === undefined) return
    gateway.kill('SIGTERM')
    await once(gateway, 'exit')
  }

  async close(): Promise<void> {
    await this.#stop()
    await Promise.all([...this.#talking.values(), this.#collector].map(server => server.close()))
    await rm(this.#directory, { recursive: true, force: true })
  }
}

function loginOf({ port }: TellTale, name: string): object {
  const origin = `http://127.0.0.1:${port}`
  const client = { id: CLIENT, secret: CLIENT_SECRETS[name], method: 'client_secret_post' }
  const oauth = { grant: name === 'person' ? 'code' : 'client-credentials', issuer: origin, client }
  return { type: 'http', url: `${origin}/mcp`, oauth, breaker: false, retry: false }
}

/** Most calls fail in one way or another; a process that crashes every time would be given up. */
function toolOf(server: string, round: number): string {
  const tools = server.startsWith('web')
    ? ['fine', 'fail', 'crash', 'deny']
    : ['fine', 'fail', 'fail', 'fine']
  return server.startsWith('pipe') && round % 16 === 7 ? 'crash' : (tools[round % tools.length] ?? 'fine')
}

/** A value as the server's own record has it: what came on a pipe is kept as JSON. */
function inFile(value: string, owner: string): string {
  return owner.startsWith('pipe') ? JSON.stringify(value).slice(1, -1) : value
}

function textAt(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

async function until<T>(what: string, look: () => T | undefined): Promise<T> {
  for (let i = 0; i < 1200; i++) {
    const found = look()
    if (found !== undefined) return found
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  throw new Error(`it does not come about that ${what}`)
}
