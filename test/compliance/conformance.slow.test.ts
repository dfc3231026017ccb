import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startGatewayBeforeFixture } from './subject.ts'
import type { Subject } from './subject.ts'
import { baselineOf, REVISIONS, runSuite, tableOf, verdictOf } from './suite.ts'

let gateway: Subject | undefined

before(async () => {
  gateway = await startGatewayBeforeFixture()
})

after(() => gateway?.stop())

for (const revision of REVISIONS) {
  test(`the gateway fails no requirement of ${revision} that is not listed as expected`, async () => {
    assert.ok(gateway)

    const report = await runSuite(gateway.url, revision, baselineOf('dual'))

    assert.ok(report.ok, `${verdictOf(report)}\n${tableOf(report)}`)
  })
}
