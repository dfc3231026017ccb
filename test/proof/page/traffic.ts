import { createHash } from 'node:crypto'
import { testClient, testUpstream, type TestClient, type TestUpstream } from '../../../src/testing/index.ts'
import { type Gateway, startGateway } from '../reloads/gateway.ts'

const SERVERS = 200
const TOOLS_EACH = 5
const CALLERS = 50
/** Calls that wait for their answers at a time, over all callers. */
const AT_ONCE = 8

/** A gateway of many servers, with callers before it. */
export interface Traffic {
  readonly gateway: Gateway
  /** Makes so many calls, as fast as they are answered. */
  call(count: number): Promise<void>
  /** Calls at an even rate until it is told to stop. */
  keepCalling(perSecond: number): () => Promise<void>
  stop(): Promise<void>
}

export async function startTraffic(kept: number): Promise<Traffic> {
  const tools = Object.fromEntries(
    Array.from({ length: TOOLS_EACH }, (_, i) => [`tool_${i}`, () => `found ${i} rows`]),
  )
  const upstream = await testUpstream({ tools })
  const keys = Array.from({ length: CALLERS }, (_, i) => `key-of-the-caller-number-${i}`)
  const gateway = await startGateway(configOf(upstream, keys, kept))
  const clients = await Promise.all(
    keys.map((key, i) =>
      testClient(gateway.url, {
        headers: { authorization: `Bearer ${key}` },
        info: { name: `client-${i % 7}`, version: '1' },
      }),
    ),
  )
  // What one caller is shown is known for that one alone.
  for (const client of clients) await wholeList(client)
  let made = 0
  const one = async (): Promise<void> => {
    const at = made++
    const client = clients[at % clients.length] as TestClient
    const name = `server${at % SERVERS}__tool_${at % TOOLS_EACH}`
    // A machine that does other things resets a connection now and then; the call is made once more then.
    const send = (): ReturnType<TestClient['request']> =>
      client.request('tools/call', { name, arguments: { limit: at } })
    const { error } = await send().catch(send)
    if (error !== undefined) throw new Error(error.message)
  }
  const call = async (count: number): Promise<void> => {
    let left = count
    const loop = async (): Promise<void> => {
      while (left-- > 0) await one()
    }
    await Promise.all(Array.from({ length: AT_ONCE }, loop))
  }
  return {
    gateway,
    call,
    keepCalling: perSecond => keepCalling(perSecond, call),
    async stop() {
      await Promise.all(clients.map(client => client.close()))
      await gateway.stop()
      await upstream[Symbol.asyncDispose]()
    },
  }
}

const PAUSE_MS = 200
const MOST_TRIES = 300

/** Resolves once every server has said its tools: the first list leaves out those that are slow. */
async function wholeList(client: TestClient): Promise<void> {
  for (let i = 0; i < MOST_TRIES; i++) {
    if ((await countOfTools(client)) >= SERVERS * TOOLS_EACH) return
    await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
  }
  throw new Error('some servers have not said their tools')
}

async function countOfTools(client: TestClient): Promise<number> {
  let count = 0
  let cursor: unknown
  do {
    const { result } = await client.request('tools/list', cursor === undefined ? {} : { cursor })
    if (Array.isArray(result?.tools)) count += result.tools.length
    cursor = result?.nextCursor
  } while (typeof cursor === 'string')
  return count
}

const TENTH_MS = 100

function keepCalling(perSecond: number, call: (count: number) => Promise<void>): () => Promise<void> {
  let isOver = false
  const running = (async () => {
    while (!isOver) {
      const next = new Promise(resolve => setTimeout(resolve, TENTH_MS))
      await call(perSecond / 10)
      await next
    }
  })()
  return () => {
    isOver = true
    return running
  }
}

function configOf({ url }: TestUpstream, keys: readonly string[], kept: number): string {
  const upstreams = Array.from({ length: SERVERS }, (_, i) => [
    `server${i}`,
    { type: 'http', url, start: 'lazy' },
  ])
  const known = keys.map((key, i) => ({
    name: `caller-${i}`,
    hash: `sha256:${createHash('sha256').update(key).digest('hex')}`,
  }))
  // JSON is YAML.
  return JSON.stringify({
    version: 1,
    listeners: { web: { type: 'http', port: 0 } },
    auth: { keys: known },
    ui: { calls: kept },
    cache: false,
    upstreams: Object.fromEntries(upstreams) as object,
  })
}
