import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type JsonObject } from '../../../../src/protocol/json/json.ts'
import { valueOf, type Span } from './collector.ts'
import { bench, callSpans, PARENT, TRACE, type Bench } from './kit.ts'

describe('the context of a trace', () => {
  test('writes a span for each try, with a context of its own', async t => {
    const { to, call, web } = await bench(t, {
      tracing: { sampler: 'always_on' },
      config: { upstreams: { web: { retry: { attempts: 3, backoff: 1, tools: ['search'] } } } },
    })
    await call('web__search')
    await callSpans(to)
    to.spans.length = 0
    await web.stop()
    await call('web__search')

    const { all, server } = await callSpans(to)
    const tries = all.filter(({ kind }) => kind === 3)

    assert.ok(tries.length >= 1)
    assert.equal(new Set(tries.map(({ spanId }) => spanId)).size, tries.length)
    assert.ok(tries.every(({ parentSpanId }) => parentSpanId === server.spanId))
    assert.ok(tries.every(span => typeof valueOf(span, 'error.type') === 'string'))
    if (tries.length > 1) assert.equal(Number(valueOf(tries[1] as Span, 'tapgate.attempt')), 2)
  })

  test('records what the caller decided, and passes that on too where nothing is recorded', async t => {
    const { to, call, web } = await bench(t)

    await call('web__search', { traceparent: PARENT.replace(/01$/, '00') })
    await call('web__search', { traceparent: PARENT })
    const { all } = await callSpans(to)
    const metas = web.listCalls('tools/call').map(({ params }) => params?._meta as JsonObject)

    assert.equal(all.length, 2)
    assert.match(String(metas[0]?.traceparent), new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`))
    assert.match(String(metas[1]?.traceparent), new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`))
  })

  test('gives baggage to the servers that are listed, and to no other', async t => {
    const closed = await bench(t)
    const open = await bench(t, { tracing: { baggage: ['web'] } })
    for (const one of [closed, open]) await one.call('web__search', { baggage: 'user=ann' })

    const meta = (one: Bench): unknown => {
      const [sent] = one.web.listCalls('tools/call')
      return (sent?.params?._meta as JsonObject).baggage
    }
    assert.equal(meta(closed), undefined)
    assert.equal(meta(open), 'user=ann')
  })
})
