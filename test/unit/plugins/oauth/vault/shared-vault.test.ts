import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { GrantKey } from '../../../../../plugins/oauth/types.ts'
import { RefreshedGrants } from '../../../../../plugins/oauth/vault/grants.ts'
import { SharedBackend } from '../../../../../plugins/oauth/vault/shared-backend.ts'
import { Vault } from '../../../../../plugins/oauth/vault/vault.ts'
import { gatewayError, type SharedStore } from '../../../../../src/plugin.ts'
import { SharedMemory } from '../../../../fixtures/shared-memory.ts'
import { systemClock } from '../../../../../src/util/clock.ts'
import { cleanup } from '../../../../fixtures/cleanup.ts'
import { grantOf, plainEndpoint, tokenServer, type TokenServer } from '../../../../fixtures/oauth/token-server.ts'
import { SILENT } from '../../install.ts'
import { KEY } from './kit.ts'

const ALICE: GrantKey = { ...KEY, account: 'alice' }
const BOB: GrantKey = { ...KEY, account: 'bob' }

/** Memory of replicas, whose time can be moved on, and which can be away. */
class World {
  later = 0
  isAway = false
  /** Everything that was written, as somebody with a way to Redis sees it. */
  readonly raw = new Map<string, string>()
  readonly now = (): number => Date.now() + this.later
  readonly #memory = new SharedMemory({ now: () => performance.now() + this.later })

  vault(): Vault {
    return new Vault({ backend: new SharedBackend(this.store()), now: this.now })
  }

  store(): SharedStore {
    const own = this.#memory.of()
    const given = <T>(does: () => Promise<T>): Promise<T> => {
      if (!this.isAway) return does()
      return Promise.reject(Object.assign(awayError(), {}))
    }
    return Object.assign(Object.create(own) as SharedStore, {
      get: (key: string) => given(() => own.get(key)),
      put: (key: string, value: string, options: Parameters<SharedStore['put']>[2]) =>
        given(async () => {
          const isPut = await own.put(key, value, options)
          if (isPut) this.raw.set(key, value)
          return isPut
        }),
      delete: (key: string, is?: string) => given(() => own.delete(key, is)),
      publish: (topic: string, text: string) => given(() => own.publish(topic, text)),
      subscribe: own.subscribe.bind(own),
      seal: own.seal.bind(own),
      open: own.open.bind(own),
    })
  }
}

function awayError(): Error {
  return gatewayError('GW_SHARED_AWAY', { why: 'it is switched off' })
}

async function servers(t: TestContext): Promise<TokenServer> {
  const server = await tokenServer()
  cleanup(t, () => server.close())
  return server
}

function grantsOf(world: World, { url }: TokenServer, vault = world.vault()): RefreshedGrants {
  return new RefreshedGrants({
    ...{ vault, endpoint: plainEndpoint(url), clock: systemClock, log: SILENT, now: world.now },
  })
}

test('a login that one replica writes is there for the others, and only over the generation that is there', async () => {
  const world = new World()
  const [one, two] = [world.vault(), world.vault()]
  const first = await one.put(KEY, grantOf('f'), 0)
  assert.ok(first !== undefined)

  assert.equal((await two.find(KEY))?.access, 'access-f.0')
  assert.equal(await two.put(KEY, grantOf('g'), 0), undefined, 'there is one already')
  const both = await Promise.all([one.put(KEY, grantOf('g'), first), two.put(KEY, grantOf('h'), first)])
  const [winner, ...more] = both.filter(generation => generation !== undefined)
  assert.ok(winner !== undefined && winner !== first && more.length === 0)
  assert.equal(await one.remove(KEY, first, 'too late'), false)
  assert.equal((await one.list()).length, 1)
  assert.equal(await two.remove(KEY, winner, 'it was refused'), true)
  assert.deepEqual(
    (await one.list()).map(({ lost, access }) => [lost, access]),
    [['it was refused', '']],
  )
})

test('what belongs to one account cannot be given to another, read, or made by who writes to the store', async () => {
  const world = new World()
  const vault = world.vault()
  await vault.put(ALICE, grantOf('alice'), 0)
  await vault.put(BOB, grantOf('bob'), 0)
  const rows = [...world.raw].filter(([key]) => !key.startsWith('list '))
  assert.equal(rows.length, 2)
  assert.doesNotMatch(JSON.stringify([...world.raw]), /alice|bob|access-/)

  const [[first, own], [second, other]] = rows as [[string, string], [string, string]]
  const store = world.store()
  await store.put(first, other, { expiresInMs: 60_000 })
  await store.put(second, own, { expiresInMs: 60_000 })
  for (const key of [ALICE, BOB]) await assert.rejects(world.vault().find(key), { code: 'GW_VAULT' })
  await assert.rejects(world.vault().put(BOB, grantOf('bob'), 1), { code: 'GW_VAULT' })
  await store.put(first, '{}', { expiresInMs: 60_000 })
  await assert.rejects(world.vault().find(ALICE), { code: 'GW_VAULT' })

  // A new login takes its place.
  for (const key of [ALICE, BOB]) assert.ok((await vault.put(key, grantOf('again'))) !== undefined)
  assert.equal((await world.vault().find(BOB))?.access, 'access-again.0')
})

test('while the store is away a token lives on and nothing is renewed', async t => {
  const world = new World()
  const server = await servers(t)
  const vault = world.vault()
  await vault.put(KEY, grantOf('f', Date.now() + 1000), 0)
  const grants = grantsOf(world, server, vault)
  world.later = 800
  world.isAway = true

  assert.equal((await grants.access(KEY)).kind, 'token')
  world.later = 2000
  assert.equal((await grants.access(KEY)).kind, 'unavailable')
  assert.deepEqual(server.presented, [])

  world.isAway = false
  assert.equal((await grants.access(KEY)).kind, 'token')
  assert.deepEqual(server.presented, ['f.0'])
})
