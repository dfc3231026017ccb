import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../../../src/protocol/json/json.ts'
import { definePlugin, type Plugin } from '../../../../../src/plugin.ts'
import {
  closeAfter,
  testClient,
  testGateway,
  testUpstream,
  type TestClient,
  type TestGateway,
} from '../../../../../src/testing/index.ts'
import { cleanup } from '../../../../fixtures/cleanup.ts'
import { redisFor, skip } from '../../../../fixtures/redis.ts'
import { CAPABILITIES, type Conversation } from '../../../../fixtures/roads/conversation.ts'
import { callOverRest, overSocket, ROADS } from '../../../../fixtures/roads/roads.ts'
import { taskServer } from '../../../../fixtures/tasks.ts'
import { KEY, until } from '../setting.ts'

const EVERYTHING = fileURLToPath(new URL('../../../../fixtures/everything.ts', import.meta.url))
const RESULT = 'io.tapgate/result'

/** What was settled where, and for whom. */
interface Settled {
  readonly at: string
  readonly method: string
  readonly caller: string
  readonly listener: string
  readonly via: string
  readonly hasAddress: boolean
}

interface World {
  readonly owner: TestGateway
  readonly other: TestGateway
  /** The caller `ann` at the replica that keeps things, over modern HTTP. */
  readonly ann: TestClient
  readonly settled: Settled[]
  /** Requests of a method that run at the replica that keeps things. */
  running(method: string): number
}

function hashOf(key: string): string {
  return `sha256:${createHash('sha256').update(key).digest('hex')}`
}

function witness(at: string, settled: Settled[], begun: string[]): Plugin {
  return definePlugin({
    name: 'witness',
    setup({ hooks }) {
      hooks.request.tap({ stage: 'policy' }, ({ method }) => {
        begun.push(`${at} ${method}`)
        return undefined
      })
      hooks.settled.tap(({ method, principal, session, via, remoteAddress }) => {
        const { subject: caller } = principal
        settled.push({
          at,
          method,
          caller,
          listener: session.listener,
          via,
          hasAddress: remoteAddress !== undefined,
        })
      })
    },
  })
}

/** Two replicas; one of them keeps what its clients have. */
async function world(t: TestContext): Promise<World> {
  const redis = await redisFor(t)
  const web = closeAfter(t, await testUpstream({ tools: { long: () => 'x'.repeat(5000) } }))
  const [tasks, newer] = [await taskServer('legacy'), await taskServer('modern')]
  cleanup(t, () => tasks.stop())
  cleanup(t, () => newer.stop())
  const args = [EVERYTHING, '--stdio', '--era', 'legacy']
  const config = {
    listeners: { main: { type: 'http', port: 0, ws: {}, sse: {} } },
    auth: { keys: ['ann', 'bob'].map(name => ({ name, hash: hashOf(name) })) },
    rest: {},
    cache: false,
    shape: { maxTokens: 200 },
    upstreams: {
      web: { type: 'http', url: web.url },
      job: { type: 'http', url: tasks.url },
      newer: { type: 'http', url: newer.url },
      all: { type: 'stdio', command: process.execPath, args, prefix: '' },
    },
    cluster: { redis: redis.url, keys: [KEY] },
  }
  const settled: Settled[] = []
  const begun: string[] = []
  const open = async (at: string): Promise<TestGateway> => {
    const made = await testGateway({ config, plugins: [witness(at, settled, begun)] })
    cleanup(t, () => made[Symbol.asyncDispose]())
    return made
  }
  const [owner, other] = [await open('owner'), await open('other')]
  const options = { headers: { authorization: 'Bearer ann' }, capabilities: CAPABILITIES.modern }
  const running = (method: string): number =>
    begun.filter(one => one === `owner ${method}`).length -
    settled.filter(one => one.at === 'owner' && one.method === method).length
  return { owner, other, settled, running, ann: closeAfter(t, await testClient(owner.url, options)) }
}

