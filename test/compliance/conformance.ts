// Runs the official conformance suite at the gateway: node test/compliance/conformance.ts
//   --direct            examine the fixture server itself, without a gateway and without expected failures
//   --requirements REV  one requirement set only
//   --era ERA           restrict the fixture server to one era: dual, legacy or modern
//   --verbose           the suite's own output as well
import { parseArgs } from 'node:util'
import { startFixture, startGatewayBeforeFixture } from './subject.ts'
import { baselineOf, REVISIONS, runSuite, tableOf, verdictOf } from './suite.ts'

const { values } = parseArgs({
  options: {
    direct: { type: 'boolean', default: false },
    requirements: { type: 'string' },
    era: { type: 'string', default: 'dual' },
    verbose: { type: 'boolean', default: false },
  },
})

const subject = await (values.direct ? startFixture(values.era) : startGatewayBeforeFixture(values.era))
try {
  for (const revision of values.requirements ? [values.requirements] : REVISIONS) {
    const report = await runSuite(subject.url, revision, values.direct ? undefined : baselineOf(values.era))
    if (values.verbose) console.log(report.output)
    console.log(`${tableOf(report)}\n`)
    if (report.ok) continue
    console.log(verdictOf(report))
    process.exitCode = 1
  }
} finally {
  await subject.stop()
}
