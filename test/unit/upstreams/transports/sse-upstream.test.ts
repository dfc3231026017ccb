import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getOwnerProblem } from '../../../../src/errors/errors.ts'
import { answerTo, oldServer, type Said } from './network-upstream.ts'
import { bench, callOf, httpSpec, sseSpec, textOf, toolCall } from '../../fixtures/upstream-bench.ts'
import { until } from '../../../fixtures/until.ts'

test('an http upstream that takes no POST is spoken to over HTTP+SSE', async t => {
  const server = await oldServer(t)
  const { upstream } = await bench(t, httpSpec(server.url))

  await upstream.start()

  assert.equal(upstream.state, 'ready')
  assert.equal(textOf(await upstream.dispatch(toolCall('x'))), 'tools/call')
})

test('an http upstream that speaks neither says what came of the POST', async t => {
  const server = await oldServer(t, { endpoint: 'http://127.0.0.1:1/post' })
  const { upstream } = await bench(t, httpSpec(server.url))

  await upstream.start()

  assert.match(getOwnerProblem(upstream) ?? '', /^HTTP 404; last message: Cannot POST/)
})

test('nothing is posted to another origin', async t => {
  const elsewhere = await oldServer(t)
  const server = await oldServer(t, { endpoint: elsewhere.url.replace('/sse', '/post') })
  const { upstream } = await bench(t, sseSpec(server.url))

  await upstream.start()

  assert.match(upstream.problem ?? '', /endpoint outside/)
  assert.equal(elsewhere.posts.length, 0)
})

test('an upstream whose stream ends fails its calls and is connected anew', async t => {
  const silent = (said: Said): string | undefined => (said.method === 'tools/call' ? undefined : answerTo(said))
  const server = await oldServer(t, { answer: silent })
  const { upstream, states } = await bench(t, sseSpec(server.url))
  await upstream.start()
  const call = upstream.dispatch(toolCall('x'))
  await until(() => server.posts.length === 3, 'the call has arrived')

  server.cut()

  await assert.rejects(call, { code: 'GW_UPSTREAM_CLOSED' })
  await until(() => states.filter(state => state === 'ready').length === 2, 'it is ready again')
  assert.equal(server.streams.length, 2)
})

test('a session that the server has forgotten is replaced, and reads are repeated', async t => {
  let isForgotten = false
  const server = await oldServer(t, {
    status: ({ method }) => {
      if (method !== 'tools/list' || isForgotten) return undefined
      isForgotten = true
      return 404
    },
  })
  const { upstream } = await bench(t, sseSpec(server.url))
  await upstream.start()

  const answer = await upstream.dispatch(callOf('tools/list'))

  assert.ok('result' in answer)
  assert.equal(server.streams.length, 2)
})

test('a 400 that only speaks of a session ends none', async t => {
  const server = await oldServer(t, {
    status: ({ method }) => (method === 'tools/call' ? 400 : undefined),
  })
  const { upstream } = await bench(t, sseSpec(server.url))
  await upstream.start()

  await assert.rejects(upstream.dispatch(toolCall('x')), (error: Error) => !/forgotten/.test(error.message))

  assert.equal(server.streams.length, 1)
})

test('a message above the limit ends the connection', async t => {
  const big = (said: Said): string | undefined =>
    said.method === 'tools/call'
      ? JSON.stringify({ jsonrpc: '2.0', id: said.id, result: { text: 'x'.repeat(5000) } })
      : answerTo(said)
  const server = await oldServer(t, { answer: big })
  const { upstream } = await bench(t, sseSpec(server.url, { maxReply: 2000 }))
  await upstream.start()

  await assert.rejects(upstream.dispatch(toolCall('x')), /larger than 2000 bytes/)
})
