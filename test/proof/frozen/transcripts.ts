/**
 * The bytes on both sides of the gateway are the same in two checkouts: plays every transcript of `test/cases`, in both
 * eras, and compares all that was written to clients and servers, with what is random masked.
 *
 *     npm run proof -- transcripts ../base           # compares this checkout with that one
 *     npm run proof -- transcripts --to FILE         # writes this checkout's bytes
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ROOT } from '../../guard/sources.ts'

type Recording = Readonly<Record<string, readonly string[]>>

const RECORDER = join(import.meta.dirname, 'record.ts')
const MOST = 256 * 1024 * 1024

const [other, file] = process.argv.slice(2)
const here = record(ROOT)
print('here', here)
if (other === '--to') writeFileSync(file ?? 'transcripts.json', JSON.stringify(here, undefined, 1))
else if (other !== undefined) {
  const there = record(resolve(other))
  print('there', there)
  const different = differences(there, here)
  for (const [name, lines] of different) console.log(`${name}\n${lines.map(line => `  ${line}`).join('\n')}`)
  assert.equal(different.size, 0, `${different.size} of ${Object.keys(there).length} differ`)
  console.log('the same bytes')
}

function record(checkout: string): Recording {
  const flags = ['--disable-warning=ExperimentalWarning', RECORDER, checkout]
  return JSON.parse(execFileSync(process.execPath, flags, { encoding: 'utf8', maxBuffer: MOST })) as Recording
}

function print(where: string, recording: Recording): void {
  const runs = Object.values(recording)
  const messages = runs.reduce((sum, run) => sum + run.length, 0)
  const hash = createHash('sha256').update(JSON.stringify(recording)).digest('hex')
  console.log(`${where}: ${runs.length} runs, ${messages} different messages, sha256 ${hash}`)
}

/** The messages that one checkout writes and the other does not, by run. */
function differences(there: Recording, here: Recording): Map<string, string[]> {
  const names = new Set([...Object.keys(there), ...Object.keys(here)])
  return new Map(
    [...names].flatMap(name => {
      const [before, now] = [new Set(there[name]), new Set(here[name])]
      const lines = [
        ...[...before].filter(one => !now.has(one)).map(one => `- ${JSON.stringify(one)}`),
        ...[...now].filter(one => !before.has(one)).map(one => `+ ${JSON.stringify(one)}`),
      ]
      return lines.length === 0 ? [] : [[name, lines] as const]
    }),
  )
}
