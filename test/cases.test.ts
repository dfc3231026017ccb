import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import { play } from './cases/runner/run.ts'
import type { EraName, Transcript } from './cases/runner/transcript.ts'

const CASES = join(import.meta.dirname, 'cases')
const BOTH: readonly EraName[] = ['modern', 'legacy']

for (const name of readdirSync(CASES)
  .filter(name => name !== 'runner')
  .sort()) {
  const folder = join(CASES, name)
  const transcript = parse(readFileSync(join(folder, 'transcript.yaml'), 'utf8')) as Transcript
  describe(`${name}: ${transcript.shows}`, { concurrency: true }, () => {
    for (const clientEra of transcript.clientEras ?? BOTH) {
      for (const upstreamEra of transcript.upstreamEras ?? BOTH) {
        test(`${clientEra} client, ${upstreamEra} upstream`, () => play(folder, transcript, clientEra, upstreamEra))
      }
    }
  })
}
