import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createGateway } from '../../../src/index.ts'
import type { Gateway } from '../../../src/gateway/gateway.ts'
import type { JsonObject, Plugin } from '../../../src/plugin.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const SERVER = new URL('../../fixtures/bad-server.mjs', import.meta.url).pathname
const STDIO = {
  type: 'stdio',
  command: process.execPath,
  args: ['--no-warnings', SERVER, '--mode', 'good'],
}

/** Number of listeners there are for each event of the process. */
function listeners(): Record<string, number> {
  const names = process.eventNames().map(String).sort()
  return Object.fromEntries(names.map(name => [name, process.listenerCount(name)]))
}

test('twenty reloads leave no listener on the process, whatever keeps a journal or runs a server', async t => {
  const directory = await mkdtemp(join(tmpdir(), 'exit-listeners-'))
  cleanup(t, () => rm(directory, { recursive: true, force: true }))
  const before = listeners()
  const gateway = await createGateway(configOf(0), { directory })
  await gateway.start()
  await gateway.settled()
  const running = listeners()

  for (let round = 1; round <= 20; round++) await gateway.reload(configOf(round))
  const after = listeners()
  await gateway.close()

  assert.deepEqual(after, running)
  assert.deepEqual(listeners(), before)

  /** Every fifth reload adds a server, and those before it are kept. */
  function configOf(round: number): JsonObject {
    const names = Array.from({ length: 1 + Math.floor(round / 5) }, (_, i) => `server-${i}`)
    const upstreams = Object.fromEntries(names.map(name => [name, STDIO]))
    return { lists: { pageSize: 100 + round }, audit: { file: 'audit.jsonl' }, upstreams }
  }
})

test('a configuration that is refused after its plugins were set up leaves nothing of them open', async () => {
  let open = 0
  const counting: Plugin<never> = {
    name: 'counting',
    setup({ config, hooks }) {
      open++
      hooks.close.tap(() => void open--)
      if (config.lists.pageSize !== 7) return
      hooks.configure.tap(() => {
        throw new Error('not this one')
      })
    },
  }
  const failing: Plugin<never> = {
    name: 'failing',
    setup({ config }) {
      if (config.lists.pageSize === 8) throw new Error('not here')
    },
  }
  const before = listeners()
  const options = { plugins: [counting, failing] }
  const gateway: Gateway = await createGateway({ audit: {} }, options)
  const running = listeners()

  for (const pageSize of [7, 8]) await assert.rejects(gateway.reload({ audit: {}, lists: { pageSize } }))

  assert.equal(open, 1)
  assert.deepEqual(listeners(), running)
  await gateway.close()
  assert.equal(open, 0)
  assert.deepEqual(listeners(), before)
})
