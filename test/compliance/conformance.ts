// Runs the official conformance suite at the fixture server, and at the gateway before it: node test/compliance/conformance.ts
//   --direct            examine the fixture server alone, without a gateway and without expected failures
//   --requirements REV  one requirement set only
//   --era ERA           restrict the fixture server to one era: dual, legacy or modern
//   --verbose           the suite's own output as well
import { parseArgs } from 'node:util'
import { startFixture, startGatewayBeforeFixture } from './subject.ts'
import { baselineOf, REVISIONS, runSuite, sideBySide, tableOf, verdictOf, type Report } from './suite.ts'

const { values } = parseArgs({
  options: {
    direct: { type: 'boolean', default: false },
    requirements: { type: 'string' },
    era: { type: 'string', default: 'dual' },
    verbose: { type: 'boolean', default: false },
  },
})

const revisions = values.requirements ? [values.requirements] : REVISIONS
const fixture = await startFixture(values.era)
try {
  const direct = await examine(fixture.url)
  if (values.direct) for (const report of direct) judge(report)
  else await compare(direct)
} finally {
  await fixture.stop()
}

async function examine(url: string, baseline?: string): Promise<Report[]> {
  const reports: Report[] = []
  for (const revision of revisions) reports.push(await runSuite(url, revision, baseline))
  return reports
}

/** The same scenarios through a gateway, beside those of the server itself. */
async function compare(direct: readonly Report[]): Promise<void> {
  const gateway = await startGatewayBeforeFixture(values.era)
  try {
    const through = await examine(gateway.url, baselineOf(values.era))
    for (const [index, report] of through.entries()) {
      const own = direct[index]
      judge(report)
      if (own !== undefined) console.log(`${sideBySide(own, report)}\n`)
    }
  } finally {
    await gateway.stop()
  }
}

function judge(report: Report): void {
  if (values.verbose) console.log(report.output)
  console.log(`${tableOf(report)}\n`)
  if (report.ok) return
  console.log(verdictOf(report))
  process.exitCode = 1
}
