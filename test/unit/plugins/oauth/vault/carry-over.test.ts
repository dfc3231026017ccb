import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import type { Vault } from '../../../../../plugins/oauth/types.ts'
import { carryOver } from '../../../../../plugins/oauth/vault/carry-over.ts'
import { SharedVault } from '../../../../../plugins/oauth/vault/shared-vault.ts'
import { FileVault } from '../../../../../plugins/oauth/vault/vault.ts'
import { SharedMemory } from '../../../../fixtures/shared-memory.ts'
import { systemClock } from '../../../../../src/util/clock.ts'
import { directory } from '../../../../e2e/cli/run.ts'
import { cleanup } from '../../../../fixtures/cleanup.ts'
import { SILENT } from '../../install.ts'
import { KEY } from './kit.ts'

const ALICE = { ...KEY, account: 'alice' }
const GRANT = {
  access: 'at-1',
  refresh: 'rt-1',
  scopesRequested: ['read'],
  scopesGranted: ['read'],
  scopesWanted: ['write'],
  client: { id: 'gateway', method: 'none' },
} as const

async function vaults(t: TestContext): Promise<{ file: FileVault; shared: SharedVault; other: SharedVault }> {
  const key = randomBytes(32)
  const options = { key: () => Promise.resolve(key), clock: systemClock, log: SILENT }
  const file = new FileVault({ directory: await directory(t, {}), ...options })
  cleanup(t, () => file.close())
  const memory = new SharedMemory({ now: () => performance.now() })
  const [shared, other] = [1, 2].map(() => new SharedVault({ store: memory.of(), clock: systemClock }))
  return { file, shared: shared as SharedVault, other: other as SharedVault }
}

test('logins of a file go to all replicas, once, and are in the file no more', async t => {
  const { file, shared, other } = await vaults(t)
  const caller = { issuer: 'https://idp', subject: 'alice' }
  await file.put(KEY, GRANT)
  await file.put(ALICE, { ...GRANT, refresh: 'rt-alice', caller })

  assert.deepEqual(await carryOver(file, shared), { moved: 2, known: 0, left: 0 })
  const found = await other.find(ALICE.account, ALICE.resource)
  assert.deepEqual(
    [found?.refresh, found?.caller, found?.scopesWanted, found?.client],
    ['rt-alice', caller, ['write'], GRANT.client],
  )
  assert.deepEqual(await file.list(), [])

  const [gone] = await other.list()
  assert.ok(gone !== undefined && (await other.remove(gone, gone.generation)))
  assert.deepEqual(await carryOver(file, shared), { moved: 0, known: 0, left: 0 }, 'a logout stays one')
})

test('one that replicas have already stays as it is there', async t => {
  const { file, shared, other } = await vaults(t)
  await file.put(KEY, GRANT)
  await other.put(KEY, { ...GRANT, access: 'at-newer', refresh: 'rt-newer' })

  assert.deepEqual(await carryOver(file, shared), { moved: 0, known: 1, left: 0 })
  assert.equal((await shared.find(KEY.account, KEY.resource))?.refresh, 'rt-newer')
  assert.deepEqual(await file.list(), [])
})

test('one whose mover was killed, or that cannot be written, is in the file still', async t => {
  const { file, shared } = await vaults(t)
  await file.put(KEY, GRANT)
  const killed: Pick<Vault, 'list' | 'find' | 'remove' | 'lease' | 'release'> = {
    list: () => file.list(),
    find: (account, resource, issuer) => file.find(account, resource, issuer),
    remove: () => Promise.reject(new Error('killed')),
    lease: (key, owner, ms) => file.lease(key, owner, ms),
    release: (key, owner) => file.release(key, owner),
  }
  await assert.rejects(carryOver(file, { put: () => Promise.reject(new Error('away')) }), /away/)
  assert.equal((await file.list()).length, 1)
  await assert.rejects(carryOver(killed, shared), /killed/)
  assert.equal((await file.list()).length, 1)

  assert.deepEqual(await carryOver(file, shared), { moved: 0, known: 1, left: 0 })
  assert.deepEqual(await file.list(), [])
  assert.equal((await shared.find(KEY.account, KEY.resource))?.refresh, 'rt-1')
})

test('one that somebody renews stays until that is done', async t => {
  const { file, shared } = await vaults(t)
  const before = await file.put(KEY, GRANT)
  assert.ok(await file.lease(KEY, 'a gateway that is alone', 60_000))

  assert.deepEqual(await carryOver(file, shared), { moved: 0, known: 0, left: 1 })
  await file.put(KEY, { ...GRANT, refresh: 'rt-2' }, before)
  await file.release(KEY, 'a gateway that is alone')
  assert.deepEqual(await carryOver(file, shared), { moved: 1, known: 0, left: 0 })
  assert.equal((await shared.find(KEY.account, KEY.resource))?.refresh, 'rt-2')
})
