/**
 * Measures what 500 reloads leave that add and remove servers, and 50 configurations that are refused: `npm run proof -- reload-memory`,
 * about six minutes; Linux only. The reloads are done three times: without V8's compilers, so that what grows is what generations
 * leave behind; by `gateway serve`, where code that becomes hot is compiled and the allocator keeps what that took; and with the
 * allocator set up as `gateway up` does it.
 */
import { mallocVariables } from '../../src/util/process/malloc.ts'
import { grow, refuseAll, type Grown } from './reloads/memory.ts'

const WARM_UP = Number(process.env['WARM_UP'] ?? 50)
const RELOADS = Number(process.env['RELOADS'] ?? 500)
const MOST_MIB = 10
const MOST_FILES = 5
const NO_COMPILERS = ['--no-opt', '--no-maglev']

const { total, refused, located, served, wrong } = await refuseAll()
console.log(
  `configurations refused ${refused} of ${total}, with file and line ${located}, served on ${served}`,
)
for (const line of wrong) console.log(`  ${line}`)
let isFine = refused === total && located === total && served === total
isFine = judged('without compilers', await grow(WARM_UP, RELOADS, { flags: NO_COMPILERS })) && isFine
isFine = judged('by serve', await grow(WARM_UP, RELOADS)) && isFine
isFine = judged('by up', await grow(WARM_UP, RELOADS, { variables: mallocVariables(process.env) })) && isFine
console.log(isFine ? 'all as it should be' : 'NOT as it should be')
process.exitCode = isFine ? 0 : 1

function judged(how: string, { cold, warm, busy, rested, pids }: Grown): boolean {
  const isFine =
    rested.rss - warm.rss <= MOST_MIB &&
    Math.abs(rested.files - warm.files) <= MOST_FILES &&
    rested.children === warm.children &&
    pids[0] === pids[1]
  console.log(`${how}: resident MiB: ${cold.rss} at the start, ${warm.rss} at rest after ${WARM_UP} reloads,`)
  console.log(`  ${busy.rss} straight after ${RELOADS} more, ${rested.rss} at rest after them`)
  console.log(
    `  open files ${warm.files} → ${rested.files}, processes below ${warm.children} → ${rested.children}`,
  )
  console.log(`  process of the server that stays ${pids.join(' → ')}: ${isFine ? 'holds' : 'DOES NOT HOLD'}`)
  return isFine
}
