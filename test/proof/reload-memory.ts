// Measures what 500 reloads leave that add and remove servers, and 50 configurations that are refused. `npm run proof -- reload-memory`, about a minute; Linux only.
import { grow, refuseAll } from './reloads/memory.ts'

const WARM_UP = Number(process.env['WARM_UP'] ?? 50)
const RELOADS = Number(process.env['RELOADS'] ?? 500)
const MOST_MIB = 10
const MOST_FILES = 5

const { total, refused, located, served, wrong } = await refuseAll()
console.log(
  `configurations refused ${refused} of ${total}, with file and line ${located}, served on ${served}`,
)
for (const line of wrong) console.log(`  ${line}`)

const { cold, warm, busy, rested, pids } = await grow(WARM_UP, RELOADS)
console.log(`resident MiB: ${cold.rss} at the start, ${warm.rss} at rest after ${WARM_UP} reloads,`)
console.log(`  ${busy.rss} straight after ${RELOADS} more, ${rested.rss} at rest after them`)
console.log(
  `open files ${warm.files} → ${rested.files}, processes below ${warm.children} → ${rested.children}`,
)
console.log(`process of the server that stays ${pids.join(' → ')}`)

const isFine =
  refused === total &&
  located === total &&
  served === total &&
  rested.rss - warm.rss <= MOST_MIB &&
  Math.abs(rested.files - warm.files) <= MOST_FILES &&
  rested.children === warm.children &&
  pids[0] === pids[1]
console.log(isFine ? 'all as it should be' : 'NOT as it should be')
process.exitCode = isFine ? 0 : 1
