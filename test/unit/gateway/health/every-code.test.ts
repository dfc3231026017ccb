import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DOCTOR_FINDINGS } from '../../../../src/cli/doctor/doctor-findings.ts'
import { mergeFindingTables } from '../../../../src/gateway/builtins.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../../src/testing/index.ts'
import { skip } from '../../../fixtures/redis.ts'
import { FAULTS } from '../../cli/doctor/faults.ts'
import { ILLS as OWN } from './ills.ts'
import { SERVER_ILLS } from './ills-of-servers.ts'
import { isOver, seen, toldOf, until } from './told.ts'

const ILLS = { ...SERVER_ILLS, ...OWN }

for (const [code, { fix, level, make, needsRedis }] of Object.entries(ILLS))
  test(
    `${code}: ps, doctor, probes and metrics tell it alike, and what it says mends it`,
    { skip: needsRedis === true ? skip : false },
    async t => {
      const { gateway, headers, cure } = await make(t)
      const one = await seen(t, gateway, headers)
      await until(`${code} is found`, () => gateway.gateway.health.findings.some(found => found.code === code))

      const finding = await toldOf(one, code)
      assert.equal(finding.level, level)
      assert.match(finding.fix, fix)
      assert.doesNotMatch(`${finding.summary} ${finding.fix}`, /(?<!\$)\{\w+\}/)

      await cure()
      await until(`${code} is over`, () => isOver(one, code))
    },
  )

test('stopping: who asks while a gateway stops is told so, and the next one is well', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { slow: () => new Promise(() => undefined) } }))
  const options = { upstreams: { web }, config: { shutdown: { grace: 1500 } } }
  const gateway = await testGateway(options)
  const client = closeAfter(t, await testClient(gateway))
  const call = client.request('tools/call', { name: 'web__slow' }).catch(() => undefined)
  await web.waitForCall('tools/call')

  const closing = gateway.gateway.close()
  await until('it stops', () => gateway.gateway.health.level === 'info')
  const [finding] = gateway.gateway.health.findings
  assert.deepEqual([finding?.code, finding?.fix], ['stopping', 'Wait, then: gateway up'])
  await closing
  await call

  const next = closeAfter(t, await testGateway({ upstreams: { web } }))
  assert.deepEqual(next.gateway.health.findings, [])
})

test('each finding that there is has a test that provokes it and does what it says', () => {
  const provoked = new Set([
    ...Object.keys(ILLS),
    ...FAULTS.map(({ code }) => code),
    'stopping',
    // test/unit/plugins/cluster/tls.test.ts: its address is that of a start.
    'cluster-plain',
    // test/unit/cli/add/server-cards.test.ts: it needs --online.
    'card-differs',
  ])
  const all = [...Object.keys(mergeFindingTables()), ...Object.keys(DOCTOR_FINDINGS)]
  assert.deepEqual(
    all.filter(code => !provoked.has(code)),
    [],
  )
})
