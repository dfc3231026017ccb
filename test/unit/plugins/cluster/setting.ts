import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { Agent, fetch } from 'undici'
import type { Clock } from '../../../../src/api/index.ts'
import { closeAfter, testGateway, testUpstream, type TestGateway } from '../../../../src/testing/index.ts'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { type Redis, redisFor } from '../../../fixtures/redis.ts'

export const KEY = { id: 'a', key: randomBytes(32).toString('base64') }

const configs = new WeakMap<TestGateway, JsonObject>()

/** Gives a running replica other keys. */
export function withKeys(one: TestGateway, keys: readonly object[]): Promise<void> {
  return reloadWith(one, { keys })
}

/** Loads the configuration of a running replica again, with something else in `cluster`. */
export async function reloadWith(one: TestGateway, cluster: JsonObject): Promise<void> {
  const config = configs.get(one)
  await one.gateway.reload({ ...config, cluster: { ...(config?.cluster as object), ...cluster } })
}

/** Replicas of one gateway, before one server. */
export interface Replicas {
  readonly redis: Redis
  readonly gateways: readonly TestGateway[]
  readonly urls: readonly string[]
  /** Ids in the order of the gateways. */
  readonly ids: readonly string[]
}

export async function replicas(
  t: TestContext,
  count: number,
  config: JsonObject = {},
  clock?: Clock,
): Promise<Replicas> {
  const redis = await redisFor(t)
  const web = closeAfter(t, await testUpstream({ tools: { echo: args => JSON.stringify(args) } }))
  const gateways: TestGateway[] = []
  for (let number = 0; number < count; number++)
    gateways.push(await replica(t, redis, { upstreams: { web: { type: 'http', url: web.url } }, ...config }, clock))
  const ids = await Promise.all(gateways.map(async one => String((await statusOf(one)).self)))
  return { redis, gateways, urls: gateways.map(({ url }) => url), ids }
}

export async function replica(t: TestContext, redis: Redis, config: JsonObject, clock?: Clock): Promise<TestGateway> {
  const cluster = { redis: redis.url, keys: [KEY], ...(config.cluster as object | undefined) }
  const whole = { listeners: { main: { type: 'http', port: 0 } }, ...config, cluster }
  const gateway = await testGateway({ config: whole, ...(clock === undefined ? {} : { clock }) })
  configs.set(gateway, { version: 1, ...whole })
  cleanup(t, () => gateway[Symbol.asyncDispose]())
  return gateway
}

export function statusOf({ gateway }: TestGateway): Promise<JsonObject> {
  return gateway.control('cluster.replicas')
}

/** Answer of one request. */
export interface Said {
  readonly status: number
  readonly session: string
  readonly headers: Headers
  readonly body: JsonObject
}

let lastId = 0
const AGENT = new Agent({ pipelining: 0 })

/** Posts one message, as a client of either era would. */
export async function say(url: string, message: object, session?: string): Promise<Said> {
  const answer = await fetch(url, {
    dispatcher: AGENT,
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session === undefined ? {} : { 'mcp-session-id': session }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: ++lastId, ...message }),
  })
  const text = await answer.text()
  const data = /^data: (.*)$/m.exec(text)?.[1] ?? text
  return {
    status: answer.status,
    session: answer.headers.get('mcp-session-id') ?? '',
    headers: answer.headers as unknown as Headers,
    body: (data === '' ? {} : JSON.parse(data)) as JsonObject,
  }
}

export const INITIALIZE = {
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
}
export const LIST = { method: 'tools/list' }

/** Opens a legacy session. */
export async function open(url: string): Promise<string> {
  const { session } = await say(url, INITIALIZE)
  await say(url, { method: 'notifications/initialized', id: undefined }, session)
  return session
}

/** Text of a call of the server's echo. */
export async function echo(url: string, session: string, text: string): Promise<string> {
  const params = { name: 'web__echo', arguments: { text } }
  const { status, body } = await say(url, { method: 'tools/call', params }, session)
  return `${status} ${JSON.stringify(body)}`
}

/** Resolves once this holds. */
export async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = Date.now() + 30_000
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error('it never came to be')
    await new Promise(resolve => setTimeout(resolve, 30))
  }
}
