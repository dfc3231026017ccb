import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../src/plugin.ts'
import { closeAfter, testClient, testUpstream, type TestClient } from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { redisFor, skip } from '../../fixtures/redis.ts'
import { CAPABILITIES, type Conversation } from '../../fixtures/roads/conversation.ts'
import { callOverRest, overPipe, overSocket, ROADS } from '../../fixtures/roads/roads.ts'
import { taskServer } from '../../fixtures/tasks.ts'
import { directory, gateway, serving, type Serving } from '../cli/run.ts'
import { everything, placeOf, skipOne, until, type Ps } from './setting.ts'

const ANN = 'ann'
const AUTH = { keys: [{ name: ANN, hash: `sha256:${createHash('sha256').update(ANN).digest('hex')}` }] }

const onWindows = process.platform === 'win32'

interface Running extends Serving {
  readonly url: string
  readonly cwd: string
}

/** A gateway process that has what can be kept: results, tasks, calls that wait. */
async function running(t: TestContext, flags: readonly string[], more: JsonObject = {}): Promise<Running> {
  const config = {
    version: 1,
    listeners: { main: { type: 'http', port: 0, ws: {}, sse: {} } },
    rest: {},
    cache: false,
    shape: { maxTokens: 200 },
    ...more,
  }
  const cwd = await directory(t, { 'gateway.yaml': JSON.stringify(config) })
  const served = serving(t, ['serve', ...flags], { cwd })
  const url = String((await served.logged('listening'))['url'])
  await served.logged('serving')
  return { ...served, url, cwd }
}

async function upstreams(t: TestContext): Promise<JsonObject> {
  const web = closeAfter(
    t,
    await testUpstream({ tools: { long: ({ tag }) => `${'x'.repeat(5000)}${String(tag)}` } }),
  )
  const tasks = await taskServer('legacy')
  cleanup(t, () => tasks.stop())
  return {
    web: { type: 'http', url: web.url },
    job: { type: 'http', url: tasks.url },
    all: everything('legacy', { prefix: '' }),
  }
}

