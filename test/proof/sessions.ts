/**
 * Each caller gets its own state and nobody else's: 50 callers with two labels each against a server that counts, on stdio
 * and on HTTP, and then 10,000 requests with session ids of others, made up, doubled and chosen by the client.
 *
 *     npm run proof -- sessions
 */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { randomUUID } from 'node:crypto'
import { testGateway, testUpstream } from '../../src/testing/index.ts'
import { byToken, from, modern, rest } from '../unit/fixtures/by-token.ts'
import { script } from '../unit/fixtures/upstream-bench.ts'

const CALLERS = 50
const LABELS = ['one', 'two']
const ROUNDS = 5
const HOSTILE = 10_000
const AT_ONCE = 32

const HELLO = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'proof', version: '1' } }
const began = performance.now()
const counts = new Map<string, number>()
/** Counts the calls of each of its sessions. */
const counter = await testUpstream({
  era: 'legacy',
  tools: {
    count: (_args, { headers }) => {
      const session = String(headers['mcp-session-id'])
      const count = (counts.get(session) ?? 0) + 1
      counts.set(session, count)
      return `${session} ${count}`
    },
  },
})
const instances = CALLERS * LABELS.length + 8
const pool = { max: instances, perPrincipal: 4 }
const piped = {
  type: 'stdio',
  command: process.execPath,
  args: [script('keeping-server.mjs')],
  isolation: 'session',
  pool,
}
const { url, gateway } = await testGateway({
  plugins: [byToken],
  config: {
    rest: {},
    listeners: { main: { type: 'http', port: 0, limits: { sessions: 5000, sessionsPerPrincipal: 1000 } } },
    processes: { max: instances + 8, starting: 8 },
    upstreams: {
      piped: { ...piped, startupTimeout: '60s' },
      remote: { type: 'http', url: counter.url, isolation: 'session', pool },
    },
  },
})

const callers = Array.from({ length: CALLERS }, (_, n) => `caller-${n}`)
const pairs = callers.flatMap(who => LABELS.map(label => ({ who, label })))
for (const upstream of ['piped', 'remote']) await ownCounts(upstream)
await hostile()
console.log(`in all ${((performance.now() - began) / 1000).toFixed(1)} s`)
await gateway.close()
await counter.stop()

/** Every pair counts alone from one to the end, by turns through REST, modern and legacy MCP. */
async function ownCounts(upstream: string): Promise<void> {
  const start = performance.now()
  let crossed = 0
  const owners = new Set<string>()
  await side(pairs, async ({ who, label }) => {
    const session = await open(who, label)
    for (let n = 1; n <= ROUNDS; n++) {
      const { owner, count } = await counted(upstream, n, who, label, session)
      if (count !== n) crossed++
      if (n === 1) owners.add(owner)
    }
  })
  assert.equal(crossed, 0)
  assert.equal(owners.size, pairs.length)
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  console.log(
    `${upstream}: ${CALLERS} callers × ${LABELS.length} labels, each its own 1…${ROUNDS} on ${owners.size} instances, ${crossed} cross-overs, ${seconds} s`,
  )
}

async function counted(
  upstream: string,
  n: number,
  who: string,
  label: string,
  session: string,
): Promise<{ owner: string; count: number }> {
  const name = `${upstream}__count`
  const call = { name, arguments: {} }
  const ways = [
    ['/tools/call', rest(name)],
    ['/mcp', modern('tools/call', call)],
    ['/mcp', legacy('tools/call', call, session)],
  ] as const
  const [path, init] = ways[n % ways.length] ?? ways[0]
  const reply = await fetch(new URL(path, url), from(who, init, label))
  const found = /"text":"(\S+) (\d+)"/.exec(await reply.text())
  return { owner: String(found?.[1]), count: Number(found?.[2]) }
}

interface Attempt {
  readonly what: string
  readonly status: number
  /** The count that it must get, where it gets one. */
  readonly count?: number
  /** Owner of the sequence of counts that it belongs to. */
  readonly who?: string
  send(): Promise<Response>
}

