import { connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { HttpMessages } from '../peers/http-messages.ts'
import { Calls, requestParts } from './calls.ts'
import type { Ask, Cell, Hold, Measured } from './messages.ts'

const MODERN = '2026-07-28'
const LEGACY = '2025-11-25'

/** An endpoint, and what else its requests carry. */
export interface Place {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
}

/** Legacy sessions by URL: one for each connection, as each client has its own. */
const sessions = new Map<string, string[]>()

/** Keeps one connection busy for each request that may be under way. */
export async function measureHttp(place: Place, cell: Cell): Promise<Measured> {
  await prepareSessions(place, cell)
  const sockets = await Promise.all(Array.from({ length: cell.concurrency }, () => openSocket(place.url)))
  try {
    return await new Promise<Measured>((resolve, reject) => {
      const calls = new Calls(cell, reject)
      const wait = cell.pace === undefined ? 0 : (cell.concurrency * 1000) / cell.pace
      for (const [index, socket] of sockets.entries())
        keepBusy(socket, { calls, parts: wireParts(place, cell.ask, index), wait, fail: reject })
      calls.measure().then(resolve, reject)
    })
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}

/** Opens the sessions, and asks for the list of tools as clients do first. */
async function prepareSessions(place: Place, { ask: { era }, concurrency }: Cell): Promise<void> {
  const { href } = place.url
  const openAll = async (): Promise<void> => {
    const known = sessions.get(href) ?? []
    while (era === 'legacy' && known.length < concurrency) known.push(await openSession(place))
    sessions.set(href, known)
    const ask: Ask = { era, method: 'tools/list' }
    await post(place, headers(place, ask, 0), requestParts(ask).join('1'))
  }
  try {
    await openAll()
  } catch (error) {
    // A server may have forgotten its sessions by now.
    if (sessions.get(href)?.length === 0 || !sessions.delete(href)) throw error
    await openAll()
  }
}

interface Lane {
  readonly calls: Calls
  readonly parts: readonly string[]
  /** Milliseconds from an answer to the next request. */
  readonly wait: number
  fail(error: Error): void
}

function keepBusy(socket: Socket, { calls, parts, wait, fail }: Lane): void {
  const send = (): void => {
    const id = calls.next()
    if (id !== undefined) socket.write(parts.join(String(id)), 'latin1')
  }
  const replies = new HttpMessages((head, body) => {
    if (!head.startsWith('HTTP/1.1 200')) return fail(new Error(`${head}\n\n${body.toString()}`))
    for (const message of messagesOf(head, body)) calls.answered(message)
    if (wait === 0) send()
    else setTimeout(send, wait)
  })
  socket.on('data', (chunk: Buffer) => {
    try {
      replies.push(chunk)
    } catch (error) {
      fail(error as Error)
    }
  })
  socket.on('error', fail)
  socket.on('end', () => calls.isOver || fail(new Error('the connection was closed')))
  send()
}

const DATA = Buffer.from('data: ')

/** The one message of a JSON reply, or those of a stream of events. */
function messagesOf(head: string, body: Buffer): readonly Buffer[] {
  if (!/\r\ncontent-type: *text\/event-stream/i.test(head)) return [body]
  const messages: Buffer[] = []
  for (let at = body.indexOf(DATA); at >= 0; at = body.indexOf(DATA, at)) {
    const end = body.indexOf('\n', at)
    const message = body.subarray(at + DATA.length, end)
    // An event with an id alone has no data.
    if (message.length > 2) messages.push(message)
    at = end
  }
  return messages
}

/** Head and body of a request, with the id between its parts. */
function wireParts(place: Place, ask: Ask, connection: number): readonly string[] {
  const [first = '', ...others] = requestParts(ask)
  const length = first.length + others.reduce((sum, part) => sum + part.length + 7, 0)
  return [`${headText(place.url, headers(place, ask, connection), length)}${first}`, ...others]
}

function headers(place: Place, { era, method, tool }: Ask, connection: number): Record<string, string> {
  if (era === 'legacy')
    return {
      ...place.headers,
      'mcp-protocol-version': LEGACY,
      'mcp-session-id': sessions.get(place.url.href)?.[connection] ?? '',
    }
  return {
    ...place.headers,
    'mcp-protocol-version': MODERN,
    'mcp-method': method,
    ...(tool === undefined ? {} : { 'mcp-name': tool }),
  }
}

function headText(url: URL, own: Readonly<Record<string, string>>, length: number): string {
  const all = {
    host: url.host,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    ...own,
    'content-length': String(length),
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join('')}\r\n`
}

export async function openSocket(url: URL): Promise<Socket> {
  const socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true })
  await once(socket, 'connect')
  return socket
}

async function openSession(place: Place): Promise<string> {
  const params = {
    protocolVersion: LEGACY,
    capabilities: {},
    clientInfo: { name: 'bench', version: '1.0.0' },
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
  const head = await post(place, place.headers, body)
  const id = /\r\nmcp-session-id: *([^\r\n]+)/i.exec(head)?.[1]
  if (id === undefined) throw new Error(`no session was opened:\n${head}`)
  const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
  await post(place, { ...place.headers, 'mcp-session-id': id, 'mcp-protocol-version': LEGACY }, initialized)
  return id
}

/** Opens sessions that say nothing more, and keeps the GET stream of each where that is wanted. */
export async function holdSessions({ url, sessions: count, hasStreams, areEnded = false }: Hold): Promise<void> {
  const place = { url: new URL(url), headers: {} }
  const AT_ONCE = 8
  for (let opened = 0; opened < count; opened += AT_ONCE) {
    const ids = await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - opened) }, () => openSession(place)))
    if (hasStreams) await Promise.all(ids.map(id => openStream(place.url, id)))
    if (areEnded) await Promise.all(ids.map(id => endSession(place.url, id)))
  }
}

async function openStream(url: URL, session: string): Promise<void> {
  const socket = await openSocket(url)
  socket.write(bareText('GET', url, session))
  await once(socket, 'data')
  // The stream has no reader, and it must not fill up; its end is the gateway's.
  socket.on('error', () => socket.destroy())
  socket.resume()
}

async function endSession(url: URL, session: string): Promise<void> {
  const socket = await openSocket(url)
  socket.write(bareText('DELETE', url, session))
  await once(socket, 'data')
  socket.destroy()
}

/** A request without a body. */
function bareText(method: 'GET' | 'DELETE', url: URL, session: string): string {
  const lines = [
    `${method} ${url.pathname} HTTP/1.1`,
    `host: ${url.host}`,
    'accept: text/event-stream',
    `mcp-session-id: ${session}`,
    `mcp-protocol-version: ${LEGACY}`,
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}

async function post(place: Place, own: Readonly<Record<string, string>>, body: string): Promise<string> {
  const { url } = place
  const socket = await openSocket(url)
  try {
    return await new Promise<string>((resolve, reject) => {
      const reply = new HttpMessages((head, text) => {
        if (/^HTTP\/1.1 20[02]/.test(head) && !text.includes('"error":')) resolve(head)
        else reject(new Error(`${head}\n\n${text.toString()}`))
      })
      socket.on('data', (chunk: Buffer) => reply.push(chunk))
      socket.on('error', reject)
      socket.on('close', () => reject(new Error('the connection was closed')))
      socket.write(headText(url, own, Buffer.byteLength(body)) + body)
    })
  } finally {
    socket.destroy()
  }
}
