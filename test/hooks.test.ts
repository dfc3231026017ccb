import { join } from 'node:path'
import { test } from 'node:test'
import { HOOKS, STAGES } from '../src/hooks/kinds.ts'
import { ROOT } from './guard/sources.ts'

// Changed on purpose? npm run snapshots
test('the hooks, their kinds and the stages change only on purpose', t => {
  t.assert.fileSnapshot({ stages: STAGES, hooks: HOOKS }, join(ROOT, 'test/hooks.snap.json'))
})
