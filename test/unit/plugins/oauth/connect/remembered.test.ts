import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConsentStore } from '../../../../../plugins/oauth/connect/replica-state.ts'
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
    put: (key: string, value: string, options: { expiresInMs: number }) => {
      written.set(key, value)
      return store.put(key, value, options)
    },
  }
  const [one, other] = [new ConsentStore(noting), new ConsentStore(shared.of())]
  const wider = ALICE.replace('write', 'delete')
  one.addConsent(ALICE)

  assert.equal(await other.hasConsent(ALICE), true)
  assert.equal(await other.hasConsent(wider), false)
  const [[key, value] = ['', '']] = written
  assert.doesNotMatch(`${key} ${value}`, /alice|files|read/)

  one.addConsent(wider)
  const [, second = ''] = [...written.keys()]
  for (const forged of ['1', wider, value, store.seal(wider, 'consent x')]) {
    await store.put(second, forged, { expiresInMs: 1000 })
    assert.equal(await other.hasConsent(wider), false, 'whoever writes there has not consented')
  }
})
