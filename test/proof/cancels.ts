// 500 calls that their clients give up, by the end of a request, by `cancelled`, and by the end of stdin. `npm run proof -- cancels`, about 20 s.
import { atEndOfInput, overHttp, type Cancelled } from './cancels/cancels.ts'

const AT_ONCE = 20
const MOST_MS = 250
const WAYS: readonly (readonly [string, number, () => Promise<Cancelled>])[] = [
  ['the end of the HTTP request', 200, () => overHttp('modern', AT_ONCE)],
  ['notifications/cancelled', 200, () => overHttp('legacy', AT_ONCE)],
  ['the end of stdin', 100, () => atEndOfInput(AT_ONCE)],
]

let isFine = true
for (const [way, calls, run] of WAYS) {
  const found: Cancelled[] = []
  for (let done = 0; done < calls; done += AT_ONCE) found.push(await run())
  const times = found.flatMap(one => one.times).sort((a, b) => a - b)
  const pending = found.reduce((sum, one) => sum + one.pending, 0)
  const [median = 0, worst = Infinity] = [times[times.length >> 1], times.at(-1)]
  const inTime = times.filter(ms => ms <= MOST_MS).length
  console.log(
    `${way.padEnd(28)} ${times.length} of ${calls} heard, ${inTime} within ${MOST_MS} ms ` +
      `(median ${median.toFixed(0)}, worst ${worst.toFixed(0)}), ${pending} pending afterwards`,
  )
  isFine &&= inTime === calls && pending === 0
}
console.log(isFine ? 'all as it should be' : 'NOT as it should be')
process.exit(isFine ? 0 : 1)
