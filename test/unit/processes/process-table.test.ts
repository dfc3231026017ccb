import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProcessTable } from '../../../src/processes/process-table.ts'
import { log } from '../listeners/http/fake-gate.ts'

test('many gateways in one process have one listener for its exit, which kills the processes of all', async () => {
  const before = process.listeners('exit')
  const killed: number[] = []
  const all = Array.from({ length: 12 }, (_, number) => ({
    table: new ProcessTable(log),
    one: { pid: undefined, kill: () => void killed.push(number) },
  }))
  for (const { table, one } of all) table.add(one)

  const [listener, ...more] = process.listeners('exit').filter(one => !before.includes(one))
  assert.equal(more.length, 0)
  listener?.(0)
  assert.equal(killed.length, 12)

  for (const { table, one } of all) await table.removeProcess(one)
  assert.deepEqual(process.listeners('exit'), before)
})
