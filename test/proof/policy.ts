// Generated policies decide as another implementation of CEL does: 10,000 policies with three calls each; RUNS changes how many.
import fc from 'fast-check'
import { generatedCase } from './policy/generated.ts'
import { difference } from './policy/oracle.ts'

const RUNS = Number(process.env.RUNS ?? 10_000)

const began = performance.now()
const result = fc.check(
  fc.property(generatedCase, one => difference(one) === undefined),
  { numRuns: RUNS },
)
const seconds = Math.round((performance.now() - began) / 1000)
if (result.failed) {
  const [shortest] = result.counterexample ?? []
  console.error(`seed ${result.seed}: ${shortest === undefined ? 'no example' : difference(shortest)}`)
  process.exitCode = 1
} else console.log(`${result.numRuns} policies with three calls each: the same verdicts, in ${seconds} s`)
