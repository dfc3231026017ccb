import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startFixture } from './subject.ts'
import type { Subject } from './subject.ts'
import { REVISIONS, runSuite, tableOf } from './suite.ts'

let fixture: Subject

before(async () => {
  fixture = await startFixture()
})

after(() => fixture.stop())

for (const revision of REVISIONS) {
  test(`the fixture server itself meets every requirement of ${revision}`, async () => {
    const report = await runSuite(fixture.url, revision)

    assert.ok(report.ok, tableOf(report))
  })
}
