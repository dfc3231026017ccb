import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseTracingSettings } from '../../../../plugins/tracing/settings.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../../src/testing/index.ts'
import { freePort } from '../../../fixtures/free-port.ts'
import { until } from '../../../fixtures/until.ts'

interface Finding {
  readonly code: string
  readonly summary: string
}

test('spans that reach no collector are a finding, which ps and doctor show', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { search: () => 'found' } }))
  const endpoint = `http://127.0.0.1:${await freePort()}`
  const tracing = { endpoint, every: 5 }
  const running = closeAfter(t, await testGateway({ upstreams: { web }, config: { tracing } }))
  const findings = async (): Promise<readonly Finding[]> =>
    ((await running.gateway.control('health')) as unknown as { findings: Finding[] }).findings
  assert.deepEqual(await findings(), [])

  const client = closeAfter(t, await testClient(running))
  await client.request('tools/call', { name: 'web__search' })
  await until(async () => (await findings()).length > 0)

  const [found] = await findings()
  assert.equal(found?.code, 'tracing-unsent')
  assert.match(found.summary, new RegExp(`^span export to ${endpoint} fails: .*ECONNREFUSED`))
})

test('a ratio by itself is one of traces that begin here, whatever else is not said', () => {
  const of = (section: object, variables = {}): unknown[] => {
    const { sampler, ratio } = parseTracingSettings(section as never, variables, 'a')
    return [sampler, ratio]
  }
  assert.deepEqual(of({ ratio: 0.1 }), ['parentbased_traceidratio', 0.1])
  assert.deepEqual(of({}), ['parentbased_always_on', 1])
  assert.deepEqual(of({ ratio: 0.1 }, { OTEL_TRACES_SAMPLER: 'traceidratio' }), ['traceidratio', 0.1])
  assert.deepEqual(of({ sampler: 'always_on', ratio: 0.1 }), ['always_on', 0.1])
})