async function keptBy(client: TestClient): Promise<{ readonly handle: string; readonly uri: string }> {
  const { result } = await client.request('tools/call', { name: 'web__long', arguments: {} })
  const said = (result?._meta as JsonObject | undefined)?.[RESULT] as
    { handle: string; uri: string } | undefined
  assert.match(String(said?.handle), /^r[0-9a-f]{16}\./, JSON.stringify(result))
  return said as { handle: string; uri: string }
}

async function begunBy(client: TestClient): Promise<string> {
  const call = { name: 'job__slow_compute', arguments: { seconds: 600 } }
  const { result } = await client.request('tools/call', call)
  assert.match(String(result?.taskId), /^r[0-9a-f]{16}\./, JSON.stringify(result))
  return String(result?.taskId)
}

function read(handle: string): JsonObject {
  return { name: 'read_result', arguments: { handle } }
}

test('what another replica keeps is there on every road, for its caller alone', { skip }, async t => {
  const { other, ann, settled } = await world(t)
  const { handle, uri } = await keptBy(ann)
  const client = { url: other.url, key: 'ann' }

  for (const [road, begin] of Object.entries(ROADS))
    await t.test(`over ${road}`, async t => {
      const taskId = await begunBy(ann)
      const own = await begin(t, client)
      const stranger = await begin(t, { ...client, key: 'bob' })
      const from = settled.length

      const page = await own.ask('tools/call', read(handle))
      assert.match(JSON.stringify(page.result), /x{200}/, JSON.stringify(page))
      const whole = await own.ask('resources/read', { uri })
      assert.match(JSON.stringify(whole.result), /x{5000}/, JSON.stringify(whole))
      const status = async (): Promise<unknown> =>
        ((await own.ask('tasks/get', { taskId })).result as JsonObject | undefined)?.status
      assert.equal(await status(), 'working')

      const pried = await stranger.ask('tools/call', read(handle))
      assert.equal((pried.result as JsonObject).isError, true)
      for (const method of ['tasks/get', 'tasks/cancel'])
        assert.equal(((await stranger.ask(method, { taskId })).error as JsonObject).code, -32602)
      assert.equal(await status(), 'working', 'nobody else has cancelled it')

      const ended = await own.ask('tasks/cancel', { taskId })
      assert.equal(ended.error, undefined, JSON.stringify(ended))
      const seen = await ann.request('tasks/get', { taskId })
      assert.equal(seen.result?.status, 'cancelled', JSON.stringify(seen))

      const asked = settled.slice(from).filter(({ method }) => method !== 'tools/list')
      for (const one of asked)
        assert.deepEqual([one.at, one.listener, one.hasAddress], ['owner', 'main', true], JSON.stringify(one))
      assert.deepEqual(
        asked.filter(({ caller }) => caller === 'bob').map(({ method }) => method),
        ['tools/call', 'tasks/get', 'tasks/cancel'],
      )
    })

  await t.test('over REST', async () => {
    const own = await callOverRest(client, read(handle))
    assert.deepEqual([own.status, /x{200}/.test(JSON.stringify(own.body))], [200, true], JSON.stringify(own))
    const pried = await callOverRest({ ...client, key: 'bob' }, read(handle))
    assert.doesNotMatch(JSON.stringify(pried.body), /x{200}/)
  })
})

test(
  'a call that waits for its client is answered over a WebSocket at another replica',
  { skip },
  async t => {
    const { other, ann } = await world(t)
    const asked = { name: 'test_elicitation', arguments: { message: 'who' } }
    const { result: wish } = await ann.request('tools/call', asked)
    assert.equal(wish?.resultType, 'input_required', JSON.stringify(wish))
    const [key] = Object.keys(wish.inputRequests as JsonObject)
    const inputResponses = { [String(key)]: { action: 'accept', content: { username: 'ann' } } }
    const retry = { ...asked, requestState: wish.requestState, inputResponses }

    const stranger = await overSocket(t, { url: other.url, key: 'bob' }, 'modern')
    assert.notEqual((await stranger.ask('tools/call', retry)).error, undefined)
    const own = await overSocket(t, { url: other.url, key: 'ann' }, 'modern')
    const answered = await own.ask('tools/call', retry)
    assert.match(JSON.stringify(answered.result), /action=accept.*ann/, JSON.stringify(answered))
    assert.notEqual((await own.ask('tools/call', retry)).error, undefined, 'it was answered once')
  },
)

