import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { HOOKS, STAGES } from '../src/hooks/hook-table.ts'
import { ROOT } from './guard/sources.ts'

// Changed on purpose? npm run snapshots
test('the hooks, their kinds and the stages change only on purpose', t => {
  t.assert.fileSnapshot({ stages: STAGES, hooks: HOOKS }, join(ROOT, 'test/hooks.snap.json'))
})

test('docs/reference/hooks.md has a section for every hook, with what it does and a sample', () => {
  const reference = readFileSync(join(ROOT, 'docs/reference/hooks.md'), 'utf8')
  const sections = new Map(reference.split(/^### /m).map(text => [/^`(\w+)`/.exec(text)?.[1] ?? '', text]))
  const parts = ['**Runs:**', '**May change:**', '**If it throws:**', '<!-- snippet: examples/hooks/']

  const lacking = Object.keys(HOOKS).filter(hook =>
    [...parts, `#${hook} -->`].some(part => sections.get(hook)?.includes(part) !== true),
  )

  assert.deepEqual(lacking, [])
})
