// 50 clients × 200 calls at once with equal ids, half of each era, over one legacy process that asks each call back.
// Prints what came, and what came to the wrong client or call. `npm run proof -- shared-pipe-asks [clients] [calls]`.
import { crowd } from './access/crowd.ts'

const MOST_MS = 90_000
const [clients = 50, calls = 200] = process.argv.slice(2).map(Number)

const over = setTimeout(() => {
  console.error(`not done within ${MOST_MS / 1000} s`)
  process.exit(1)
}, MOST_MS)

const { heard, mismatched, failures, ms } = await crowd(clients, calls, line => console.error(line.trim()))
clearTimeout(over)

const expected = clients * calls
console.log(`${clients} clients × ${calls} calls at once, equal ids: ${(ms / 1000).toFixed(1)} s`)
console.table({
  expected: { answers: expected, asks: expected, progress: 2 * expected, logs: 2 * expected },
  heard,
  mismatched,
})
for (const failure of failures) console.error(failure)

const isRight =
  Object.values(mismatched).every(count => count === 0) &&
  heard.answers === expected &&
  heard.asks === expected
process.exitCode = isRight ? 0 : 1
