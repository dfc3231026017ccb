import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, test } from 'node:test'
import { type Context, context, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { freePort } from '../../../fixtures/free-port.ts'
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
    const variables = {
      OTEL_EXPORTER_OTLP_ENDPOINT: to.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-team=a%20b',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_SERVICE_NAME: 'my-gateway',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=prod,service.name=other',
      OTEL_TRACES_SAMPLER: 'always_on',
    }
    // The SDK reads the environment of the process.
    Object.assign(process.env, variables)
    cleanup(t, () => Object.keys(variables).forEach(name => Reflect.deleteProperty(process.env, name)))
    const { call } = await bench(t, { tracing: { endpoint: '' }, environment: variables })

    await call('web__search', { traceparent: PARENT.replace(/01$/, '00') })
    await callSpans(to)
    const [{ headers, body } = { headers: {}, body: '' }] = to.requests

    assert.equal(headers['x-team'], 'a b')
    assert.equal(headers['content-encoding'], 'gzip')
    assert.match(body, /"service.name","value":{"stringValue":"my-gateway"}/)
    assert.match(body, /"deployment.environment.name","value":{"stringValue":"prod"}/)
    assert.equal(headers['content-type'], 'application/json')
  })

  test('sends nothing where OpenTelemetry is turned off', async t => {
    const { to, call, stop } = await bench(t, { environment: { OTEL_SDK_DISABLED: 'true' } })

    await call('web__search')
    await stop()
    assert.equal(to.requests.length, 0)
  })

  test('sends what waits at the end', async t => {
    const { to, call, stop } = await bench(t, { tracing: { every: '10m' } })

    await call('web__search')
    assert.equal(to.spans.length, 0)
    await stop()

    assert.ok(to.spans.some(({ name }) => name === 'tools/call web__search'))
  })

  test('continues the span of the application that the gateway is a part of', async t => {
    const to = await collector(t)
    const span = trace.setSpanContext(ROOT_CONTEXT, { traceId: TRACE, spanId: 'b7ad6b7169203331', traceFlags: 1 })
    const storage = new AsyncLocalStorage<Context>()
    const manager = {
      active: () => storage.getStore() ?? ROOT_CONTEXT,
      with: (active: Context, run: () => unknown) => storage.run(active, run),
      bind: (_: Context, target: unknown) => target,
      enable: () => manager,
      disable: () => manager,
    }
    context.setGlobalContextManager(manager as never)
    cleanup(t, () => context.disable())
    const web = closeAfter(t, await testUpstream({ tools: { search: () => 'found' } }))
    const config = { tracing: { endpoint: to.url, every: 20 } }
    const running = closeAfter(t, await testGateway({ upstreams: { web }, config }))
    const client = await running.gateway.connect()
    await context.with(span, () => client.request('tools/call', { name: 'web__search' }))

    const [{ traceId } = {}] = await to.got(1)
    assert.equal(traceId, TRACE)
  })

  for (const [section, all] of [
    [{ ratio: 0 }, 1],
    [{ sampler: 'always_on' }, 2],
    [{ sampler: 'traceidratio', ratio: 0 }, 0],
  ] as const)
    test(`records ${all} of a call whose caller records and one of its own, with ${JSON.stringify(section)}`, async t => {
      const { to, call, stop } = await bench(t, { tracing: section })
      await call('web__search', { traceparent: PARENT })
      await call('web__search')
      await stop()
      assert.equal(to.spans.filter(({ name }) => name === 'tools/call web__search').length, all)
    })

  test('spans that reach no collector are dropped', async t => {
    const web = closeAfter(t, await testUpstream({ tools: { search: () => 'found' } }))
    const tracing = { endpoint: `http://127.0.0.1:${await freePort()}`, queue: 20, batch: 10, every: 5 }
    const running = closeAfter(t, await testGateway({ upstreams: { web }, config: { tracing, metrics: {} } }))
    const client = closeAfter(t, await testClient(running))
    for (let n = 0; n < 40; n++)
      assert.ok((await client.request('tools/call', { name: 'web__search' })).result !== undefined)
    const page = await (await fetch(new URL('/metrics', running.url))).text()
    assert.match(page, /tapgate_spans_total\{outcome="dropped"\} [1-9]/)
  })
})