test('a task asks its client at another replica, and the reply comes back', { skip }, async t => {
  const { owner, other } = await world(t)
  const keeper = await overSocket(t, { url: owner.url, key: 'ann' }, 'legacy')
  const call = { name: 'newer__confirm_delete', arguments: { filename: 'a.txt' }, task: {} }
  for (const [road, begin] of Object.entries(ROADS)) {
    if (road.endsWith('modern')) continue
    await t.test(`over ${road}`, async t => {
      const made = await keeper.ask('tools/call', call)
      const { taskId } = ((made.result as JsonObject | undefined)?.task ?? {}) as JsonObject
      assert.match(String(taskId), /^r[0-9a-f]{16}\./, JSON.stringify(made))
      const reply = (): JsonObject => ({ action: 'accept', content: { confirm: true } })
      const own = await begin(t, { url: other.url, key: 'ann', reply })

      const answer = await own.ask('tasks/result', { taskId })

      assert.match(JSON.stringify(answer.result), /deleted: .*confirm.*true/, JSON.stringify(answer))
      assert.match(JSON.stringify(own.heard), /Delete a\.txt\?/)
    })
  }
})

test('a client hears of a task at another replica until it has heard enough', { skip }, async t => {
  const { other, ann, running } = await world(t)
  const taskId = await begunBy(ann)
  const own = await overSocket(t, { url: other.url, key: 'ann' }, 'modern')

  const { id } = own.start('subscriptions/listen', { notifications: { taskIds: [taskId] } })
  await until(() => told(own, 'notifications/tasks').length > 0)
  await ann.request('tasks/cancel', { taskId })
  await until(() => told(own, 'notifications/tasks').some(({ status }) => status === 'cancelled'))
  own.tell('notifications/cancelled', { requestId: id })

  await until(() => running('subscriptions/listen') === 0)
})

test(
  'whoever waits at another replica and goes away, or cancels, leaves nothing behind',
  { skip },
  async t => {
    const { other, ann, running } = await world(t)
    const taskId = await begunBy(ann)

    const one = await overSocket(t, { url: other.url, key: 'ann' }, 'legacy')
    const { id } = one.start('tasks/result', { taskId })
    await until(() => running('tasks/result') === 1)
    one.tell('notifications/cancelled', { requestId: id })
    await until(() => running('tasks/result') === 0)

    await t.test('a closed connection', async t => {
      const two = await overSocket(t, { url: other.url, key: 'ann' }, 'legacy')
      two.start('tasks/result', { taskId })
      await until(() => running('tasks/result') === 1)
    })
    await until(() => running('tasks/result') === 0)
    const seen = await ann.request('tasks/get', { taskId })
    assert.equal(seen.result?.status, 'working', 'the task goes on')
  },
)

test('what a replica kept has gone with it, in the words for what is too old', { skip }, async t => {
  const { other, owner, ann, running } = await world(t)
  const { handle } = await keptBy(ann)
  const taskId = await begunBy(ann)
  const own = await overSocket(t, { url: other.url, key: 'ann' }, 'legacy')
  const waiting = own.start('tasks/result', { taskId }).answer
  await until(() => running('tasks/result') === 1)

  await owner.gateway.close()

  assert.notEqual((await waiting).error, undefined)
  const unknown = await own.ask('tasks/get', {
    taskId: `${taskId.slice(0, 18)}${'A'.repeat(taskId.length - 18)}`,
  })
  await until(async () => {
    const gone = await own.ask('tasks/get', { taskId })
    return JSON.stringify(gone.error) === JSON.stringify(unknown.error)
  })
  const page = await own.ask('tools/call', read(handle))
  assert.match(JSON.stringify(page.result), /no result is kept for you/)
})

function told({ heard }: Conversation, method: string): JsonObject[] {
  return heard.filter(message => message.method === method).map(({ params }) => params as JsonObject)
}
