import { connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { HttpMessages } from '../peers/http-messages.ts'
import { Calls, requestText } from './calls.ts'
import type { Ask, Cell, Measured } from './messages.ts'

const MODERN = '2026-07-28'
const LEGACY = '2025-11-25'

/** The sessions of the legacy era, one for each server. */
const sessions = new Map<string, string>()

/** Keeps one connection busy for each request that may be under way. */
export async function measureHttp(url: URL, cell: Cell): Promise<Measured> {
  if (cell.ask.era === 'legacy') await openSession(url)
  // The catalog is asked for first, as clients do.
  await post(
    url,
    headers(url, { era: cell.ask.era, method: 'tools/list' }),
    requestText({ era: cell.ask.era, method: 'tools/list' }).join('1'),
  )
  const sockets = await Promise.all(Array.from({ length: cell.concurrency }, () => open(url)))
  try {
    return await new Promise<Measured>((resolve, reject) => {
      const calls = new Calls(cell, reject)
      const texts = wireText(url, cell.ask)
      for (const socket of sockets) keepBusy(socket, calls, texts, reject)
      calls.measure().then(resolve, reject)
    })
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}

function keepBusy(
  socket: Socket,
  calls: Calls,
  [before, after]: readonly [string, string],
  fail: (error: Error) => void,
): void {
  const send = (): void => {
    const id = calls.next()
    if (id !== undefined) socket.write(before + String(id) + after, 'latin1')
  }
  const replies = new HttpMessages((head, body) => {
    if (!head.startsWith('HTTP/1.1 200')) return fail(new Error(`${head}\n\n${body.toString()}`))
    calls.answered(body)
    send()
  })
  socket.on('data', (chunk: Buffer) => replies.push(chunk))
  socket.on('error', fail)
  socket.on('end', () => fail(new Error('the connection was closed')))
  send()
}

/** Head and body of a request, with the id between its halves. */
function wireText(url: URL, ask: Ask): readonly [string, string] {
  const [before, after] = requestText(ask)
  const length = before.length + after.length + 7
  return [`${headText(url, headers(url, ask), length)}${before}`, after]
}

function headers(url: URL, { era, method, tool }: Ask): Record<string, string> {
  if (era === 'legacy')
    return { 'mcp-protocol-version': LEGACY, 'mcp-session-id': sessions.get(url.href) ?? '' }
  return {
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
  return `POST ${url.pathname} HTTP/1.1\r\n${lines.join('')}\r\n`
}

async function open(url: URL): Promise<Socket> {
  const socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true })
  await once(socket, 'connect')
  return socket
}

async function openSession(url: URL): Promise<void> {
  if (sessions.has(url.href)) return
  const params = {
    protocolVersion: LEGACY,
    capabilities: {},
    clientInfo: { name: 'bench', version: '1.0.0' },
  }
  const head = await post(url, {}, JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }))
  const id = /\r\nmcp-session-id: *([^\r\n]+)/i.exec(head)?.[1]
  if (id === undefined) throw new Error(`no session was opened:\n${head}`)
  sessions.set(url.href, id)
  const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
  await post(url, { 'mcp-session-id': id, 'mcp-protocol-version': LEGACY }, initialized)
}

async function post(url: URL, own: Readonly<Record<string, string>>, body: string): Promise<string> {
  const socket = await open(url)
  try {
    return await new Promise<string>((resolve, reject) => {
      const reply = new HttpMessages((head, text) => {
        if (/^HTTP\/1.1 20[02]/.test(head) && !text.includes('"error":')) resolve(head)
        else reject(new Error(`${head}\n\n${text.toString()}`))
      })
      socket.on('data', (chunk: Buffer) => reply.push(chunk))
      socket.on('error', reject)
      socket.on('close', () => reject(new Error('the connection was closed')))
      socket.write(headText(url, own, body.length) + body)
    })
  } finally {
    socket.destroy()
  }
}
