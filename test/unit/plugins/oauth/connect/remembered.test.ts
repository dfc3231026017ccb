import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Consents } from '../../../../../plugins/oauth/connect/consents.ts'
import { Visits } from '../../../../../plugins/oauth/connect/visits.ts'
import { SharedMemory } from '../../../../fixtures/shared-memory.ts'

const ALICE = JSON.stringify(['alice', 'files', 'https://as.example', ['read', 'write']])

function memory(): SharedMemory {
  return new SharedMemory({ now: () => performance.now() })
}

async function soon(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
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

test('while the others cannot be asked, only consents of this replica are known', async () => {
  const store = { ...memory().of(), get: () => Promise.reject(new Error('away')) }
  const consents = new Consents({ ...store, put: () => Promise.reject(new Error('away')) })
  assert.equal(await consents.has(ALICE), false)
  consents.give(ALICE)
  assert.equal(await consents.has(ALICE), true)
})

test('a caller that one replica sent to a page is known to another until the login is made', async () => {
  const shared = memory()
  const made: string[] = []
  const note = (account: string, upstream: string): void => void made.push(`${account} ${upstream}`)
  const [one, other] = [new Visits(shared.of(), note), new Visits(shared.of(), note)]
  const link = { account: 'alice', upstream: 'files' }
  assert.equal(await other.isSent('alice', 'files'), false)

  one.sent(link)
  assert.equal(await other.isSent('alice', 'files'), true)
  assert.equal(await other.isSent('alice', 'mail'), false)
  assert.equal(await other.isSent('bob', 'files'), false)

  await shared.of().publish('made', JSON.stringify({ account: 'alice', upstream: 'files' }))
  await soon()
  assert.deepEqual(made, [], 'only a replica can say so')
  await one.made(link)
  await soon()
  assert.equal(await other.isSent('alice', 'files'), false)
  assert.deepEqual(made, ['alice files', 'alice files'])
})

test('one process alone remembers by itself', async () => {
  const consents = new Consents(undefined)
  consents.give(ALICE)
  assert.equal(await consents.has(ALICE), true)
  const visits = new Visits(undefined, () => assert.fail('there are no others'))
  visits.sent({ account: 'alice', upstream: 'files' })
  await visits.made({ account: 'alice', upstream: 'files' })
  assert.equal(await visits.isSent('alice', 'files'), false)
})
