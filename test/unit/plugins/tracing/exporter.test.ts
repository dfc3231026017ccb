import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import { Exporter, SpanCounts } from '../../../../plugins/tracing/exporter.ts'
import { createRandomId } from '../../../../plugins/tracing/trace-context.ts'
import { createSampler } from '../../../../plugins/tracing/settings.ts'
import { formatAttribute, createEnvelope, formatSpan } from '../../../../plugins/tracing/format-span.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../../src/testing/index.ts'
import { systemClock } from '../../../../src/util/clock.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { SILENT } from '../install.ts'
import { collector } from './collector.ts'
import { until } from '../../../fixtures/until.ts'

const { before, after } = createEnvelope({ 'service.name': 'my.service' }, { name: 'my.library', version: '1.0.0' })
const SPAN = formatSpan({
  context: {
    traceId: '5b8efff798038103d269b633813fc60c',
    spanId: 'eee19b7ec3c1b174',
    isSampled: true,
    state: undefined,
  },
  parent: {
    traceId: '5b8efff798038103d269b633813fc60c',
    spanId: 'eee19b7ec3c1b173',
    isSampled: true,
    state: undefined,
  },
  isParentRemote: true,
  link: undefined,
  head: `"name":"I'm a server span","kind":2`,
  startedAt: 1_544_712_660_000,
  endedAt: 1_544_712_661_000.125,
  attributes: [formatAttribute('my.span.attr', 'some value'), formatAttribute('my.number', 7)].join(','),
  failure: undefined,
})

function exporterTo(t: TestContext, url: string, more: object = {}): { exporter: Exporter; counts: SpanCounts } {
  const counts = new SpanCounts()
  const settings = {
    url: `${url}/v1/traces`,
    headers: {},
    timeoutMs: 60_000,
    compression: 'none' as const,
    queue: 4,
    batch: 2,
    everyMs: 5,
    before,
    after,
  }
  const exporter = new Exporter({ ...settings, ...more }, counts, { clock: systemClock, log: SILENT })
  cleanup(t, () => exporter.close(10))
  return { exporter, counts }
}

/** A server that takes requests and never answers. */
async function silence(t: TestContext): Promise<string> {
  const server: Server = createServer(request => void request.resume())
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  cleanup(t, async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('an exporter', () => {
  test('tries again what may pass, and gives up what does not', async t => {
    const answers = [503, 200, 400]
    const to = await collector(t, response => {
      const status = answers.shift() ?? 200
      response.writeHead(status, status === 503 ? { 'retry-after': '0' } : {}).end('{}')
    })
    const { exporter, counts } = exporterTo(t, to.url)

    exporter.add(SPAN)
    exporter.add(SPAN)
    await until(() => counts.sent === 2)
    exporter.add(SPAN)
    await until(() => counts.failed === 1)

    assert.equal(to.requests.length, 3)
  })

  test('counts what a collector says that it did not take', async t => {
    const reply = JSON.stringify({ partialSuccess: { rejectedSpans: '1', errorMessage: 'too old' } })
    const to = await collector(t, response => void response.end(reply))
    const { exporter, counts } = exporterTo(t, to.url)

    exporter.add(SPAN)
    exporter.add(SPAN)
    await until(() => counts.sent + counts.failed === 2)

    assert.deepEqual([counts.sent, counts.failed], [1, 1])
  })

  for (const kind of ['dead', 'silent'] as const)
    test(`nobody waits for a collector that is ${kind}`, async t => {
      const url = kind === 'dead' ? 'http://127.0.0.1:1' : await silence(t)
      const web = closeAfter(t, await testUpstream({ tools: { search: () => 'found' } }))
      const tracing = { endpoint: url, queue: 20, batch: 10, every: 1 }
      const running = closeAfter(t, await testGateway({ upstreams: { web }, config: { tracing, metrics: {} } }))
      const client = closeAfter(t, await testClient(running))

      for (let n = 0; n < 40; n++) {
        const { result } = await client.request('tools/call', { name: 'web__search' })
        assert.ok(result !== undefined)
      }
      const page = await (await fetch(new URL('/metrics', running.url))).text()

      const [, dropped = '0'] = /tapgate_spans_total\{outcome="dropped"\} (\d+)/.exec(page) ?? []
      const [, waiting = ''] = /tapgate_spans_waiting (\d+)/.exec(page) ?? []
      assert.ok(Number(dropped) > 0, page)
      assert.ok(Number(waiting) <= 20)
    })
})

test('a ratio takes its part of the traces, and always the same', () => {
  const half = createSampler('traceidratio', 0.5)
  const ids = Array.from({ length: 4000 }, () => createRandomId(16))
  const taken = ids.filter(id => half(id, undefined))

  assert.ok(taken.length > 1600 && taken.length < 2400, `${taken.length} of 4000`)
  assert.deepEqual(
    ids.filter(id => half(id, undefined)),
    taken,
  )
  assert.equal(new Set(ids).size, ids.length)
  assert.equal(
    createSampler('parentbased_traceidratio', 0)('a', {
      traceId: '',
      spanId: '',
      isSampled: true,
      state: undefined,
    }),
    true,
  )
  assert.equal(createSampler('always_off', 1)('a', undefined), false)
})
