import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { createKey } from '../../../../src/cli/scaffold.ts'
import type { JsonObject } from '../../../../src/plugin.ts'
import {
  closeAfter,
  TestClock,
  testClient,
  testGateway,
  testUpstream,
  type TestReply,
  type TestClient,
  type TestGateway,
} from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'quota-'))
  cleanup(t, () => rm(path, { recursive: true }))
  return path
}

const alice = createKey('alice', [])
const bob = createKey('bob', [])
const AUTH = {
  keys: [
    { name: 'alice', hash: alice.hash },
    { name: 'bob', hash: bob.hash },
  ],
}

interface Served extends TestGateway {
  readonly clock: TestClock
  as(key: string, era?: 'legacy' | 'modern'): Promise<TestClient>
  /** Resolves when so many slow calls have reached their server. */
  underWay(count: number): Promise<void>
  release(): void
}

async function serve(
  t: TestContext,
  rules: JsonObject,
  more: JsonObject = {},
  others: JsonObject = {},
): Promise<Served> {
  const waiting = new Set<() => void>()
  const watching = new EventEmitter()
  const slow = (): Promise<string> =>
    new Promise(resolve => {
      waiting.add(() => resolve('done'))
      watching.emit('arrived')
    })
  const tools = { read: () => 'rows', slow }
  const upstreams = {
    db: closeAfter(t, await testUpstream({ tools })),
    web: closeAfter(t, await testUpstream({ tools })),
  }
  const rateLimit = { rules, state: await folder(t), ...more }
  // An advanced clock looks like a delayed event loop.
  const config = { auth: AUTH, overload: false, rateLimit, ...others }
  const clock = new TestClock()
  const gateway = await testGateway({ upstreams, config, clock })
  // Before its directory is removed.
  cleanup(t, () => gateway[Symbol.asyncDispose]())
  return {
    ...gateway,
    clock,
    as: async (key, era = 'modern') =>
      closeAfter(t, await testClient(gateway, { era, headers: { authorization: `Bearer ${key}` } })),
    underWay: async count => {
      while (waiting.size < count) await once(watching, 'arrived')
    },
    release: () => {
      for (const resolve of waiting) resolve()
      waiting.clear()
    },
  }
}

const call = (client: TestClient, name: string): Promise<TestReply> => client.request('tools/call', { name })
const isRefused = (reply: TestReply): boolean => reply.error !== undefined

async function refusals(client: TestClient, name: string, times: number): Promise<number> {
  let count = 0
  for (let i = 0; i < times; i++) if (isRefused(await call(client, name))) count++
  return count
}

