import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkLongNames } from '../../../src/config/checks/tool-names.ts'
import type { Finding } from '../../../src/util/finding.ts'
import type { Inspection } from '../../../src/api/gateway.ts'
import { formatSummary } from '../../../src/cli/serve/summary.ts'
import { outputTo } from '../fixtures/silent-terminal.ts'

const OUT = outputTo()

function longNames(config: object, tools: readonly string[]): Finding[] {
  const found: Finding[] = []
  checkLongNames(config, new Map([['web', { tools }]]), finding => found.push(finding))
  return found
}

test('a tool name over 64 characters is a warning that names the tool, its length and the way out', () => {
  const tool = `get_${'x'.repeat(60)}`

  const [found, ...others] = longNames({ upstreams: { web: {} } }, [tool, 'short'])

  assert.equal(others.length, 0)
  assert.match(found?.message ?? '', new RegExp(`tool "${tool}" has 69 characters, many clients allow 64`))
  assert.match(found?.hint ?? '', /upstreams\.web\.prefix or upstreams\.web\.tools\.rename/)
  assert.equal(found?.pointer, '/upstreams/web')
})

test('a long name that a prefix, another name or a filter takes away is none', () => {
  const tool = 'y'.repeat(62)
  assert.equal(longNames({ upstreams: { web: { prefix: '' } } }, [tool]).length, 0)
  assert.equal(longNames({ upstreams: { web: { tools: { rename: { [tool]: 'short' } } } } }, [tool]).length, 0)
  assert.equal(longNames({ upstreams: { web: { tools: { deny: ['y*'] } } } }, [tool]).length, 0)
  assert.equal(longNames({ upstreams: { web: { tools: { allow: ['z*'] } } } }, [tool]).length, 0)
  const renamed = { filters: { tools: { rename: { [`web__${tool}`]: 'short' } } }, upstreams: { web: {} } }
  assert.equal(longNames(renamed, [tool]).length, 0)
  assert.equal(longNames({ upstreams: { web: {} } }, [tool]).length, 1)
})

/** What is shown of a gateway with this at its beginning. */
function summaryOf(more: Partial<Inspection>, asksForKey: boolean): string[] {
  const nothing = { upstreams: [], listeners: [], catalog: [], withheld: [], unmatched: [], plugins: [], hooks: {} }
  return formatSummary({ ...nothing, ...more }, { name: 'gw', asksForKey, file: '/a b/gateway.yaml' }, OUT)
}

test('a server that starts still is not said to offer nothing', () => {
  const upstreams = [
    { name: 'slow', type: 'stdio', state: 'starting' as const },
    { name: 'bare', type: 'stdio', state: 'ready' as const },
  ]

  assert.deepEqual(summaryOf({ upstreams }, false).slice(1, 3), ['  slow  starting', '  bare  ready     nothing'])
})
