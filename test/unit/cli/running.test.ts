import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Terminal } from '../../../src/cli/output/terminal.ts'
import { formatEntries, formatPurge } from '../../../plugins/cache/commands.ts'
import { formatTable, withoutWidth } from '../../../src/cli/output/table.ts'
import { formatLogLine, formatPs, formatUpstreamState } from '../../../src/cli/remote/control-requests.ts'
import type { PsOutput } from '../../../src/cli/remote/control-connection.ts'
import { outputTo } from '../fixtures/silent-terminal.ts'

const out = outputTo()
const terminal: Terminal = { cwd: '/home/me', environment: {}, out, err: out }
const printing = { out, table: (rows: string[][]) => formatTable(rows, withoutWidth(out)) } as never
const NOW = 1_800_000_000_000

test('ps shows what runs, how much it does, and what is or was wrong', () => {
  const ps: PsOutput = {
    gateway: {
      name: 'tapgate',
      version: '1.2.3',
      pid: 1,
      startedAt: NOW - 7_500_000,
      config: '/home/me/gateway.yaml',
      rss: 95e6,
    },
    listeners: [
      { name: 'main', type: 'http', url: 'http://127.0.0.1:8080/mcp' },
      { name: 'pipe', type: 'stdio' },
    ],
    upstreams: [
      {
        name: 'files',
        type: 'stdio',
        state: 'ready',
        era: 'legacy',
        version: '2025-11-25',
        rss: 1.5 * 2 ** 30,
        queue: { waiting: 2 },
        runtime: {
          instances: [
            { pid: 11, startedAt: NOW - 65_000, inFlight: 1 },
            { pid: 12, startedAt: NOW - 5000, inFlight: 0 },
          ],
          restarts: 3,
          inFlight: 1,
          lastError: 'it \u001b[31mexited\nwith 1',
          lastErrorAt: NOW - 61_000,
        },
      },
      { name: 'web', type: 'http', state: 'failed', problem: 'refused\u202e' },
      { name: 'noisy', type: 'stdio', state: 'ready', pid: 13, degraded: 'too many lines' },
    ],
  }

  assert.deepEqual(formatPs(ps, NOW, terminal), [
    'tapgate 1.2.3  pid 1 · up 2h 5m · 91 MiB · gateway.yaml',
    '  main  http://127.0.0.1:8080/mcp',
    '  pipe  stdio',
    '',
    'upstream  state   protocol           pid    up     restarts  in flight  queue  memory   problem',
    'files     ready   2025-11-25 legacy  11 +1  1m 5s  3         1          2      1.5 GiB  1m 1s ago: it exited with 1',
    'web       failed  -                  -      -      -         -          -      -        refused',
    'noisy     ready   -                  13     -      -         -          -      -        too many lines',
  ])
})

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
