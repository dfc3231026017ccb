import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readHostContext } from '../../../../plugins/tracing/trace-context.ts'
import { testGateway } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { collector, valueOf } from './collector.ts'
import { bench, callSpans, PARENT, TRACE } from './kit.ts'

const SECRET = 'hunter2-hunter2-hunter2'

describe('tracing', () => {
  test('shows arguments and results of named tools alone, secrets hidden', async t => {
    const tracing = { arguments: ['web__search'], results: ['web__search'], headers: { 'x-key': SECRET } }
    const { to, call } = await bench(t, { tracing })

    await call('web__search', {}, {}, { q: `${SECRET}!` })
    const { server, client } = await callSpans(to)

    assert.equal(valueOf(server, 'gen_ai.tool.call.arguments'), '{"q":"***!"}')
    assert.match(String(valueOf(server, 'gen_ai.tool.call.result')), /found/)
    assert.equal(valueOf(client, 'gen_ai.tool.call.arguments'), undefined)
    assert.ok(to.requests.every(({ body }) => !body.includes(SECRET)))
    assert.ok(to.requests.every(({ headers }) => headers['x-key'] === SECRET))
  })

  test('reads the variables of OpenTelemetry where the section says nothing', async t => {
    const to = await collector(t)
    const { call } = await bench(t, {
      tracing: { endpoint: '' },
      environment: {
        OTEL_EXPORTER_OTLP_ENDPOINT: to.url,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-team=a%20b',
        OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
        OTEL_SERVICE_NAME: 'my-gateway',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=prod,service.name=other',
        OTEL_TRACES_SAMPLER: 'always_on',
      },
    })

    await call('web__search', { traceparent: PARENT.replace(/01$/, '00') })
    await callSpans(to)
    const [{ headers, body } = { headers: {}, body: '' }] = to.requests

    assert.equal(headers['x-team'], 'a b')
    assert.equal(headers['content-encoding'], 'gzip')
    assert.match(body, /"service.name","value":{"stringValue":"my-gateway"}/)
    assert.match(body, /"deployment.environment.name","value":{"stringValue":"prod"}/)
    assert.equal(headers['content-type'], 'application/json')
  })

  test('a bad URL is found before anything starts', async () => {
    await assert.rejects(
      testGateway({
        config: { tracing: {} },
        environment: { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' },
      }),
      /OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL/,
    )
  })

  test('sends what waits at the end', async t => {
    const { to, call, stop } = await bench(t, { tracing: { every: '10m' } })

    await call('web__search')
    assert.equal(to.spans.length, 0)
    await stop()

    assert.ok(to.spans.some(({ name }) => name === 'tools/call web__search'))
  })

  test('finds the span of the application that the gateway is a part of, without importing anything', t => {
    const api = Symbol.for('opentelemetry.js.api.1')
    const span = { spanContext: () => ({ traceId: TRACE, spanId: 'b7ad6b7169203331', traceFlags: 1 }) }
    const active = {
      getValue: (key: symbol) => (key.description?.includes('SPAN') === true ? span : undefined),
    }
    Object.assign(globalThis, { [api]: { context: { active: () => active } } })
    cleanup(t, () => void Reflect.deleteProperty(globalThis, api))

    assert.deepEqual(readHostContext(), {
      traceId: TRACE,
      spanId: 'b7ad6b7169203331',
      isSampled: true,
      state: undefined,
    })
  })
})
