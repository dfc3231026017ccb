import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'

const MODULE = fileURLToPath(new URL('../../../src/util/process/collect-garbage.ts', import.meta.url))

/** Fills the heap with objects that live for a while, as generations do, and says what is resident after each way to collect. */
const PROGRAM = `
import { collectGarbage, giveMemoryBack } from ${JSON.stringify(MODULE)}
let kept = []
for (let n = 0; n < 3e6; n++) {
  kept.push({ n, text: 'x' + n })
  if (kept.length === 4e5) kept = []
}
kept = []
collectGarbage()
const collected = process.memoryUsage.rss()
giveMemoryBack()
console.log(JSON.stringify({ collected, givenBack: process.memoryUsage.rss() }))
`

test('memory that V8 keeps for itself after a collection is given back', () => {
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', PROGRAM]
  const text = execFileSync(process.execPath, args, { encoding: 'utf8' })
  const { collected, givenBack } = JSON.parse(text) as { collected: number; givenBack: number }

  assert.ok(givenBack < collected - 10 * 2 ** 20, `${collected} → ${givenBack}`)
})
