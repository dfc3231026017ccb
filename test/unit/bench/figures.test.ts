import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Measured } from '../../bench/load/messages.ts'
import { median } from '../../bench/statistics.ts'
import { subjectCells } from '../../bench/output/table.ts'

function measured(cpu: number | undefined, rps = 1000): Measured {
  return { calls: 10, rps, p50: 1, p95: 2, p99: 3, cpu, rss: 100 }
}

test('the median of an even number of rounds lies between the two in the middle', () => {
  assert.equal(median([9, 1, 4, 2]), 3)
  assert.equal(median([5, 1, 9]), 5)
  assert.ok(Number.isNaN(median([])))
})

test('a subject is compared with no gateway by its throughput and with the yardstick by its processor time', () => {
  const all = [
    { label: 'direct', measured: measured(undefined, 2000) },
    { label: 'raw', measured: measured(40) },
    { label: 'gateway, 0 plugins', measured: measured(30) },
    { label: 'mcp-hub', failed: 'no session was opened' },
  ] as const
  assert.deepEqual(subjectCells(all[2], all).slice(-2), ['0.50', '0.75'])
  assert.deepEqual(subjectCells(all[1], all).slice(-2), ['0.50', ''])
  assert.match(subjectCells(all[3], all)[1] ?? '', /^failed: no session/)
})
