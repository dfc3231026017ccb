import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Terminal } from '../../../src/cli/output/terminal.ts'
import { formatEntries, formatPurge } from '../../../plugins/cache/commands.ts'
import { formatTable, withoutWidth } from '../../../src/cli/output/table.ts'
import { formatLogLine, formatUpstreamState } from '../../../src/cli/remote/control-requests.ts'
import { outputTo } from '../fixtures/silent-terminal.ts'

const out = outputTo()
const terminal: Terminal = { cwd: '/home/me', environment: {}, out, err: out }
const printing = { out, table: (rows: string[][]) => formatTable(rows, withoutWidth(out)) } as never

test('what peers wrote steers no terminal', () => {
  const text = '\u001b]0;title\u0007\u001b[2Jline\nnext\u202e'

  assert.equal(formatLogLine({ at: 0, stream: 'stderr', pid: 7, text }, terminal), '00:00:00.000 7 line next')
  assert.equal(formatUpstreamState({ name: 'a', type: 'stdio', state: 'ready', pid: 4 }, terminal), 'a is ready, pid 4')
  assert.deepEqual(formatEntries({ entries: [{ upstream: 'a', name: text }], total: 1 }, printing).slice(1), [
    'a         -       -      -    -     -     line next',
    '1 entry',
  ])
  assert.equal(formatPurge({ purged: 2 }), '2 entries purged')
})
