import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGateway, type Connection } from '../../../src/index.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { isAlive, script } from '../fixtures/upstream-bench.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { until } from '../../fixtures/until.ts'

test('a session that ends takes its process with it, and what was sent in vain is shown', async t => {
  const upstream = {
    type: 'stdio',
    command: process.execPath,
    args: [script('keeping-server.mjs')],
    isolation: 'session',
  }
  const gateway = await createGateway({ upstreams: { keeper: upstream } })
  cleanup(t, () => gateway.close())
  await gateway.start()
  const [one, two] = [await gateway.connect(), await gateway.connect()]

  const [first, again, other] = [await count(one), await count(one), await count(two)]
  await call(one, 'spoof')

  assert.deepEqual([first.calls, again.calls, other.calls], [1, 2, 1])
  assert.notEqual(first.pid, other.pid)
  const { upstreams } = await gateway.inspect()
  assert.equal(upstreams[0]?.dropped?.response, 2)
  one.close()
  await until(() => !isAlive(first.pid), 'its process has ended')
  assert.equal((await count(two)).calls, 2)
})

async function call(connection: Connection, name: string): Promise<string> {
  const result = await connection.request('tools/call', { name: `keeper__${name}`, arguments: {} })
  const [content] = result.content as JsonObject[]
  return String(content?.text)
}

async function count(connection: Connection): Promise<{ pid: number; calls: number }> {
  const [pid, calls] = (await call(connection, 'count')).split(' ').map(Number)
  return { pid: pid ?? 0, calls: calls ?? 0 }
}
