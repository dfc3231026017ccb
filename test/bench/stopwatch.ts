import { median } from './statistics.ts'

const ROUNDS = 5
const BATCH = 64

/**
 * The cost of one call of `work` in microseconds of processor time, which other programs disturb least:
 * the median of a few rounds of `ms` each, after a warm one.
 */
export async function microsOf(work: () => unknown, ms: number): Promise<number> {
  const rounds: number[] = []
  for (let round = 0; round <= ROUNDS; round++) rounds.push(await timed(work, ms * 1000))
  return median(rounds.slice(1))
}

async function timed(work: () => unknown, micros: number): Promise<number> {
  const from = spent()
  let calls = 0
  let elapsed = 0
  do {
    for (let call = 0; call < BATCH; call++) {
      const made = work()
      if (made instanceof Promise) await made
    }
    calls += BATCH
    elapsed = spent() - from
  } while (elapsed < micros)
  return elapsed / calls
}

function spent(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}
