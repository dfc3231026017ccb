import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Log } from '../../../src/api/index.ts'
import { ProcessTable } from '../../../src/processes/cleanup/own-processes.ts'
import { ServerProcess } from '../../../src/processes/server-process.ts'
import { RecentLines, Stderr } from '../../../src/processes/stderr.ts'
import { clock } from '../fixtures/upstream-bench.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const MIB = 1024 * 1024

interface Warning {
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

test('the first reply that is dropped, as a process does not read its stdin, is logged with its size and the reason', async t => {
  const warnings: Warning[] = []
  const quiet = (): void => undefined
  const warn = (message: string, fields: Warning['fields']): void => void warnings.push({ message, fields })
  const log = { debug: quiet, info: quiet, warn, error: quiet, child: () => log } as unknown as Log
  const table = new ProcessTable(log, clock)
  const server = new ServerProcess({
    command: process.execPath,
    args: ['-e', 'setTimeout(() => undefined, 60_000)'],
    cwd: process.cwd(),
    env: {},
    mark: table.prepare(process.cwd(), 'deaf', process.env),
    maxLine: MIB,
    stderr: new Stderr({ log, clock, hide: text => text, recent: new RecentLines() }),
    log,
    clock,
    table,
    onLine: quiet,
    onEnd: quiet,
  })
  cleanup(t, async () => {
    await server.stop()
    table.retire()
  })

  for (let count = 0; count < 20; count++) server.reply('x'.repeat(MIB))

  assert.deepEqual(
    warnings.map(({ message }) => message),
    ['messages to a process are dropped until it reads again'],
  )
  assert.equal(warnings[0]?.fields.bytes, MIB)
  assert.ok(Number(warnings[0]?.fields.waiting) > 16 * MIB)
  assert.match(String(warnings[0]?.fields.why), /does not read its stdin/)
})
