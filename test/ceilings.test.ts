import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countCall } from './guard/call-files.ts'
import { CEILINGS, countAll } from './guard/ceilings.ts'

test('the project is no larger, and no harder to read, than it was', async () => {
  const { files, entries } = await countCall()
  const counts: Record<string, number> = {
    ...countAll(),
    'files of a warm call': files.length,
    'function entries of a warm call': entries,
  }

  const larger = Object.entries(counts).filter(([what, count]) => count > (CEILINGS[what] ?? -1))
  assert.deepEqual(Object.fromEntries(larger), {}, 'larger than test/guard/ceilings.ts allows')
})
