import { REVISIONS, type Report, runSuite, baselineOf, verdictOf } from '../../compliance/suite.ts'
import { startFixture, startGatewayBeforeFixture } from '../../compliance/subject.ts'
import { startCluster } from './setting.ts'

const ERA = 'dual'

/** The official suite at one gateway, and at three behind each balancer. False where those fail what one does not. */
export async function conformance(): Promise<boolean> {
  const one = await startGatewayBeforeFixture(ERA)
  const alone = await examine(one.url).finally(() => one.stop())
  let isFine = true
  for (const front of ['haproxy', 'nginx'] as const) {
    const fixture = await startFixture(ERA)
    const upstreams = { everything: { type: 'http', url: fixture.url, prefix: '' } }
    const cluster = await startCluster({ count: 3, front, upstreams, more: { fit: false } })
    try {
      const through = await examine(cluster.url)
      isFine = compare(front, alone, through) && isFine
    } finally {
      await cluster.end()
      await fixture.stop()
    }
  }
  return isFine
}

async function examine(url: string): Promise<Report[]> {
  const reports: Report[] = []
  for (const revision of REVISIONS) reports.push(await runSuite(url, revision, baselineOf(ERA)))
  return reports
}

function compare(front: string, alone: readonly Report[], through: readonly Report[]): boolean {
  return through.every((report, index) => {
    const own = alone[index]?.rows ?? []
    const worse = report.rows.filter(
      row => row.failures.length > (own.find(({ scenario }) => scenario === row.scenario)?.failures.length ?? 0),
    )
    const checks = (rows: Report['rows']): number => rows.reduce((sum, { passed }) => sum + passed, 0)
    console.log(
      `${report.revision} through ${front}: ${checks(report.rows)} checks passed, ${checks(own)} at one gateway; worse: ${worse.length}`,
    )
    for (const { scenario, failures } of worse)
      console.log(`  ${scenario}: ${failures.map(({ id, message }) => `${id} ${message.slice(0, 160)}`).join('; ')}`)
    if (worse.length > 0) console.log(verdictOf(report))
    return worse.length === 0
  })
}
