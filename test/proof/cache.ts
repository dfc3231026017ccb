/** Shows that the cache gives nobody what is not theirs. `npm run proof -- cache`; a few seconds. */
import { interleave } from './cache/interleavings.ts'

const TURNS = 10_000
const SEED = Number(process.env.SEED ?? 4)

const { turns, upstreamCalls, reloads, callers, foreign } = await interleave(SEED, TURNS)
for (const problem of foreign.slice(0, 10)) console.log(`      ${problem}`)
const what = `${turns} requests of ${callers} callers, ${reloads} reloads, ${upstreamCalls} calls upstream`
console.log(`${foreign.length === 0 ? 'PASS' : 'FAIL'}  ${what}: ${foreign.length} foreign answers`)
process.exitCode = foreign.length === 0 ? 0 : 1
