import assert from 'node:assert/strict'
import { totalmem } from 'node:os'
import { test } from 'node:test'
import { tuneV8 } from '../../../../src/cli/serve/tune-v8.ts'

const LAZY = ['--external-memory-accounted-in-global-limit', '--heap-growing-percent=200']
const EAGER = ['--no-external-memory-accounted-in-global-limit', '--heap-growing-percent=60']

test('a V8 that may not know the flags is left alone', () => {
  for (const version of ['12.4.254', '14.1.1']) {
    const flags: string[] = []
    tuneV8(flag => void flags.push(flag), version)()
    assert.deepEqual(flags, [])
  }
})

test('a command sets the flags at once, and takes them back when it ends', () => {
  const flags: string[] = []

  const stop = tuneV8(flag => void flags.push(flag), '13.6.233')
  const begun = [...flags]
  stop()

  const there = Math.min(process.constrainedMemory() || Infinity, totalmem())
  const collecting = process.memoryUsage.rss() < there / 4 ? LAZY : EAGER
  assert.deepEqual(begun, [...collecting, '--invocation-count-for-maglev=2000'])
  assert.deepEqual(flags.slice(-2), ['--heap-growing-percent=0', '--invocation-count-for-maglev=400'])
})
