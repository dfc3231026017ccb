import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Consents } from '../../../../../plugins/oauth/connect/visits.ts'
import { SharedMemory } from '../../../../fixtures/shared-memory.ts'

const ALICE = JSON.stringify(['alice', 'files', 'https://as.example', ['read', 'write']])

function memory(): SharedMemory {
  return new SharedMemory({ now: () => performance.now() })
}

test('a consent that was given at one replica is known at the other, and nobody else gives one', async () => {
  const shared = memory()
  const store = shared.of()
  const written = new Map<string, string>()
  const noting = {
    ...store,
    put: (key: string, value: string, options: { ms: number }) => {
      written.set(key, value)
      return store.put(key, value, options)
    },
  }
  const [one, other] = [new Consents(noting), new Consents(shared.of())]
  const wider = ALICE.replace('write', 'delete')
  one.give(ALICE)

  assert.equal(await other.has(ALICE), true)
  assert.equal(await other.has(wider), false)
  const [[key, value] = ['', '']] = written
  assert.doesNotMatch(`${key} ${value}`, /alice|files|read/)

  one.give(wider)
  const [, second = ''] = [...written.keys()]
  for (const forged of ['1', wider, value, store.seal(wider, 'consent x')]) {
    await store.put(second, forged, { ms: 1000 })
    assert.equal(await other.has(wider), false, 'whoever writes there has not consented')
  }
})
