/**
 * The cost of rules to a call without any I/O, each beside a gateway without plugins in the same rounds:
 * `node test/bench/rules.ts`. Processor time, median of the rounds.
 */
import type { FeatureName } from './features.ts'
import { roadWith } from './road.ts'
import { median } from './statistics.ts'

const ROUNDS = 15
const CALLS = 4000
const NAMES = ['policy', 'approve', 'pins', 'redact', 'activity'] as const satisfies FeatureName[]

const params = { name: 'up__small', arguments: { path: 'src/index.ts', query: 'hello' } }
const roads = await Promise.all(
  (['none', ...NAMES] as const).map(async name => ({
    name,
    road: await roadWith(name, 3),
    micros: [] as number[],
  })),
)
for (const { road } of roads) await road.travel('tools/list')
for (let round = 0; round <= ROUNDS; round++)
  for (const one of roads) {
    const began = process.cpuUsage()
    for (let call = 0; call < CALLS; call++) await one.road.travel('tools/call', params)
    const { user, system } = process.cpuUsage(began)
    if (round > 0) one.micros.push((user + system) / CALLS)
  }
const [base, ...others] = roads.map(({ name, micros }) => ({ name, micros: median(micros) }))
console.log(`0 plugins   ${base?.micros.toFixed(2)} µs a call`)
for (const { name, micros } of others)
  console.log(`${name.padEnd(10)} ${(micros - (base?.micros ?? 0)).toFixed(2).padStart(6)} µs more`)
process.exit(0)
