import { connect, type Socket } from 'node:net'
import { Agent, request } from 'node:http'
import { setTimeout as passed } from 'node:timers/promises'

/** Number of answers with each status; `cut` counts requests without an answer. */
export type Statuses = Record<string, number>

/** Says who asks; undefined for nobody. */
type Token = (n: number) => Promise<string | undefined>

const MIB = 2 ** 20
const AT_ONCE = 32
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bounds', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const agent = new Agent({ keepAlive: true, maxSockets: 2 * AT_ONCE })

/** Opens a legacy session for each of so many callers, and leaves it. */
export function sessions(url: string, count: number, token: Token): Promise<Statuses> {
  return each(count, async n => (await post(url, initialize(n), await named(token, n))).status)
}

/** Has each of so many callers call a tool once whose answers are kept. */
export function answers(url: string, count: number, token: Token): Promise<Statuses> {
  return each(count, async n => {
    const body = message('tools/call', {
      name: 'chatty__echo',
      arguments: { n, text: `a text for ${n}` },
      _meta: META,
    })
    const headers = {
      'mcp-method': 'tools/call',
      'mcp-name': 'chatty__echo',
      'mcp-protocol-version': '2026-07-28',
    }
    return (await post(url, body, { ...headers, ...(await named(token, n)) })).status
  })
}

/** Opens so many event streams that nobody reads, each of a session that is told of a resource 200 times a second. */
export async function streams(url: string, count: number, ms: number, token: Token): Promise<Statuses> {
  const open: Socket[] = []
  const found = await each(count, async n => {
    const who = await named(token, n)
    const { status, session = '' } = await post(url, initialize(n), who)
    const headers = { ...who, 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }
    open.push(await deaf(url, head('GET', url, { ...headers, accept: 'text/event-stream' })))
    await post(
      url,
      message('resources/subscribe', { uri: `news:///${'long/'.repeat(300)}${n % 10}` }),
      headers,
    )
    return status
  })
  await passed(ms)
  const cut = open.filter(socket => socket.closed).length
  for (const socket of open) socket.destroy()
  return { ...found, cut }
}

/** Sends so many bodies of 4 MiB but for their last byte, and waits. */
export async function bodies(url: string, count: number, ms: number, token: Token): Promise<Statuses> {
  const open = await Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const headers = { ...JSON_HEADERS, ...(await named(token, n)), 'content-length': String(4 * MIB) }
      return deaf(url, head('POST', url, headers) + ' '.repeat(4 * MIB - 1))
    }),
  )
  await passed(ms)
  const cut = open.filter(socket => socket.closed).length
  for (const socket of open) socket.destroy()
  return { open: count - cut, cut }
}

async function each(count: number, one: (n: number) => Promise<string>): Promise<Statuses> {
  const statuses: Statuses = {}
  let next = 0
  const work = async (): Promise<void> => {
    while (next < count) {
      const status = await one(next++)
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return statuses
}

async function named(token: Token, n: number): Promise<Record<string, string>> {
  const text = await token(n)
  return text === undefined ? {} : { authorization: `Bearer ${text}` }
}

function message(method: string, params: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
}

function initialize(n: number): string {
  const clientInfo = { name: `client-${n}`, version: '1' }
  return message('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
}

function post(
  url: string,
  body: string,
  more: Readonly<Record<string, string>>,
): Promise<{ status: string; session?: string | undefined }> {
  return new Promise(resolve => {
    const headers = { ...JSON_HEADERS, ...more, 'content-length': String(Buffer.byteLength(body)) }
    const sent = request(url, { method: 'POST', agent, headers }, response => {
      response.resume()
      const session = response.headers['mcp-session-id']
      const ended = {
        status: String(response.statusCode),
        session: typeof session === 'string' ? session : undefined,
      }
      response.on('end', () => resolve(ended))
      response.on('error', () => resolve({ status: 'cut' }))
    })
    sent.on('error', () => resolve({ status: 'cut' }))
    sent.end(body)
  })
}

/** A connection that sends this and reads nothing. */
function deaf(url: string, text: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  return new Promise(resolve => {
    socket.once('close', () => resolve(socket))
    socket.once('connect', () => {
      socket.pause()
      socket.write(text)
      resolve(socket)
    })
  })
}

function head(verb: string, url: string, headers: Readonly<Record<string, string>>): string {
  const { pathname, host } = new URL(url)
  const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${verb} ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n`
}
