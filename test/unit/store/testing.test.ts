import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testClient, testUpstream } from '../../../src/testing/index.ts'

const ERAS = ['modern', 'legacy'] as const

for (const era of ERAS) {
  test(`a ${era} client calls, lists and reads on a test upstream`, async t => {
    const upstream = closeAfter(
      t,
      await testUpstream({
        pageSize: 2,
        tools: {
          echo: args => String(args.text),
          b: () => ({ code: -32602, message: 'no' }),
          c: { title: 'C', run: () => ({ content: [] }) },
        },
        prompts: { hello: () => 'hi' },
        resources: { 'test://a': 'text of a' },
      }),
    )
    const client = closeAfter(t, await testClient(upstream, { era }))

    const first = await client.request('tools/list')
    assert.equal((first.result?.tools as unknown[]).length, 2)
    assert.equal(first.result?.ttlMs, era === 'modern' ? 0 : undefined)
    const second = await client.request('tools/list', { cursor: first.result?.nextCursor })
    assert.deepEqual(second.result?.tools, [{ name: 'c', inputSchema: { type: 'object' }, title: 'C' }])

    assert.deepEqual((await client.request('tools/call', { name: 'echo', arguments: { text: 'x' } })).result?.content, [
      { type: 'text', text: 'x' },
    ])
    assert.deepEqual((await client.request('tools/call', { name: 'b' })).error, {
      code: -32602,
      message: 'no',
    })
    assert.equal((await client.request('tools/call', { name: 'nope' })).error?.code, -32602)
    assert.deepEqual((await client.request('prompts/get', { name: 'hello' })).result?.messages, [
      { role: 'user', content: { type: 'text', text: 'hi' } },
    ])
    assert.equal((await client.request('resources/read', { uri: 'test://a' }, { id: 'read' })).id, 'read')
    assert.equal(upstream.listCalls('tools/call').length, 3)
  })

  test(`a ${era} call carries its notifications, and the stream the others`, async t => {
    const upstream = closeAfter(
      t,
      await testUpstream({
        tools: {
          slow: (_args, { notify }) => {
            notify('notifications/progress', { progressToken: 1, progress: 1 })
            return 'done'
          },
        },
      }),
    )
    const client = closeAfter(t, await testClient(upstream, { era }))
    await client.listen()
    await upstream.waitForListener()

    const reply = await client.request('tools/call', { name: 'slow' })
    const reached = upstream.notify('notifications/tools/list_changed')

    assert.deepEqual(
      reply.notifications.map(({ method }) => method),
      ['notifications/progress'],
    )
    assert.equal(reached, 1)
    await client.nextNotification('notifications/tools/list_changed')
  })

  test(`a ${era} client that gives a call up is noticed`, async t => {
    const upstream = closeAfter(t, await testUpstream({ tools: { wait: () => 'late' }, delayMs: 10_000 }))
    const client = closeAfter(t, await testClient(upstream, { era }))

    const running = client.start('tools/call', { name: 'wait' })
    const call = await upstream.waitForCall('tools/call')
    await running.cancel()
    await call.waitForCancel()

    assert.equal((await running.reply).isCancelled, true)
  })
}

test('a test upstream answers any method it is given', async t => {
  const upstream = closeAfter(t, await testUpstream({ methods: { 'vendor/x': params => ({ got: params.a }) } }))
  const client = closeAfter(t, await testClient(upstream))

  assert.equal((await client.request('vendor/x', { a: 7 })).result?.got, 7)
  assert.equal((await client.request('vendor/y')).error?.code, -32601)
})

test('a restarted upstream keeps its port and forgets its sessions', async t => {
  const upstream = closeAfter(t, await testUpstream({ tools: {} }))
  const client = closeAfter(t, await testClient(upstream, { era: 'legacy' }))
  const { url } = upstream

  await upstream.restart()

  assert.equal(upstream.url, url)
  assert.equal((await client.request('tools/list')).status, 404)
})
