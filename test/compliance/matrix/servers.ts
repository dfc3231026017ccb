import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startChild } from '../../peers/child.ts'
import type { Child } from '../../peers/child.ts'
import { LAUNCHER, requireBuild, writeConfig } from '../../peers/gateway.ts'
import type { Place } from './peer.ts'
import type { Transport } from './ways.ts'
import { freePort } from '../../fixtures/free-port.ts'

/** Something to connect to, for as long as a cell runs. */
export interface Running {
  readonly place: Place
  stop(): Promise<void>
}

type NetworkTransport = Exclude<Transport, 'stdio'>

const FIXTURES = fileURLToPath(new URL('../../fixtures/', import.meta.url))
const PAGE = ['--page', '2']

const START_UP = 20_000

/** Starts a fixture of SDK v2 in one era, or says where its program is. */
export async function everythingFixture(era: string, transport: Transport): Promise<Running> {
  const args = [join(FIXTURES, 'everything.ts'), '--era', era, ...PAGE]
  if (transport === 'stdio') return program([...args, '--stdio'])
  return announced(args, 'url', transport)
}

/** The same of SDK v1. */
export async function sdkV1Fixture(transport: Transport): Promise<Running> {
  const args = [join(FIXTURES, 'servers/sdk-v1-server.ts'), ...PAGE]
  if (transport === 'stdio') return program(args)
  return announced([...args, '--http'], transport === 'sse' ? 'sse' : 'url', transport)
}

/** The published server with one of everything. */
export async function publishedServer(transport: Transport): Promise<Running> {
  const entry = entryOf('@modelcontextprotocol/server-everything')
  if (transport === 'stdio') return program([entry, 'stdio'])
  const port = await freePort()
  const [mode, path] = transport === 'sse' ? ['sse', '/sse'] : ['streamableHttp', '/mcp']
  const child = startChild(entry, [mode], { ...process.env, PORT: String(port) })
  await child.line(line => (/(running|listening) on/i.test(line) ? true : undefined), START_UP)
  return running({ transport, url: `http://127.0.0.1:${port}${path}` }, child)
}

/** A gateway process before one server; both hops use `transport` unless the first is said to be another. */
export async function gatewayBefore(server: Running, transport: Transport): Promise<Running> {
  requireBuild()
  const { file, remove } = await writeConfig({
    version: 1,
    log: { level: 'info', format: 'json' },
    lists: { pageSize: 20 },
    shutdown: { grace: '1s' },
    // Clients of the suite read every schema; `fit` is for those that cannot.
    fit: false,
    listeners: { main: listenerOf(transport) },
    upstreams: { it: upstreamAt(server.place) },
  })
  const args = [LAUNCHER, 'serve', '--config', file]
  const stop = async () => {
    await server.stop()
    await remove()
  }
  if (transport === 'stdio') return { ...program(args), stop }
  return serve(args, transport, stop)
}

/** The upstream of a gateway.yaml that reaches `place`, without a prefix. */
export function upstreamAt(place: Place): Record<string, unknown> {
  if (place.transport !== 'stdio') return { type: place.transport, url: place.url, prefix: '' }
  return { type: 'stdio', command: place.command, args: [...place.args], prefix: '' }
}

function listenerOf(transport: Transport): object {
  if (transport === 'stdio') return { type: 'stdio' }
  return { type: 'http', port: 0, ...(transport === 'http' ? {} : { [transport]: {} }) }
}

async function serve(args: string[], transport: NetworkTransport, stop: () => Promise<void>): Promise<Running> {
  const [launcher = '', ...rest] = args
  const child = startChild(launcher, rest)
  const end = async () => {
    await child.stop(3_000)
    await stop()
  }
  try {
    const own = await child.line(listening, START_UP)
    return { place: { transport, url: urlFor(transport, own) }, stop: end }
  } catch (error) {
    await end()
    throw error
  }
}

function urlFor(transport: NetworkTransport, own: string): string {
  if (transport === 'http') return own
  return own.replace(/\/mcp$/, `/${transport}`).replace(/^http/, transport === 'ws' ? 'ws' : 'http')
}

function program(args: string[]): Running {
  return { place: { transport: 'stdio', command: process.execPath, args }, stop: async () => undefined }
}

async function announced(args: string[], member: string, transport: NetworkTransport): Promise<Running> {
  const [file = '', ...rest] = args
  const child = startChild(file, rest)
  const url = await child.line(line => textIn(line, member), START_UP)
  return running({ transport, url }, child)
}

function listening(line: string): string | undefined {
  return textIn(line, 'message') === 'listening' ? textIn(line, 'url') : undefined
}

function textIn(line: string, member: string): string | undefined {
  if (!line.startsWith('{')) return undefined
  const value = (JSON.parse(line) as Record<string, unknown>)[member]
  return typeof value === 'string' ? value : undefined
}

function running(place: Place, child: Child): Running {
  return { place, stop: () => child.stop(1_000) }
}

function entryOf(name: string): string {
  const manifest = findPackageJSON(name, import.meta.url)
  if (!manifest) throw new Error(`${name} is not installed: run "npm install"`)
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { bin: Record<string, string> }
  return join(dirname(manifest), Object.values(bin)[0] ?? '')
}