describe('a limit', () => {
  test('is of each principal, and says when to come back', async t => {
    const gateway = await serve(t, { calls: { tools: '*', perMinute: 3 } })
    for (const era of ['modern', 'legacy'] as const) {
      const client = await gateway.as(era === 'modern' ? alice.key : bob.key, era)
      assert.equal(await refusals(client, 'db__read', 3), 0)
    }
    const post = await fetch(gateway.url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${alice.key}`,
        'content-type': 'application/json',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'db__read',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name: 'db__read',
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      }),
    })
    assert.equal(post.status, 429)
    const seconds = Number(post.headers.get('retry-after'))
    assert.ok(seconds > 50 && seconds <= 60, `Retry-After: ${seconds}`)
    const { error } = (await post.json()) as { error: { message: string; data: JsonObject } }
    assert.equal(error.message, 'too many requests: rule "calls" allows 3 per minute')
    assert.equal(error.data.code, 'GW_RATE_LIMITED')
    assert.equal(Math.ceil(Number(error.data.retryAfterMs) / 1000), seconds)
  })

  test('of a minute ends with the minute that its first call began', async t => {
    const { as, clock } = await serve(t, { calls: { tools: '*', perMinute: 3 } })
    const client = await as(alice.key)
    for (let minute = 0; minute < 2; minute++) {
      assert.equal(await refusals(client, 'db__read', 1), 0)
      clock.advance(30_000)
      assert.equal(await refusals(client, 'db__read', 3), 1)
      clock.advance(30_000)
    }
  })

  test('is of each tool, each upstream, or of all together, as it says', async t => {
    const gateway = await serve(t, {
      'each-tool': { per: ['principal', 'tool'], perMinute: 2 },
      web: { upstreams: 'web', perMinute: 3 },
      all: { per: [], tools: '*', perMinute: 6 },
    })
    const one = await gateway.as(alice.key)
    assert.equal(await refusals(one, 'db__read', 3), 1)
    assert.equal(await refusals(one, 'web__read', 3), 1)
    const other = await gateway.as(bob.key)
    // Two of one tool, and the sixth of all.
    assert.equal(await refusals(other, 'web__read', 3), 1)
    assert.equal(await refusals(other, 'db__read', 1), 1)
  })

  test('counts lists and all else, where it names no tools', async t => {
    const gateway = await serve(t, { everything: { perMinute: 2, principals: 'alice' } })
    const client = await gateway.as(alice.key)
    await client.request('tools/list')
    await client.request('tools/list')
    assert.ok(isRefused(await client.request('tools/list')))
    const free = await gateway.as(bob.key)
    for (let i = 0; i < 4; i++) assert.ok(!isRefused(await free.request('tools/list')))
  })

  test('of a session is of the caller where each request is a session', async t => {
    const gateway = await serve(t, { calls: { tools: '*', per: ['session'], perMinute: 2 } })
    assert.equal(await refusals(await gateway.as(alice.key), 'db__read', 3), 1)
    assert.equal(await refusals(await gateway.as(bob.key), 'db__read', 2), 0)
  })

  test('of what is under way ends with the call, and a refused call counts nowhere', async t => {
    const gateway = await serve(t, { few: { tools: '*', inFlight: 2, perMinute: 4 }, most: { inFlight: 3 } })
    const client = await gateway.as(alice.key)
    const open = [call(client, 'db__slow'), call(client, 'db__slow')]
    await gateway.underWay(2)
    const refused = await call(client, 'web__read')
    assert.match(String(refused.error?.message), /2 concurrently/)
    assert.ok(!isRefused(await call(await gateway.as(bob.key), 'web__read')))
    gateway.release()
    assert.deepEqual((await Promise.all(open)).map(isRefused), [false, false])
    assert.equal(await refusals(client, 'web__read', 3), 1)
  })

  test('outlives a reload, also when it is changed', async t => {
    const rules = { calls: { tools: '*', perMinute: 2 } }
    const gateway = await serve(t, rules)
    const client = await gateway.as(alice.key)
    assert.equal(await refusals(client, 'db__read', 3), 1)
    const { config } = gateway.gateway.generation.loaded
    await gateway.gateway.reload({ ...config })
    assert.equal(await refusals(client, 'db__read', 1), 1)
    const changed = { ...config.rateLimit, rules: { calls: { tools: '*', perMinute: 3 } } }
    await gateway.gateway.reload({ ...config, rateLimit: changed })
    assert.equal(await refusals(client, 'db__read', 4), 3)
  })

  test('of a profile counts only its clients', async t => {
    const config = { auth: undefined, profiles: { guests: {}, staff: {} } }
    const gateway = await serve(t, { guests: { profiles: 'guests', perMinute: 1, per: [] } }, {}, config)
    for (const [profile, refused] of [
      ['guests', 1],
      ['staff', 0],
    ] as const) {
      const client = closeAfter(t, await testClient(`${gateway.url}/${profile}`))
      assert.equal(await refusals(client, 'web__read', 2), refused, profile)
    }
  })
})

describe('a limit of a day', () => {
  test('is kept by the next gateway, in the state directory where it names no place of its own', async t => {
    const kept = await folder(t)
    const rules = { daily: { tools: 'db__*', perDay: 3 } }
    const started = (): Promise<Served> => serve(t, rules, { state: undefined }, { state: { directory: kept } })
    const first = await started()
    assert.equal(await refusals(await first.as(alice.key), 'db__read', 2), 0)
    await first.gateway.close()
    const client = await (await started()).as(alice.key)
    assert.equal(await refusals(client, 'db__read', 3), 2)
    assert.equal(await refusals(client, 'web__read', 1), 0)
  })

  test('is added up by gateways with one directory each second, and outlives a crash', async t => {
    const state = await folder(t)
    const rules = { daily: { tools: 'db__*', perDay: 5 } }
    const [one, other] = [await serve(t, rules, { state }), await serve(t, rules, { state })]
    const [first, second] = [await one.as(alice.key), await other.as(alice.key)]
    assert.equal(await refusals(first, 'db__read', 2), 0)
    assert.equal(await refusals(second, 'db__read', 2), 0)
    for (const { clock } of [one, other]) clock.advance(1000)
    const third = await (await serve(t, rules, { state })).as(alice.key)
    assert.equal(await refusals(third, 'db__read', 3), 2)
    assert.equal(await refusals(second, 'db__read', 2), 1)
  })
})
