import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isObject } from '../../../../src/protocol/json/json.ts'
import { valueOf } from './collector.ts'
import { bench, callSpans, PARENT, TRACE } from './kit.ts'

const OTHER = `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`

describe('spans', () => {
  test('writes a span for a call and one for its try at the server, as the collector reads them', async t => {
    const { to, call, web } = await bench(t)

    await call('web__search', { traceparent: PARENT, tracestate: 'rojo=1' })
    const { server, client } = await callSpans(to)

    assert.equal(server.name, 'tools/call web__search')
    assert.equal(client.name, 'tools/call search')
    assert.deepEqual([server.traceId, client.traceId], [TRACE, TRACE])
    assert.equal(server.parentSpanId, 'b7ad6b7169203331')
    assert.equal(client.parentSpanId, server.spanId)
    assert.equal(server.traceState, 'rojo=1')
    assert.deepEqual([server.flags, client.flags], [0x301, 0x101])
    assert.deepEqual(server.status, { code: 0 })
    assert.equal(valueOf(server, 'mcp.method.name'), 'tools/call')
    assert.equal(valueOf(server, 'gen_ai.tool.name'), 'web__search')
    assert.equal(valueOf(client, 'gen_ai.tool.name'), 'search')
    assert.equal(valueOf(server, 'gen_ai.operation.name'), 'execute_tool')
    assert.equal(valueOf(server, 'mcp.protocol.version'), '2026-07-28')
    assert.equal(valueOf(server, 'network.transport'), 'tcp')
    assert.equal(valueOf(server, 'gen_ai.tool.call.arguments'), undefined)
    assert.equal(valueOf(client, 'server.address'), '127.0.0.1')
    assert.equal(String(valueOf(client, 'server.port')), new URL(web.url).port)
    assert.ok(BigInt(server.startTimeUnixNano) <= BigInt(client.startTimeUnixNano))
    assert.ok(BigInt(client.endTimeUnixNano) <= BigInt(server.endTimeUnixNano))
    const age = Date.now() - Number(BigInt(server.endTimeUnixNano) / 1_000_000n)
    assert.ok(age >= -1000 && age < 60_000, `it is ${age} ms old`)
  })

  test('sends the context of the try to the server, in the message and as a header', async t => {
    const { to, call, web } = await bench(t)

    await call('web__search', { traceparent: PARENT, tracestate: 'rojo=1', 'example.com/own': 'kept' })
    const { client } = await callSpans(to)
    const [sent] = web.listCalls('tools/call')
    const meta = sent?.params?._meta

    assert.ok(isObject(meta))
    assert.equal(meta.traceparent, `00-${TRACE}-${client.spanId}-01`)
    assert.equal(meta.tracestate, 'rojo=1')
    assert.equal(meta['example.com/own'], 'kept')
    assert.equal(sent?.headers.traceparent, meta.traceparent)
  })

  test('takes the message for the parent, and the HTTP request for a link; without a message the request', async t => {
    const both = await bench(t)
    await both.call('web__search', { traceparent: PARENT }, { traceparent: OTHER })
    const linked = (await callSpans(both.to)).server
    const only = await bench(t)
    await only.call('web__search', {}, { traceparent: OTHER })
    const carried = (await callSpans(only.to)).server

    assert.equal(linked.parentSpanId, 'b7ad6b7169203331')
    assert.deepEqual(
      linked.links?.map(({ traceId, spanId }) => [traceId, spanId]),
      [['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']],
    )
    assert.equal(carried.parentSpanId, '00f067aa0ba902b7')
    assert.deepEqual(carried.links, [])
  })

  test('begins a trace of its own where the context is none', async t => {
    const { to, call } = await bench(t)

    await call('web__search', { traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01`, tracestate: 'a=1' })
    const { server } = await callSpans(to)

    assert.equal(server.parentSpanId, undefined)
    assert.equal(server.traceState, undefined)
    assert.notEqual(server.traceId, TRACE)
  })

  test('says of what went wrong the code, and of a tool that failed that it did', async t => {
    const { to, call } = await bench(t)

    await call('web__fails')
    const { server: failed, client } = await callSpans(to)
    await call('web__unknown')
    const spans = await to.got(to.spans.length + 1)
    const unknown = spans.find(({ name }) => name === 'tools/call web__unknown')

    assert.equal(valueOf(failed, 'error.type'), 'tool_error')
    assert.deepEqual([failed.status, client.status], [{ code: 2 }, { code: 2 }])
    assert.ok(unknown !== undefined)
    assert.equal(valueOf(unknown, 'error.type'), '-32602')
    assert.equal(valueOf(unknown, 'rpc.response.status_code'), '-32602')
    assert.deepEqual(unknown.status, { message: 'Unknown tool: web__unknown', code: 2 })
  })
})
