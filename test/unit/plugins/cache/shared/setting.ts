import type { TestContext } from 'node:test'
import { type JsonObject, type Plugin, SharedMemory, type SharedStore } from '../../../../../src/plugin.ts'
import {
  closeAfter,
  testClient,
  testGateway,
  testUpstream,
  type TestClient,
  type TestGateway,
} from '../../../../../src/testing/index.ts'
import { redisFor, type Redis } from '../../../../fixtures/redis.ts'
import { replica } from '../../cluster/setting.ts'

export const HOUR = 3_600_000

/** Memory of this process as what replicas share, by a clock that can be moved on. */
export class Common {
  readonly memory: SharedMemory
  later = 0

  constructor() {
    this.memory = new SharedMemory({ now: () => performance.now() + this.later })
  }
}

/** Server that counts what it is asked. */
export interface Counted {
  readonly url: string
  asked(tool: string): number
  lists(): number
  release(): void
}

export async function counted(t: TestContext): Promise<Counted> {
  const waiting: (() => void)[] = []
  const numbers = new Map<string, number>()
  const numbered = (name: string) => (): string => {
    const number = (numbers.get(name) ?? 0) + 1
    numbers.set(name, number)
    return `${name} ${number}`
  }
  const tools = {
    look: numbered('look'),
    large: () => 'x'.repeat(100_000),
    slow: () => new Promise<string>(resolve => waiting.push(() => resolve('slow'))),
    write: () => 'written',
  }
  const web = closeAfter(t, await testUpstream({ tools, ttlMs: HOUR, cacheScope: 'public' }))
  return {
    url: web.url,
    asked: tool => web.received('tools/call').filter(({ params }) => params?.name === tool).length,
    lists: () => web.received('tools/list').length,
    release: () => waiting.splice(0).forEach(resolve => resolve()),
  }
}

export function configFor(web: Counted, more: JsonObject = {}): JsonObject {
  const { cache, upstream, ...rest } = more as Record<string, JsonObject | undefined>
  return {
    upstreams: { web: { type: 'http', url: web.url, ...upstream } },
    cache: {
      shared: { wait: '5s' },
      tools: {
        web__look: { ttl: '1h', tags: ['things'], vary: ['header:x-lang'] },
        web__large: '1h',
        web__slow: '1h',
        web__write: { purges: ['tag:things'] },
      },
      ...cache,
    },
    ...rest,
  }
}

/** A gateway that has this memory in common with others. */
export async function over(
  t: TestContext,
  common: Common,
  config: JsonObject,
  changed: (store: SharedStore) => SharedStore = store => store,
): Promise<TestGateway> {
  const store = changed(common.memory.of({}))
  const shares: Plugin<never> = {
    name: 'shares',
    early: true,
    setup: ({ hooks }) => hooks.sharedStore.tap(() => store),
  }
  return closeAfter(t, await testGateway({ config, plugins: [shares] }))
}

/** Gateways one after another that have something in common: a memory, or a Redis. */
export interface Place {
  readonly redis?: Redis
  gateway(config: JsonObject): Promise<TestGateway>
  /** Forgets everything, as one that is started anew. */
  empty(): Promise<void>
}

export const PLACES: Readonly<Record<string, (t: TestContext) => Promise<Place>>> = {
  memory: t => {
    const common = new Common()
    return Promise.resolve({
      gateway: config => over(t, common, config),
      empty: async () => common.memory.clear(),
    })
  },
  redis: async t => {
    const redis = await redisFor(t)
    return {
      redis,
      gateway: config => replica(t, redis, config),
      empty: async () => void (await redis.ask('FLUSHALL')),
    }
  },
}

export async function clientOf(
  t: TestContext,
  one: TestGateway,
  headers: Record<string, string> = {},
  era: 'modern' | 'legacy' = 'modern',
): Promise<TestClient> {
  return closeAfter(t, await testClient(one.url, { headers, era }))
}

/** Text of what a tool of the server answers, or the error. */
export async function call(client: TestClient, tool = 'look', args: JsonObject = {}): Promise<string> {
  const { result, error } = await client.request('tools/call', { name: `web__${tool}`, arguments: args })
  const [content] = (result?.content ?? []) as readonly { readonly text?: string }[]
  return content?.text ?? JSON.stringify(error)
}

/** What `gateway cache ls` says of what is shared. */
export async function report(one: TestGateway): Promise<JsonObject> {
  return (await one.gateway.control('cache.ls')).shared as JsonObject
}

export async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = Date.now() + 30_000
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error('it never came to be')
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

/** Waits until so many answers were given to the others. */
export async function given(one: TestGateway, count: number): Promise<void> {
  await until(async () => Number((await report(one)).writes) >= count)
}