function modern(url: string, key?: string): Promise<TestClient> {
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` }
  return testClient(url, { capabilities: CAPABILITIES.modern, headers })
}

/** The same result twice is one to its caller, wherever it is kept. */
let lastTag = 0

async function resultOf(client: TestClient): Promise<string> {
  const { result } = await client.request('tools/call', { name: 'web__long', arguments: { tag: ++lastTag } })
  const said = (result?._meta as JsonObject | undefined)?.['io.tapgate/result'] as JsonObject | undefined
  assert.ok(placeOf(said?.handle) !== undefined, JSON.stringify(result))
  return String(said?.handle)
}

async function taskOf(client: TestClient): Promise<string> {
  const call = { name: 'job__slow_compute', arguments: { seconds: 600 } }
  const { result } = await client.request('tools/call', call)
  assert.ok(placeOf(result?.taskId) !== undefined, JSON.stringify(result))
  return String(result?.taskId)
}

/** Looks at what somebody keeps, and ends it. */
async function reaches(client: Conversation, keeper: TestClient, handle: string): Promise<void> {
  const taskId = await taskOf(keeper)
  const page = await client.ask('tools/call', { name: 'read_result', arguments: { handle } })
  assert.match(JSON.stringify(page.result), /x{200}/, JSON.stringify(page))
  const seen = await client.ask('tasks/get', { taskId })
  assert.equal((seen.result as JsonObject | undefined)?.status, 'working', JSON.stringify(seen))
  const ended = await client.ask('tasks/cancel', { taskId })
  assert.equal(ended.error, undefined, JSON.stringify(ended))
  assert.equal((await keeper.request('tasks/get', { taskId })).result?.status, 'cancelled')
}

/** Answers over one road what a call has asked over another. */
async function answers(client: Conversation, keeper: TestClient): Promise<void> {
  const asked = { name: 'test_elicitation', arguments: { message: 'who' } }
  const { result: wish } = await keeper.request('tools/call', asked)
  const [key] = Object.keys(wish?.inputRequests ?? {})
  const inputResponses = { [String(key)]: { action: 'accept', content: { username: 'ann' } } }
  const answer = await client.ask('tools/call', {
    ...asked,
    requestState: wish?.requestState,
    inputResponses,
  })
  assert.match(JSON.stringify(answer.result), /action=accept.*ann/, JSON.stringify(answer))
}

/** Ends the process in the middle of a request about what it keeps; whoever asked hears that it has ended. */
async function killed(client: Conversation, pid: number, taskId: string, handle: string): Promise<void> {
  const waiting = client.start('tasks/result', { taskId }).answer
  const looked = await client.ask('tasks/get', { taskId })
  assert.equal((looked.result as JsonObject | undefined)?.status, 'working', JSON.stringify(looked))

  process.kill(pid, 'SIGKILL')

  const lost = await waiting
  assert.match(
    String((lost.error as JsonObject | undefined)?.message),
    /has ended meanwhile/,
    JSON.stringify(lost),
  )
  await until(async () => (await client.ask('tasks/get', { taskId })).error !== undefined)
  await until(async () =>
    /no result is kept for you/.test(
      JSON.stringify(await client.ask('tools/call', { name: 'read_result', arguments: { handle } })),
    ),
  )
}

interface Keeper {
  readonly client: TestClient
  readonly handle: string
}

/** Two workers, and a client that has kept something at each. */
async function workers(
  t: TestContext,
  key: string | undefined,
  ...flags: string[]
): Promise<{ served: Running; keepers: readonly Keeper[]; handedOn(): Promise<number> }> {
  const auth = key === undefined ? {} : { auth: AUTH }
  const served = await running(t, ['--workers', '2', ...flags], { ...auth, upstreams: await upstreams(t) })
  const { url, cwd } = served
  const keepers = new Map<string | undefined, Keeper>()
  let count = 0
  await until(async () => {
    const client = closeAfter(t, await modern(url, key))
    const handle = await resultOf(client)
    keepers.set(placeOf(handle), { client, handle })
    // Each client is one connection: where they went to one worker in turn, the next goes to the other.
    if (++count % 3 === 0) await skipOne(url)
    return keepers.size === 2
  })
  const handedOn = async (): Promise<number> =>
    Number((JSON.parse((await gateway(['replicas', '--json'], { cwd })).stdout) as JsonObject).handedOn)
  return { served, keepers: [...keepers.values()], handedOn }
}

test('with two workers, what one keeps is there on every road to the other', { skip: onWindows }, async t => {
  const { served, keepers, handedOn } = await workers(t, ANN)
  const { url } = served
  const before = await handedOn()
  for (const [road, begin] of Object.entries(ROADS))
    await t.test(`over ${road}`, async t => {
      // Wherever it is, one of the two is elsewhere.
      const client = await begin(t, { url, key: ANN })
      for (const { client: keeper, handle } of keepers) {
        await reaches(client, keeper, handle)
        if (road.endsWith('modern')) await answers(client, keeper)
      }
    })
  assert.ok((await handedOn()) - before >= 4 * 3, 'each road has gone to the other worker')
  await t.test('over REST', async () => {
    for (const { handle } of keepers) {
      const params = { name: 'read_result', arguments: { handle } }
      const { status, body } = await callOverRest({ url, key: ANN }, params)
      assert.deepEqual([status, /x{200}/.test(JSON.stringify(body))], [200, true], JSON.stringify(body))
    }
  })
})

test('a client on the pipe of the first worker finds what the second keeps', { skip: onWindows }, async t => {
  const { served, keepers } = await workers(t, undefined, '--stdio', '--with-listeners')
  const { stdin: input, stdout: output } = served.child
  const client = await overPipe({ input, output }, 'modern')
  for (const { client: keeper, handle } of keepers) {
    await reaches(client, keeper, handle)
    await answers(client, keeper)
  }
})

test(
  'a worker that is killed takes what it kept along, and says so to whoever waits',
  { skip: onWindows },
  async t => {
    const { served, keepers } = await workers(t, ANN)
    const { url, cwd } = served
    const [keeper] = keepers
    assert.ok(keeper)
    const place = placeOf(keeper.handle)
    let client = await overSocket(t, { url, key: ANN }, 'legacy')
    for (let count = 1; placeOf(await ownHandle(client)) === place; count++) {
      if (count % 3 === 0) await skipOne(url)
      client = await overSocket(t, { url, key: ANN }, 'legacy')
    }
    const ps = JSON.parse((await gateway(['ps', '--json'], { cwd })).stdout) as Ps
    const owner = ps.workers.find(({ load }) => load.replica === place)
    assert.ok(owner)
    await killed(client, owner.pid, await taskOf(keeper.client), keeper.handle)
  },
)

async function ownHandle(client: Conversation): Promise<unknown> {
  const { result } = await client.ask('tools/call', { name: 'web__long', arguments: { tag: ++lastTag } })
  const said = ((result as JsonObject)._meta as JsonObject)['io.tapgate/result'] as JsonObject
  return said.handle
}

test(
  'two gateway processes on one Redis go on with what the other keeps, on a pipe as well',
  { skip },
  async t => {
    const redis = await redisFor(t)
    const key = Buffer.alloc(32, 7).toString('base64')
    const more = {
      auth: AUTH,
      upstreams: await upstreams(t),
      cluster: { redis: redis.url, keys: [{ id: 'a', key }] },
    }
    const one = await running(t, ['--stdio', '--with-listeners'], more)
    const other = await running(t, ['--stdio', '--with-listeners'], more)
    const [first, second] = [one, other].map(({ child }) => ({ input: child.stdin, output: child.stdout }))
    assert.ok(first && second)

    await t.test('between pipes, in both eras', async () => {
      const keeper = await overPipe(first, 'modern')
      const client = await overPipe(second, 'modern')
      const call = { name: 'job__slow_compute', arguments: { seconds: 600 } }
      const { taskId } = ((await keeper.ask('tools/call', call)).result ?? {}) as JsonObject
      assert.ok(placeOf(taskId) !== undefined)
      const seen = await client.ask('tasks/get', { taskId })
      assert.equal((seen.result as JsonObject | undefined)?.status, 'working', JSON.stringify(seen))
      assert.equal((await client.ask('tasks/cancel', { taskId })).error, undefined)
      const ended = await keeper.ask('tasks/get', { taskId })
      assert.equal((ended.result as JsonObject | undefined)?.status, 'cancelled', JSON.stringify(ended))

      const asked = { name: 'test_elicitation', arguments: { message: 'who' } }
      const wish = (await keeper.ask('tools/call', asked)).result as JsonObject
      const [name] = Object.keys(wish.inputRequests as JsonObject)
      const inputResponses = { [String(name)]: { action: 'accept', content: { username: 'ann' } } }
      const answer = await client.ask('tools/call', {
        ...asked,
        requestState: wish.requestState,
        inputResponses,
      })
      assert.match(JSON.stringify(answer.result), /action=accept.*ann/, JSON.stringify(answer))
    })

    const keeper = closeAfter(t, await modern(one.url, ANN))
    const handle = await resultOf(keeper)
    for (const [road, begin] of Object.entries(ROADS))
      await t.test(`over ${road}`, async t =>
        reaches(await begin(t, { url: other.url, key: ANN }), keeper, handle),
      )

    await t.test('kill -9 of the one that keeps it, under way', async t => {
      const client = await overSocket(t, { url: other.url, key: ANN }, 'legacy')
      await killed(client, Number(one.child.pid), await taskOf(keeper), handle)
    })
  },
)
