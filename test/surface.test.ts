import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { compile, exportsOf } from './guard/program.ts'
import { ROOT } from './guard/sources.ts'

const ENTRIES = { '.': 'src/index.ts', './plugin': 'src/plugin.ts', './testing': 'src/testing/index.ts' }
const SNAPSHOT = join(ROOT, 'test/surface.snap.json')

// Changed on purpose? npm run snapshots
test('what the package exports changes only on purpose', async t => {
  const program = compile(...Object.values(ENTRIES))
  const surface = await Promise.all(
    Object.entries(ENTRIES).map(async ([entry, file]) => {
      const values = Object.keys((await import(pathToFileURL(join(ROOT, file)).href)) as object)
      const names = [...exportsOf(program, file)].map(([name, kind]) => [
        name,
        values.includes(name) ? kind : asType(kind),
      ])
      return [entry, Object.fromEntries(names)] as const
    }),
  )

  t.assert.fileSnapshot(Object.fromEntries(surface), SNAPSHOT)
})

test('package.json exports these entries and data, nothing else', async () => {
  const own = (await import('../package.json', { with: { type: 'json' } })) as {
    default: { exports: object }
  }

  assert.deepEqual(Object.keys(own.default.exports), [...Object.keys(ENTRIES), './schemas/*', './package.json'])
})

// A class or constant behind `export type` is only a type to its reader.
function asType(kind: string): string {
  return kind === 'interface' ? kind : 'type'
}
