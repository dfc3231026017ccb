import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { fetch, type Response } from 'undici'
import type { JsonObject } from '../../../src/plugin.ts'
import { closeAfter, testClient, type TestClient } from '../../../src/testing/index.ts'
import { taskServer } from '../../fixtures/tasks.ts'
import { everything, skipOne, twoWorkers, until, placeOf } from './setting.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { CHANGED, heardToggle, isShown } from '../../unit/fixtures/dynamic-tool.ts'

const TASKS = 'io.modelcontextprotocol/tasks'
const FORM = { elicitation: { form: {} } }

/** Legacy clients, one of each worker. */
async function oneEach(url: string, options: object = {}): Promise<TestClient[]> {
  const clients: TestClient[] = []
  for (let tries = 0; tries < 6 && clients.length < 2; tries++) {
    const client = await testClient(url, { era: 'legacy', ...options })
    const place = placeOf(client.initialized?.headers['mcp-session-id'])
    const isNew = clients.every(other => placeOf(other.initialized?.headers['mcp-session-id']) !== place)
    if (isNew) clients.push(client)
    else await client.close()
    await skipOne(url)
  }
  assert.equal(clients.length, 2, 'each worker opens sessions')
  return clients
}

test('two workers are one gateway to clients of both eras', async t => {
  const tasks = await taskServer('legacy')
  cleanup(t, () => tasks.stop())
  const { url, ps } = await twoWorkers(t, {
    listeners: { main: { type: 'http', port: 0, sse: {} } },
    metrics: {},
    rateLimit: {
      rules: {
        few: { per: ['principal', 'tool'], tools: 'test_simple_text', perMinute: 3 },
        some: { per: ['principal', 'tool'], tools: 'test_wait', inFlight: 2 },
        most: { per: ['principal'], perMinute: 10_000 },
      },
    },
    upstreams: {
      all: everything('legacy', { prefix: '' }),
      tasks: { type: 'http', url: tasks.url, prefix: 'job_' },
    },
  })

  await t.test('a session is found wherever its client connects', async t => {
    for (const client of await oneEach(url)) {
      closeAfter(t, client)
      for (let call = 0; call < 4; call++) {
        const { result, status } = await client.request('tools/call', {
          name: 'test_echo',
          arguments: { message: `call ${call}` },
        })
        assert.equal(status, 200)
        assert.match(JSON.stringify(result), new RegExp(`call ${call}`))
      }
      const { notifications } = await client.request('tools/call', {
        name: 'test_tool_with_progress',
        arguments: {},
        _meta: { progressToken: 'p' },
      })
      assert.equal(notifications.length, 3, 'what is told on the way comes along')
    }
  })

  await t.test('an id that no worker has given out is nobody’s, whichever worker it names', async () => {
    const places = (await ps()).workers.map(({ load }) => load.replica)
    assert.equal(places.length, 2)
    for (const id of [...places.map(place => `${place}_guessed`), `r${'0'.repeat(16)}_guessed`, 'guessed'])
      for (let turn = 0; turn < 2; turn++) {
        const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
        const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
        const own = { ...headers, 'mcp-session-id': id, connection: 'close' }
        const { status } = await fetch(url, { method: 'POST', headers: own, body })
        assert.equal(status, 404, `${id}, turn ${turn}`)
      }
  })

  await t.test('everybody who listens hears of a list that changed, on either worker', async t => {
    const legacy = await oneEach(url)
    const modern = [await testClient(url), await testClient(url)]
    const all = [...legacy, ...modern]
    for (const client of all) {
      closeAfter(t, client)
      await client.listen()
    }

    await modern[0]?.request('tools/call', { name: 'test_trigger_tool_change', arguments: {} })

    await Promise.all(all.map(client => client.notified('notifications/tools/list_changed')))
  })

  await t.test('who subscribed to a resource hears of it, wherever it was touched', async t => {
    const all = await oneEach(url)
    const uri = 'test://watched-resource'
    for (const client of all) {
      closeAfter(t, client)
      await client.listen()
      const { error } = await client.request('resources/subscribe', { uri })
      assert.equal(error, undefined)
    }

    await all[0]?.request('tools/call', { name: 'test_trigger_resource_change', arguments: { uri } })

    await Promise.all(all.map(client => client.notified('notifications/resources/updated')))
  })

  await t.test('the retry of a call that waits for its client finds it, from either worker', async t => {
    const client = closeAfter(t, await testClient(url, { capabilities: FORM }))
    const name = 'test_elicitation'
    for (let turn = 0; turn < 2; turn++) {
      const asked = { name, arguments: { message: `turn ${turn}` } }
      const { result: wish } = await client.request('tools/call', asked)
      assert.equal(wish?.resultType, 'input_required')
      const [key] = Object.keys(wish.inputRequests as JsonObject)
      const inputResponses = { [String(key)]: { action: 'accept', content: { username: `ann ${turn}` } } }
      if (turn === 1) await skipOne(url)
      const { result, error } = await client.request('tools/call', {
        ...asked,
        requestState: wish.requestState,
        inputResponses,
      })
      assert.equal(error, undefined)
      assert.match(JSON.stringify(result), new RegExp(`action=accept.*ann ${turn}`))
    }
  })

  await t.test('a limit is one for both', t => limits(t, url))

  await t.test('figures are those of all processes', () => figures(url))

  await t.test('a task that one worker hosts can be looked at and cancelled through the other', async t => {
    const capabilities = { extensions: { [TASKS]: {} } }
    const client = closeAfter(t, await testClient(url, { capabilities }))

    for (let turn = 0; turn < 2; turn++) {
      const begun = await client.request('tools/call', {
        name: 'job_slow_compute',
        arguments: { seconds: 30 },
      })
      const { taskId } = begun.result ?? {}
      assert.ok(placeOf(taskId), JSON.stringify(begun))
      if (turn === 1) await skipOne(url)
      const seen = await client.request('tasks/get', { taskId })
      assert.equal(seen.result?.status, 'working', JSON.stringify(seen))
      await client.request('tasks/cancel', { taskId })
      await skipOne(url)
      const ended = await client.request('tasks/get', { taskId })
      assert.equal(ended.result?.status, 'cancelled', JSON.stringify(ended))
    }
    const [first] = (await ps()).workers
    const { error } = await client.request('tasks/get', { taskId: `${String(first?.load.replica)}.guessed` })
    assert.match(String(error?.message), /Unknown task/)
  })

  await t.test('a conversation of HTTP+SSE takes what is posted at the other worker', async () => {
    await postToEventStream(url, async () => undefined)
    await postToEventStream(url, () => skipOne(url))
  })
})

