import { median } from './statistics.ts'

const ROUNDS = 5
const BATCH = 64

/** The cost of one call of `work`, in microseconds: the median of a few rounds of `ms` each, after a warm one. */
export async function microsOf(work: () => unknown, ms: number): Promise<number> {
  const rounds: number[] = []
  for (let round = 0; round <= ROUNDS; round++) rounds.push(await timed(work, ms))
  return median(rounds.slice(1))
}

async function timed(work: () => unknown, ms: number): Promise<number> {
  const from = performance.now()
  let calls = 0
  let elapsed = 0
  do {
    for (let call = 0; call < BATCH; call++) {
      const made = work()
      if (made instanceof Promise) await made
    }
    calls += BATCH
    elapsed = performance.now() - from
  } while (elapsed < ms)
  return (elapsed * 1000) / calls
}
