// Seeds 200 secrets in every place a configuration has, and looks for them in 13 encodings wherever anything is written. `npm run proof -- secrets [calls]`.
import { seeded } from './seeded.ts'

const [calls = 1000] = process.argv.slice(2).map(Number)
const { secrets, undelivered, places } = await seeded(200, calls)
console.log(
  `${secrets} secrets, ${calls} calls; secrets that did not reach their server: ${undelivered}; found afterwards:`,
)
console.table(places)
const isClean = Object.values(places).every(({ bytes, found }) => bytes > 0 && found === 0)
console.log(
  isClean && undelivered === 0
    ? 'all as it should be'
    : 'FAILED: every secret reaches its server, and nobody else',
)
process.exitCode = isClean && undelivered === 0 ? 0 : 1
