import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Log } from '../../../src/api/index.ts'
import { ProcessTable } from '../../../src/processes/cleanup/own-processes.ts'
import { ServerProcess } from '../../../src/processes/server-process.ts'
import { RecentLines, Stderr } from '../../../src/processes/stderr.ts'
import { clock } from '../fixtures/upstream-bench.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { until } from '../../fixtures/until.ts'

const MIB = 1024 * 1024

type ServerEvents = Pick<ConstructorParameters<typeof ServerProcess>[0], 'onLine' | 'onDrain'>

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
function started(t: TestContext, log: Log, source: string, on: Partial<ServerEvents> = {}): ServerProcess {
  const quiet = (): void => undefined
  const table = new ProcessTable(log, clock)
  const server = new ServerProcess({
    command: process.execPath,
    args: ['-e', source],
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
    ...on,
  })
  cleanup(t, async () => {
    await server.stop()
    await table.retire()
  })
  return server
}

test('the first reply that is dropped, as a process does not read its stdin, is logged with its size and the reason', async t => {
  const { log, warnings } = warningsOf()
  const server = started(t, log, 'setTimeout(() => undefined, 60_000)')

  for (let count = 0; count < 20; count++) server.reply('x'.repeat(MIB))

  assert.deepEqual(
    warnings.map(({ message }) => message),
    ['messages to a process are dropped until it reads again'],
  )
  assert.equal(warnings[0]?.fields.bytes, MIB)
  assert.ok(Number(warnings[0]?.fields.waiting) > 16 * MIB)
  assert.match(String(warnings[0]?.fields.why), /does not read its stdin/)
})

test('a few bytes that waited in front of a full pipe are told to have left, so that what waits for them goes on', async t => {
  let left = 0
  let isReady = false
  const source =
    "process.on('SIGUSR2', () => process.stdin.resume().on('end', () => process.exit())); console.log('ready')"
  const server = started(t, warningsOf().log, `${source}; setTimeout(() => undefined, 60_000)`, {
    onLine: () => (isReady = true),
    onDrain: () => left++,
  })
  await until(() => isReady, 'it has started')

  for (let count = 0; server.unread === 0; count++) {
    assert.ok(count < 10_000, 'the pipe is never full')
    server.send('x'.repeat(1000))
    await new Promise(resolve => setImmediate(resolve))
  }
  assert.ok(server.unread < 16 * 1024, `${server.unread} bytes wait`)
  const before = left
  process.kill(server.pid ?? assert.fail(), 'SIGUSR2')

  await until(() => server.unread === 0 && left > before, 'that is told')
})
