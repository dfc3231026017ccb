import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  ANONYMOUS,
  type AskGateway,
  type Clock,
  type Config,
  type HttpReply,
  SharedMemory,
} from '../../src/plugin.ts'
import { Admission } from './access/admission.ts'
import { Browsers } from './access/browsers.ts'
import type { PageRequest } from './access/page-request.ts'
import { actingRoutes } from './api/acting.ts'
import { configRoutes } from './api/config.ts'
import { type ApiHost, partsOf } from './api/host.ts'
import { lookingRoutes } from './api/looking.ts'
import { overviewRoutes } from './api/overview.ts'
import { taskRoutes } from './api/tasks.ts'
import { Trials } from './api/trials.ts'
import { Clients } from './record/clients.ts'
import { Ledger } from './record/ledger.ts'
import { ownRecords } from './record/records.ts'
import { Streams } from './record/streams.ts'
import { Site } from './site.ts'

const HOST = '127.0.0.1'
const PATH = '/ui'
const OPTIONS = { readScope: '', actScope: '', session: '12h' }
/** Larger bodies are none of the page's. */
const MOST_BYTES = 1024 * 1024
const ARRIVAL_MS = 10_000
const MOST_CONNECTIONS = 100

const clock: Clock = {
  now: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms).unref()
    return () => clearTimeout(timer)
  },
}

/** A page that is served, with the link that opens it once. */
export interface Served {
  readonly url: string
  close(): void
}

/**
 * Serves the page on a port of this machine, of a gateway whose configuration has none: it shows what the verbs of the
 * owner tell. Calls, clients and figures are recorded by a gateway that has the page alone.
 */
export async function serveAlone(ask: AskGateway, config: Config): Promise<Served> {
  const browsers = new Browsers(new SharedMemory({ now: () => clock.now() }).of({}))
  await browsers.begin()
  const site = siteFor(ask, config, browsers)
  const server = createServer((request, response) => void serve(site, request, response))
  server.requestTimeout = ARRIVAL_MS
  server.maxConnections = MOST_CONNECTIONS
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, HOST, resolve)
  })
  return {
    url: `${originOf(server)}${PATH}/#token=${await browsers.link()}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function originOf(server: Server): string {
  return `http://${HOST}:${(server.address() as AddressInfo).port}`
}

function siteFor(ask: AskGateway, config: Config, browsers: Browsers): Site {
  // All that comes over the socket is without secrets, as on a terminal.
  const hide = (text: string): string => text
  const admission = new Admission(browsers, { options: OPTIONS, auth: undefined, now: () => clock.now() })
  const parts = partsOf(config)
  const streams = new Streams(clock, hide)
  const host: ApiHost = {
    ...{ control: ask, describedConfig: () => ask('config'), clock, parts },
    records: ownRecords(new Ledger(clock, streams, 1), new Clients()),
    ...{ streams, trials: new Trials(hide) },
  }
  const routes = [
    ...overviewRoutes(host),
    ...lookingRoutes(host),
    ...actingRoutes(host),
    ...taskRoutes(host),
    ...configRoutes(host),
  ]
  return new Site({ path: PATH, admission, browsers, routes, parts, hide })
}

async function serve(site: Site, request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.on('error', () => undefined)
  const own = `${HOST}:${request.socket.localPort ?? 0}`
  const [path = ''] = (request.url ?? '').split('?')
  // A name that leads here by a trick of its DNS is another one.
  if (request.headers.host !== own) return void response.writeHead(403).end('forbidden')
  if (path !== PATH && !path.startsWith(`${PATH}/`)) return void response.writeHead(404).end('not found')
  try {
    await send(await site.serve(requestOf(request, response, `http://${own}/`)), response)
  } catch {
    if (response.headersSent) response.destroy()
    else response.writeHead(500).end()
  }
}

function requestOf(request: IncomingMessage, response: ServerResponse, endpoint: string): PageRequest {
  const { method = 'GET', url = '/', rawHeaders, socket } = request
  return {
    ...{ listener: 'ui', endpoint, method, caller: ANONYMOUS, profile: undefined },
    path: url.split('?', 1)[0] ?? '',
    query: new URLSearchParams(url.split('?').slice(1).join('?')),
    remoteAddress: socket.remoteAddress,
    header: name =>
      rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name.toLowerCase()),
    body: () => bodyOf(request),
    onGone: listener => void response.on('close', () => void (response.writableFinished || listener())),
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length
    // One more than the page takes, so that it says so.
    if (size <= MOST_BYTES + 1) pieces.push(piece)
    else return Buffer.alloc(MOST_BYTES + 1)
  }
  return Buffer.concat(pieces)
}

async function send({ status, headers, body = '' }: HttpReply, response: ServerResponse): Promise<void> {
  response.writeHead(status, { 'cache-control': 'no-store', ...headers })
  if (typeof body === 'string' || Buffer.isBuffer(body)) return void response.end(body)
  for await (const piece of body) {
    if (response.destroyed) return
    if (!response.write(piece))
      await new Promise<void>(resolve => void response.once('drain', resolve).once('close', resolve))
  }
  response.end()
}
