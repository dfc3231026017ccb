import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listCallFiles } from './guard/call-files.ts'
import { CEILINGS, countAll } from './guard/ceilings.ts'

test('the project is no larger, and no harder to read, than it was', async () => {
  const counts: Record<string, number> = {
    ...countAll(),
    'files of a warm call': (await listCallFiles()).length,
  }

  const larger = Object.entries(counts).filter(([what, count]) => count > (CEILINGS[what] ?? -1))
  assert.deepEqual(Object.fromEntries(larger), {}, 'larger than test/guard/ceilings.ts allows')
})
