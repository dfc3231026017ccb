import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../guard/sources.ts'
import { readInspections } from '../proof/frozen/read-inspections.ts'

// Changed on purpose? npm run snapshots
test(
  'what inspect and validate print of the examples changes only on purpose',
  {
    // Paths are written with backslashes there, and the sandbox is refused.
    skip: process.platform !== 'linux',
  },
  async t => {
    const inspections = await readInspections(ROOT)

    t.assert.fileSnapshot(inspections, join(import.meta.dirname, 'examples.snap.json'), {
      serializers: [serialize],
    })
  },
)

/** One line for each member of the configuration and each hook, so that a change shows where it is. */
function serialize(value: unknown): string {
  return lines(value, 4)
}

function lines(value: unknown, depth: number): string {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isMap || depth === 0) return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([key, one]) => `${JSON.stringify(key)}: ${lines(one, depth - 1)}`,
  )
  return `{\n${members.join(',\n')}\n}`
}
