import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { benchFile } from './children.ts'
import { stdioUpstream, type Configs } from './gateways.ts'
import { median } from './statistics.ts'
import { listeningIn } from './subjects.ts'

/** How long one command takes from its start to its end, or to its first answer. */
export interface StartResult {
  readonly key: string
  readonly title: string
  readonly median: number
  readonly best: number
}

interface Start {
  readonly key: string
  readonly title: string
  /** Resolves at the moment that counts; what it resolves with has still to be ended. */
  run(): Promise<ChildProcess>
}

const LIMIT_MS = 20_000
const HELLO = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'bench', version: '1.0.0' },
}
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** Measures each start-up `times` times, in turns. */
export async function measureStarts(
  launcher: string,
  configs: Configs,
  times: number,
): Promise<readonly StartResult[]> {
  const starts = startsOf(launcher, configs)
  const took = new Map<string, number[]>(starts.map(({ key }) => [key, []]))
  // The first turn fills caches of the disk and of compiled code.
  for (let turn = 0; turn <= times; turn++) {
    for (const { key, run } of starts) {
      const from = performance.now()
      const child = await run()
      if (turn > 0) took.get(key)?.push(performance.now() - from)
      await ended(child)
    }
  }
  return starts.map(({ key, title }) => {
    const all = took.get(key) ?? []
    return { key, title, median: median(all), best: Math.min(...all) }
  })
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill()
  await exit
}

function startsOf(launcher: string, configs: Configs): readonly Start[] {
  const upstreams = { up: stdioUpstream() }
  const onHttp = configs.write({ listener: 'http', upstreams, plugins: 'eight' })
  const onStdio = configs.write({ listener: 'stdio', upstreams, plugins: 'eight' })
  const validate = [launcher, 'validate', '--config', onHttp]
  return [
    { key: 'node', title: 'node -e 0', run: () => toEnd(['-e', '0']) },
    { key: 'version', title: 'gateway --version', run: () => toEnd([launcher, '--version']) },
    { key: 'validate', title: 'gateway validate', run: () => toEnd(validate) },
    {
      key: 'direct',
      title: 'a stdio server itself, to its list',
      run: () => toList([benchFile('peers/server-stdio.ts')]),
    },
    {
      key: 'serve-stdio',
      title: 'gateway serve on stdio, to its list',
      run: () => toList([launcher, 'serve', '--fresh', '--config', onStdio]),
    },
    {
      key: 'serve-http',
      title: 'gateway serve on HTTP, to its list',
      run: () => toHttpList([launcher, 'serve', '--fresh', '--config', onHttp]),
    },
  ]
}

/** Runs to the end. */
function toEnd(args: readonly string[]): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: LIMIT_MS })
    let stderr = ''
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    child.once('exit', code =>
      code === 0
        ? resolve(child)
        : reject(new Error(`${args.join(' ')} ended with ${String(code)}:\n${stderr}`)),
    )
  })
}

/** Says hello and asks for the list at once, as a client does that starts a server. */
function toList(args: readonly string[]): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'], timeout: LIMIT_MS })
    child.once('exit', code => reject(new Error(`${args.join(' ')} ended with ${String(code)}`)))
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      if (!/"tools":\[\{/.test(output)) return
      resolve(child)
    })
    const messages = [
      { jsonrpc: '2.0', id: 1, method: 'initialize', params: HELLO },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, method: 'tools/list' },
    ]
    child.stdin.write(messages.map(message => `${JSON.stringify(message)}\n`).join(''))
  })
}

function toHttpList(args: readonly string[]): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: LIMIT_MS })
    child.once('exit', code => reject(new Error(`${args.join(' ')} ended with ${String(code)}`)))
    let stderr = ''
    let isAsked = false
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString()
      const url = listeningIn(stderr)
      if (url === undefined || isAsked) return
      isAsked = true
      listOf(url).then(() => resolve(child), reject)
    })
  })
}

function listOf(url: string): Promise<void> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/list',
  }
  return new Promise((resolve, reject) => {
    const post = request(url, { method: 'POST', headers, agent: false }, reply => {
      let text = ''
      reply.on('data', (chunk: Buffer) => (text += chunk.toString()))
      reply.on('end', () => (/"tools":\[\{/.test(text) ? resolve() : reject(new Error(text))))
    })
    post.on('error', reject)
    post.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: META } }))
  })
}
