/**
 * Runs real clients against the local gateway of examples/smart-client-simple-server, with a remote one behind it: each
 * over stdio and over HTTP, with a home of its own and no credentials. Prints a table; exits with 1 when one of them
 * could not connect or call. The clients come from npm at first use, into ~/.cache/tapgate-clients (or $TAPGATE_CLIENTS).
 *
 *   npm run proof -- clients            about 60 s, and 1.4 GB the first time
 *   npm run proof -- clients claude  those whose name has this in it
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { stringify } from 'yaml'
import { reasonOf } from '../../src/errors/errors.ts'
import { startChild, type Child } from '../peers/child.ts'
import { LAUNCHER, requireBuild } from '../peers/gateway.ts'
import { CLIENTS, type ClientProgram, type Step, type Way } from './clients/clients.ts'
import { install, type Installed } from './clients/install.ts'

const ROOT = dirname(dirname(LAUNCHER))
const EXAMPLE = join(ROOT, 'examples/smart-client-simple-server')
const SERVERS = join(ROOT, 'node_modules/.bin')
const STEP_MS = 30_000
const HTTP = 'listeners={"main":{"type":"http","port":0}}'

interface Row {
  readonly client: string
  readonly way: string
  readonly version: string
  readonly era: string
  readonly connected: string
  readonly tools: string
  readonly call: string
}

requireBuild()
const remote = await serve(join(EXAMPLE, 'remote/gateway.yaml'), 'listeners.main.port=0')
const rows: Row[] = []
try {
  const wanted = process.argv[2]?.toLowerCase() ?? ''
  for (const client of CLIENTS.filter(({ name }) => name.toLowerCase().includes(wanted)))
    rows.push(...(await exercise(client, remote.url)))
} finally {
  await remote.child.stop()
}
console.table(rows)
if (rows.some(({ connected, call }) => connected === 'NO' || call === 'NO')) process.exitCode = 1

async function exercise(client: ClientProgram, remoteUrl: string): Promise<Row[]> {
  const { name, spec } = client
  let installed: Installed
  try {
    installed = await install(spec)
  } catch (error) {
    const why = reasonOf(error).slice(0, 100)
    return [
      {
        client: name,
        way: '-',
        version: spec,
        era: '-',
        connected: `skipped: ${why}`,
        tools: '-',
        call: '-',
      },
    ]
  }
  const found: Row[] = []
  for (const way of ['stdio', 'http'] as const) found.push(await oneWay(client, installed, way, remoteUrl))
  return found
}

async function oneWay(
  client: ClientProgram,
  { bin, version }: Installed,
  kind: 'stdio' | 'http',
  url: string,
): Promise<Row> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'client-')))
  const notes = join(home, 'notes.jsonl')
  const config = join(home, 'gateway.yaml')
  writeFileSync(config, stringify(configuration(notes, url)))
  const gateway = kind === 'http' ? await serve(config, HTTP) : undefined
  const command = [process.execPath, LAUNCHER, 'serve', '-c', config]
  const way: Way = gateway === undefined ? { command } : { url: gateway.url }
  try {
    client.configure?.(home, way)
    const run = (step: Step): Promise<boolean> => succeeds(join(bin, client.program), step, home)
    const prepare = client.prepare?.(way)
    if (prepare !== undefined) await run({ args: prepare, shows: /./ })
    const isConnected = await run(client.connect(way))
    const call = client.call === undefined ? '-' : (await run(client.call(way))) ? 'ok' : 'NO'
    return {
      client: client.name,
      way: kind,
      version,
      connected: isConnected ? 'ok' : 'NO',
      ...noted(notes),
      call,
    }
  } finally {
    await gateway?.child.stop()
    rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  }
}

/** The example's local gateway, with a plugin that notes who came. */
function configuration(file: string, url: string): object {
  return {
    version: 1,
    extends: join(EXAMPLE, 'local/gateway.yaml'),
    upstreams: { remote: { url } },
    plugins: { recorder: { use: join(import.meta.dirname, 'clients/recorder.mjs'), options: { file } } },
  }
}

async function serve(config: string, set: string): Promise<{ url: string; child: Child }> {
  const env = { ...process.env, PATH: `${SERVERS}:${process.env.PATH ?? ''}` }
  const child = startChild(LAUNCHER, ['serve', '-c', config, '--set', set], env)
  return {
    url: await child.line(line => /"url":"(https?:[^"]+\/mcp)"/.exec(line)?.[1] ?? plainUrl(line)),
    child,
  }
}

function plainUrl(line: string): string | undefined {
  return /(?:listening|serving|main).*?(https?:\/\/127[\w.:]+\/mcp)/.exec(line)?.[1]
}

/** Runs a client's program until it shows what it must, ends, or has had its time. */
function succeeds(program: string, { args, input, shows }: Step, home: string): Promise<boolean> {
  const env = {
    PATH: `${dirname(program)}:${SERVERS}:/usr/bin:/bin`,
    HOME: home,
    TERM: 'dumb',
    NO_COLOR: '1',
  }
  const child = spawn(program, args, { cwd: home, env, detached: true })
  let text = ''
  return new Promise<boolean>(resolve => {
    const finish = (isShown: boolean): void => {
      clearTimeout(timer)
      if (!isShown) console.error(`${program} ${args.join(' ')}:\n${text.slice(-2000)}`)
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
      resolve(isShown)
    }
    const isShown = (): boolean => shows.test(stripVTControlCharacters(text))
    const timer = setTimeout(() => finish(false), STEP_MS)
    const read = (chunk: Buffer): void => {
      text += chunk.toString()
      // One that is asked over its pipe goes on until that ends.
      if (input !== undefined && isShown()) child.stdin.end()
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.on('error', () => finish(false))
    child.on('close', () => finish(isShown() || shows.source === '.'))
    child.stdin.on('error', () => undefined)
    if (input === undefined) child.stdin.end()
    else child.stdin.write(input)
  })
}

interface Note {
  readonly era: string
  readonly version: string
  readonly tools?: number
}

/** All that the gateway saw of the client. */
function noted(file: string): { era: string; tools: string } {
  const notes = existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map(line => JSON.parse(line) as Note)
    : []
  const eras = new Set(notes.map(({ era, version }) => `${version} ${era}`))
  const tools = Math.max(...notes.map(note => note.tools ?? -1))
  return { era: [...eras].join(', ') || '-', tools: tools < 0 ? 'not asked' : String(tools) }
}
