import assert from 'node:assert/strict'
import { totalmem } from 'node:os'
import { test } from 'node:test'
import { Collecting, collectRarely } from '../../../../src/cli/serve/collecting.ts'

const MIB = 1024 * 1024
const LAZY = '--external-memory-accounted-in-global-limit'
const EAGER = '--no-external-memory-accounted-in-global-limit'

function flagsAfter(limit: number, seen: readonly number[], version = '13.6.233'): string[] {
  const flags: string[] = []
  const collecting = new Collecting(limit, version, flag => void flags.push(flag))
  for (const bytes of seen) collecting.see(bytes)
  return flags
}

test('V8 collects large messages when it likes, as long as little memory is in use', () => {
  assert.deepEqual(flagsAfter(8192 * MIB, [90 * MIB, 200 * MIB, 255 * MIB]), [LAZY])
  assert.deepEqual(flagsAfter(8192 * MIB, [90 * MIB, 260 * MIB, 500 * MIB, 250 * MIB]), [LAZY, EAGER, LAZY])
})

test('where there is little memory, a quarter of it is the end of that', () => {
  assert.deepEqual(flagsAfter(512 * MIB, [90 * MIB, 130 * MIB]), [LAZY, EAGER])
  assert.deepEqual(flagsAfter(256 * MIB, [90 * MIB, 130 * MIB]), [])
})

test('when nobody looks any more, it is as it was before', () => {
  assert.deepEqual(flagsAfter(8192 * MIB, [90 * MIB, Infinity]), [LAZY, EAGER])
})

test('a V8 that may not know the flag is left alone', () => {
  assert.deepEqual(flagsAfter(8192 * MIB, [90 * MIB], '12.4.254'), [])
  assert.deepEqual(flagsAfter(8192 * MIB, [90 * MIB], '14.1.1'), [])
})

test('a command sets it at once, and takes it back when it ends', () => {
  const flags: string[] = []

  const stop = collectRarely(flag => void flags.push(flag))
  const begun = [...flags]
  stop()

  const there = Math.min(process.constrainedMemory() || Infinity, totalmem())
  const isLazy = process.versions.v8.startsWith('13.') && process.memoryUsage.rss() < there / 4
  assert.deepEqual([begun, flags], isLazy ? [[LAZY], [LAZY, EAGER]] : [[], []])
})
