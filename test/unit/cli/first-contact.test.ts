import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inspection } from '../../../src/api/gateway.ts'
import { formatSummary } from '../../../src/cli/serve/summary.ts'
import { outputTo } from '../fixtures/silent-terminal.ts'

const OUT = outputTo()

/** What is shown of a gateway with this at its beginning. */
function summaryOf(more: Partial<Inspection>, asksForKey: boolean): string[] {
  const nothing = { upstreams: [], listeners: [], catalog: [], withheld: [], unmatched: [], plugins: [], hooks: {} }
  return formatSummary({ ...nothing, ...more }, { asksForKey }, OUT)
}

test('a server that starts still is not said to offer nothing', () => {
  const upstreams = [
    { name: 'slow', type: 'stdio', state: 'starting' as const },
    { name: 'bare', type: 'stdio', state: 'ready' as const },
  ]

  assert.deepEqual(summaryOf({ upstreams }, false).slice(1, 3), ['  slow  starting', '  bare  ready     nothing'])
})
