import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Log } from '../../../src/api/index.ts'
import { ProcessTable } from '../../../src/processes/process-table.ts'
import { ServerProcess } from '../../../src/processes/server-process.ts'
import { RecentLines, StderrReader } from '../../../src/processes/stderr.ts'
import { clock } from '../fixtures/upstream-bench.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const MIB = 1024 * 1024

interface Warning {
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

function warningsOf(): { readonly log: Log; readonly warnings: Warning[] } {
  const warnings: Warning[] = []
  const quiet = (): void => undefined
  const warn = (message: string, fields: Warning['fields']): void => void warnings.push({ message, fields })
  const log = { debug: quiet, info: quiet, warn, error: quiet, child: () => log } as unknown as Log
  return { log, warnings }
}

/** A process that runs this source. */
function started(t: TestContext, log: Log, source: string): ServerProcess {
  const quiet = (): void => undefined
  const table = new ProcessTable(log)
  const server = new ServerProcess({
    command: process.execPath,
    args: ['-e', source],
    cwd: process.cwd(),
    env: {},
    maxLine: MIB,
    stderr: new StderrReader({ log, clock, hide: text => text, recent: new RecentLines() }),
    log,
    clock,
    table,
    onLine: quiet,
    onEnd: quiet,
  })
  cleanup(t, async () => {
    await server.stop()
    await table.retire()
  })
  return server
}

test('the first reply that is dropped, as a process does not read its stdin, is logged with the reason', async t => {
  const { log, warnings } = warningsOf()
  const server = started(t, log, 'setTimeout(() => undefined, 60_000)')

  for (let count = 0; count < 20; count++) server.reply('x'.repeat(MIB))

  assert.deepEqual(
    warnings.map(({ message }) => message),
    ['dropping messages until the process reads its stdin'],
  )
  assert.match(String(warnings[0]?.fields.why), /does not read its stdin/)
})
