// Runs the compliance matrix: node test/compliance/compliance.ts
//   --cells GLOB        only cells whose name matches, such as "v1>*/http/gateway"
//   --requirement ID    only this requirement (repeatable)
//   --jobs N            cells at a time; default 2
//   --no-write          leave docs/compliance.md alone
import { setMaxListeners } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { verdictOf, readKnownFailures } from './known-failures.ts'
import { allCells, nameOf } from './matrix/cells.ts'
import { documentOf, failuresOf, tableOf } from './report.ts'
import { runCell } from './verifies.ts'
import type { CellReport } from './verifies.ts'
import { matches } from './globs.ts'

const { values } = parseArgs({
  allowNegative: true,
  options: {
    cells: { type: 'string', default: '*' },
    requirement: { type: 'string', multiple: true },
    jobs: { type: 'string', default: '2' },
    write: { type: 'boolean', default: true },
  },
})

// The SDK's clients put a listener for each request on one signal.
setMaxListeners(0)

const chosen = allCells().filter(cell => matches(values.cells, nameOf(cell)))
const reports = await runAll()
const isWhole = values.cells === '*' && values.requirement === undefined
const verdict = verdictOf(reports, await readKnownFailures(), isWhole)
console.log(tableOf(reports))
console.log(failuresOf(reports))
console.log(verdict.text)
if (values.write && isWhole) {
  const file = new URL('../../docs/compliance.md', import.meta.url)
  await writeFile(file, documentOf(await readFile(file, 'utf8'), reports, verdict))
}
process.exit(verdict.ok ? 0 : 1)

async function runAll(): Promise<CellReport[]> {
  const done = new Map<string, CellReport>()
  const queue = [...chosen]
  const work = async () => {
    for (let cell = queue.shift(); cell; cell = queue.shift()) {
      const report = await runCell(cell, values.requirement)
      done.set(report.name, report)
      const failed = Object.values(report.outcomes).filter(({ state }) => state === 'failed').length
      if (report.absent === undefined) console.error(`${report.name}: ${failed} failed`)
    }
  }
  await Promise.all(Array.from({ length: Number(values.jobs) }, work))
  return chosen.flatMap(cell => done.get(nameOf(cell)) ?? [])
}
