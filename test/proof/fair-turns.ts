// Measures what others lose to one caller with 200 calls at once, at a server of 8 places. `npm run proof -- fair-turns`, about 40 s.
import { lossOf } from './fair-turns/loss.ts'

const MOST = 10
const ROUNDS = 3
const MS = Number(process.env['MS'] ?? 5000)

const losses: number[] = []
for (let round = 0; round < ROUNDS; round++) {
  const { quiet, flooded, flooder, percent } = await lossOf(MS)
  losses.push(percent)
  console.log(
    `others ${quiet} calls alone, ${flooded} beside the flood (${flooder} of its own): ${percent.toFixed(1)} % lost`,
  )
}
const median = losses.sort((a, b) => a - b)[ROUNDS >> 1] ?? 100
console.log(`median ${median.toFixed(1)} %, at most ${MOST} %`)
process.exitCode = median <= MOST ? 0 : 1
