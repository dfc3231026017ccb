import assert from 'node:assert/strict'
import { test } from 'node:test'
import { platformOf } from '../../../src/util/platform.ts'
import { mallocVariables } from '../../../src/util/process/malloc.ts'

test('a gateway that is started on Linux gives back what large messages took, and has one heap for all threads', () => {
  assert.deepEqual(
    mallocVariables({ PATH: '/bin', GLIBC_TUNABLES: 'glibc.rtld.nns=4' }, platformOf('linux')),
    {
      MALLOC_TRIM_THRESHOLD_: '16777216',
      MALLOC_MMAP_THRESHOLD_: '1048576',
      MALLOC_ARENA_MAX: '1',
    },
  )
})

test('an allocator that its owner has set up is left as it is', () => {
  for (const own of [
    { MALLOC_ARENA_MAX: '2' },
    { MALLOC_MMAP_THRESHOLD_: '262144' },
    { GLIBC_TUNABLES: 'glibc.malloc.trim_threshold=1048576' },
  ])
    assert.deepEqual(mallocVariables(own, platformOf('linux')), {})
})

test('other systems have another allocator', () => {
  for (const platform of ['darwin', 'win32'] as const)
    assert.deepEqual(mallocVariables({}, platformOf(platform)), {})
})
