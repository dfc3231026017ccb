import assert from 'node:assert/strict'
import { test } from 'node:test'
import v8 from 'node:v8'
import { Collecting, tuneCollecting, YoungSpace } from '../../../../src/cli/serve/collecting.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { until } from '../../../fixtures/until.ts'

const MIB = 1024 * 1024
const LAZY = ['--external-memory-accounted-in-global-limit', '--heap-growing-percent=200']
const EAGER = ['--no-external-memory-accounted-in-global-limit', '--heap-growing-percent=60']
const GROW = '--semi-space-growth-factor=2'
const STAY = '--semi-space-growth-factor=1'

function flagsAfter(limit: number, seen: readonly number[]): string[] {
  const flags: string[] = []
  const collecting = new Collecting(limit, flag => void flags.push(flag))
  for (const bytes of seen) collecting.see(bytes)
  return flags
}

test('V8 collects large messages when it likes, as long as little memory is in use', () => {
  assert.deepEqual(flagsAfter(8192 * MIB, [90 * MIB, 200 * MIB, 255 * MIB]), LAZY)
  const all = flagsAfter(8192 * MIB, [90 * MIB, 260 * MIB, 500 * MIB, 250 * MIB])
  assert.deepEqual(all, [...LAZY, ...EAGER, ...LAZY])
})

test('where there is little memory, a quarter of it is the end of that', () => {
  assert.deepEqual(flagsAfter(512 * MIB, [90 * MIB, 130 * MIB]), [...LAZY, ...EAGER])
  assert.deepEqual(flagsAfter(256 * MIB, [90 * MIB, 130 * MIB]), EAGER)
})

test('the space for young objects grows to 32 MiB and no further, and may grow again when V8 has made it smaller', () => {
  const flags: string[] = []
  const young = new YoungSpace(flag => void flags.push(flag))

  for (const mib of [2, 4, 16, 32, 32, 2, 8]) young.see(mib * MIB)

  assert.deepEqual(flags, [STAY, GROW])
})

test('under a flood of young objects that live on for a while, their space stays within its bound', async t => {
  if (!process.versions.v8.startsWith('13.')) return t.skip('this V8 is left to itself')
  cleanup(t, tuneCollecting(v8.setFlagsFromString))
  const kept: object[] = []
  let [made, most] = [0, 0]
  const flood = setInterval(() => {
    for (let n = 0; n < 20_000; n++) kept[made++ % 200_000] = { made, list: [n, n, n], text: `x${n}` }
    most = Math.max(most, youngBytes())
  }, 0)
  cleanup(t, () => clearInterval(flood))

  await until(() => made > 4_000_000, 'the flood has passed')

  assert.ok(most <= 64 * MIB, `${most / MIB} MiB`)
})

function youngBytes(): number {
  return v8.getHeapSpaceStatistics().find(space => space.space_name === 'new_space')?.space_size ?? 0
}