/** All that others try: none of it may count for anybody else, and each gets the status that it should. */
async function hostile(): Promise<void> {
  const start = performance.now()
  const victims = callers.slice(0, 10)
  const ids = await Promise.all(victims.map(who => open(who, 'one')))
  const before = await Promise.all(victims.map(who => peek(who)))
  const seen = new Map<string, number>()
  const own = new Map<string, number[]>()
  let wrong = 0
  await side(
    Array.from({ length: HOSTILE }, (_, n) => n),
    async n => {
      const attempt = attemptOf(n, ids[n % ids.length] ?? '', victims[n % victims.length] ?? '')
      const reply = await attempt.send()
      const text = await reply.text()
      const count = Number(/"text":"\S+ (\d+)"/.exec(text)?.[1])
      const isRight = reply.status === attempt.status && (attempt.count === undefined || count === attempt.count)
      if (!isRight) wrong++
      if (attempt.who !== undefined) own.set(attempt.who, [...(own.get(attempt.who) ?? []), count])
      const key = `${attempt.what}: ${reply.status}`
      seen.set(key, (seen.get(key) ?? 0) + 1)
    },
  )
  const after = await Promise.all(victims.map(who => peek(who)))
  const touched = after.filter((count, n) => count !== (before[n] ?? 0) + 1)
  const mixed = [...own.values()].filter(counts => !isSequence(counts))
  const crossed = touched.length + mixed.length
  for (const [key, count] of [...seen].sort()) console.log(`  ${key} × ${count}`)
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  console.log(`${HOSTILE} hostile requests: ${wrong} wrong answers, ${crossed} cross-overs, ${seconds} s`)
  assert.deepEqual({ wrong, crossed }, { wrong: 0, crossed: 0 })
}

/** 1 to the end, each once, in any order. */
function isSequence(counts: readonly number[]): boolean {
  return [...counts].sort((a, b) => a - b).every((count, index) => count === index + 1)
}

async function peek(who: string): Promise<number> {
  const reply = await fetch(new URL('/tools/call', url), from(who, rest('remote__count'), 'one'))
  return Number(/"text":"\S+ (\d+)"/.exec(await reply.text())?.[1])
}

function attemptOf(n: number, id: string, victim: string): Attempt {
  const call = { name: 'remote__count', arguments: {} }
  const to =
    (path: string, init: RequestInit): (() => Promise<Response>) =>
    () =>
      fetch(new URL(path, url), init)
  const mallory = `mallory-${n % 7}`
  const attempts: readonly Attempt[] = [
    {
      what: 'a session of another',
      status: 404,
      send: to('/mcp', from(mallory, legacy('tools/call', call, id))),
    },
    {
      what: 'a session made up',
      status: 404,
      send: to('/mcp', from(victim, legacy('tools/call', call, randomUUID()))),
    },
    {
      what: 'a session that the client chose',
      status: 200,
      send: to('/mcp', from(mallory, legacy('initialize', HELLO, `chosen-${n % 5}`))),
    },
    {
      what: 'two session ids',
      status: 400,
      send: twice('/mcp', from(victim, legacy('tools/call', call, id)), 'mcp-session-id', [id, id]),
    },
    {
      what: 'two labels',
      status: 400,
      send: twice('/tools/call', from(victim, rest(call.name)), 'x-session-id', ['one', 'two']),
    },
    {
      what: 'a label that is no word',
      status: 400,
      send: to('/tools/call', from(mallory, rest(call.name), `["test","","${victim}"] one`)),
    },
    // The label of another is one's own: it counts what this caller did with it, and nothing else.
    {
      what: 'the label of another',
      status: 200,
      who: `stranger-${n % 5}`,
      send: to('/tools/call', from(`stranger-${n % 5}`, rest(call.name), 'one')),
    },
    { what: 'no label', status: 200, count: 1, send: to('/tools/call', from(victim, rest(call.name))) },
    { what: 'nobody', status: 401, send: to('/tools/call', rest(call.name)) },
  ]
  return attempts[n % attempts.length] as Attempt
}

/** Sent as two lines, which `fetch` would join to one. */
function twice(path: string, init: RequestInit, name: string, values: string[]): () => Promise<Response> {
  const headers: Record<string, string | string[]> = Object.fromEntries(init.headers as Headers)
  return () =>
    new Promise((resolve, reject) => {
      const sent = request(new URL(path, url), { method: 'POST', headers: { ...headers, [name]: values } })
      sent.on('error', reject)
      sent.on('response', reply => {
        reply.resume()
        reply.on('end', () => resolve(new Response('', { status: reply.statusCode ?? 0 })))
      })
      sent.end(init.body)
    })
}

function legacy(method: string, params: object, session?: string): RequestInit {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
  if (session !== undefined) headers['mcp-session-id'] = session
  return { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) }
}

async function open(who: string, label: string): Promise<string> {
  const reply = await fetch(new URL('/mcp', url), from(who, legacy('initialize', HELLO), label))
  await reply.text()
  return reply.headers.get('mcp-session-id') ?? ''
}

/** Works through a list, some at a time. */
async function side<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values()
  const workers = Array.from({ length: AT_ONCE }, async () => {
    for (const item of rest) await work(item)
  })
  await Promise.all(workers)
}