/** Begins a conversation of HTTP+SSE, and reads what comes of its first message. */
async function postToEventStream(url: string, between: () => Promise<void>): Promise<void> {
  const stop = new AbortController()
  const headers = { accept: 'text/event-stream', connection: 'close' }
  const read = readerOf(await fetch(new URL('/sse', url), { headers, signal: stop.signal }))
  const [, path = ''] = /data: (\S+)/.exec(await read()) ?? []
  await between()
  const hello = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 't', version: '1' } }
  const posted = await fetch(new URL(path, url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: hello }),
  })
  assert.equal(posted.status, 202)
  assert.match(await read(), /"protocolVersion":"2024-11-05"/)
  stop.abort()
}

/** All that a stream says next. */
function readerOf({ body }: Response): () => Promise<string> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  return async () => String((await reader?.read())?.value)
}

async function limits(t: TestContext, url: string): Promise<void> {
  const client = closeAfter(t, await testClient(url))
  const codes: unknown[] = []
  for (let call = 0; call < 6; call++) {
    const { error } = await client.request('tools/call', { name: 'test_simple_text', arguments: {} })
    codes.push((error?.data as JsonObject | undefined)?.code)
  }
  const limited = 'GW_RATE_LIMITED'
  assert.deepEqual(codes, [undefined, undefined, undefined, limited, limited, limited])
  const calls = [1, 2, 3, 4].map(n =>
    client.start('tools/call', { name: 'test_wait', arguments: { id: `wait ${n}` } }),
  )
  const refused: unknown[] = []
  for (const { reply } of calls)
    void reply.then(({ error }) => refused.push((error?.data as JsonObject | undefined)?.code))
  await until(() => refused.length === 2)
  assert.deepEqual(refused, [limited, limited])
  for (const call of calls) await call.cancel()
}

async function figures(url: string): Promise<void> {
  const page = await (await fetch(new URL('/metrics', url))).text()
  const workers = new Set([...page.matchAll(/process_resident_memory_bytes\{worker="(\d)"/g)].map(m => m[1]))
  assert.deepEqual(workers, new Set(['0', '1', '2']))
  assert.equal(page.match(/# TYPE tapgate_sessions /g)?.length, 1)
}

test('a session whose calls go to a process of its own hears what changes there, and lists it, at whichever worker', async t => {
  const running = await twoWorkers(t, { fit: false, upstreams: { it: everything('dual', { prefix: '' }) } })
  const [other, another] = await oneEach(running.url)
  const [client, same] = await oneEach(running.url, { capabilities: { elicitation: {} } })
  assert.ok(other !== undefined && another !== undefined && client !== undefined && same !== undefined)
  // Both workers keep the list from now on, so that the others are given it without a word to the primary.
  for (const one of [other, another]) await isShown(closeAfter(t, one))
  for (const one of [client, same]) await closeAfter(t, one).listen()
  const atFirst = await isShown(client)
  await isShown(same)

  for (const expected of [!atFirst, atFirst, !atFirst]) {
    const heard = same.notified(CHANGED)
    await heardToggle(client)
    assert.equal(await isShown(client), expected)
    await heard
    assert.equal(await isShown(same), expected, 'it uses the same second process')
    assert.equal(await isShown(other), atFirst, 'others are shown the lists of the main one')
  }
})
