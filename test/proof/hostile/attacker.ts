/** A hostile client in a process of its own: `node attacker.ts <attack> <MCP URL> <API key> <milliseconds>`. Prints a `Tally`. */
import { connect, type Socket } from 'node:net'
import { setPriority } from 'node:os'
import { setTimeout as passed } from 'node:timers/promises'

/** Outcome of one attack. */
export interface Tally {
  readonly sent: number
  /** Answers by HTTP status; `cut` where there was none. */
  readonly answers: Readonly<Record<string, number>>
  /** Replies with what their reader must never see. */
  readonly leaks: number
}

type Attack = (until: number) => Promise<void>

/** Stands in every secret place of the proof: a credential of the operator, and a resource that is denied. */
const FORBIDDEN = /operator-credential|SECRET/
const MIB = 2 ** 20
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'attacker', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const [attack = '', url = '', key = '', ms = '0'] = process.argv.slice(2)
const { hostname, port, pathname } = new URL(url)
const answers: Record<string, number> = {}
let sent = 0
let leaks = 0

const ATTACKS: Readonly<Record<string, Attack>> = {
  calls: until => crowd(16, until, n => call(['evil__call', 'evilpipe__call'][n % 2] ?? '')),
  lists: until => crowd(8, until, () => rpc('tools/list', {})),
  reads: until => crowd(8, until, n => read(`memo://${'a'.repeat(4000)}/${n}`)),
  spellings: until => crowd(8, until, n => read(SPELLINGS[n % SPELLINGS.length] ?? '')),
  crowd: until => crowd(200, until, () => call('pipe__echo')),
  bombs: until => crowd(8, until, n => post(BOMBS[n % BOMBS.length]?.() ?? '')),
  churn: until => crowd(20, until, churn),
  unread,
}

const SPELLINGS = [
  'file:///secret/one',
  'FILE:///secret/one',
  'file:///%73ecret/one',
  'file:///public/../secret/one',
  'file:///public/%2e%2e/secret/one',
  'file:///./secret/one',
  'file:////secret/one',
  'file:/secret/one',
  'file://localhost/secret/one',
  'file://LOCALHOST/secret/one',
  'file:///secret%2fone',
  'file:///secret//one',
  'file:///secret/./one',
  'file:///secret\\one',
  'file:///secret/one?x',
  'file:///secret/one#x',
  'file:///SECRET/../secret/one',
  'file:///%2573ecret/one',
  'file:///secret/one%00',
]

/** Bodies as the sender of bombs makes them; each is made when it is sent. */
const BOMBS: readonly (() => string | Buffer)[] = [
  () => '['.repeat(4 * MIB - 1),
  () => '{"a":'.repeat(MIB / 2),
  () => `[${'0,'.repeat(1.9e6)}0]`,
  () =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"http__echo","arguments":{"a":${'['.repeat(3 * MIB)}`,
  () => `[${'{"jsonrpc":"2.0","id":1,"method":"ping"},'.repeat(80_000)}{}]`,
  () => JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', params: { a: 'x'.repeat(6 * MIB) } }),
  () => Buffer.alloc(4 * MIB - 1, 0xff),
  () => `{${names(200_000)}}`,
  () => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${names(380_000)}}}`,
  () =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"http__echo","arguments":{${names(380_000)}}}}`,
]

/** So many members of an object. */
function names(count: number): string {
  return Array.from({ length: count }, (_, n) => `"k${n}":1`).join(',')
}

setPriority(10)
await ATTACKS[attack]?.(performance.now() + Number(ms))
console.log(JSON.stringify({ sent, answers, leaks } satisfies Tally))
process.exit(0)

async function crowd(size: number, until: number, one: (n: number) => Promise<void>): Promise<void> {
  let n = 0
  const member = async (): Promise<void> => {
    while (performance.now() < until) await one(n++)
  }
  await Promise.race([Promise.all(Array.from({ length: size }, member)), passed(Number(ms) + 2000)])
}

function call(name: string): Promise<void> {
  const params = { name, arguments: {}, _meta: { ...META, progressToken: `t${sent}` } }
  return rpc('tools/call', params, { 'mcp-name': name })
}

function read(uri: string): Promise<void> {
  return rpc(
    'resources/read',
    { uri },
    { 'mcp-name': encodeURI(uri) === uri ? uri : `=?base64?${Buffer.from(uri).toString('base64')}?=` },
  )
}

function rpc(method: string, params: object, headers: Record<string, string> = {}): Promise<void> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: sent, method, params: { _meta: META, ...params } })
  return post(body, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...headers })
}

async function post(body: string | Buffer, headers: Record<string, string> = {}): Promise<void> {
  sent++
  try {
    const response = await fetch(url, {
      method: 'POST',
      signal: AbortSignal.timeout(5000),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${key}`,
        ...headers,
      },
      body,
    })
    const text = await response.text()
    if (FORBIDDEN.test(text)) leaks++
    count(String(response.status))
  } catch {
    count('cut')
  }
}

function count(what: string): void {
  answers[what] = (answers[what] ?? 0) + 1
}

/** Opens a session and leaves it behind; every third time the connection as well, in the middle. */
async function churn(n: number): Promise<void> {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: `churn-${n}`, version: '1' },
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
  if (n % 3 !== 0) return post(body)
  sent++
  const socket = connect(Number(port), hostname)
  await new Promise<void>(resolve => {
    socket.once('error', () => resolve())
    socket.once('close', () => resolve())
    socket.write(head(Buffer.byteLength(body)) + body.slice(0, 20), () =>
      setTimeout(() => socket.destroy(), 5),
    )
  })
  count('left')
}

/** Asks for a megabyte again and again on many connections, and reads none of it. */
async function unread(until: number): Promise<void> {
  const params = { name: 'big__large', arguments: {}, _meta: META }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const request =
    head(Buffer.byteLength(body), [
      'Mcp-Method: tools/call',
      'Mcp-Name: big__large',
      'MCP-Protocol-Version: 2026-07-28',
    ]) + body
  const sockets: Socket[] = []
  while (performance.now() < until) {
    if (sockets.length < 100) {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => undefined)
      socket.on('close', () => count('cut'))
      socket.pause()
      socket.write(request.repeat(4))
      sent += 4
      sockets.push(socket)
    }
    await passed(20)
  }
  for (const socket of sockets) socket.destroy()
}

function head(length: number, more: readonly string[] = []): string {
  const lines = [
    `POST ${pathname} HTTP/1.1`,
    `Host: ${hostname}:${port}`,
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    `Content-Length: ${length}`,
    ...more,
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}
