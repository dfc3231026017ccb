import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Access, GrantKey } from '../../../../../plugins/oauth/types.ts'
import { RefreshedGrants } from '../../../../../plugins/oauth/vault/grants.ts'
import { SharedVault } from '../../../../../plugins/oauth/vault/shared-vault.ts'
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

  vault(): SharedVault {
    return new SharedVault({ store: this.store(), clock: systemClock, now: this.now })
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
      take: (key: string) => given(() => own.take(key)),
      delete: (key: string, is?: string) => given(() => own.delete(key, is)),
      addToCounter: (key: string, request: Parameters<SharedStore['addToCounter']>[1]) =>
        given(() => own.addToCounter(key, request)),
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

const kinds = (all: readonly Access[]): string[] => [...new Set(all.map(({ kind }) => kind))]

test('a login that one replica writes is there for the others, and only over the generation that is there', async () => {
  const world = new World()
  const [one, two] = [world.vault(), world.vault()]
  const first = await one.put(KEY, grantOf('f'), 0)
  assert.ok(first !== undefined)

  assert.equal((await two.find(KEY.account, KEY.resource))?.access, 'access-f.0')
  assert.equal(await two.put(KEY, grantOf('g'), 0), undefined, 'there is one already')
  const both = await Promise.all([one.put(KEY, grantOf('g'), first), two.put(KEY, grantOf('h'), first)])
  const [winner, ...more] = both.filter(generation => generation !== undefined)
  assert.ok(winner !== undefined && winner > first && more.length === 0)
  assert.equal(await one.remove(KEY, first, 'too late'), false)
  assert.equal((await one.list()).length, 1)
  assert.equal(await two.remove(KEY, winner, 'it was refused'), true)
  assert.deepEqual([await one.list(), (await one.listLost()).map(({ why }) => why)], [[], ['it was refused']])
  assert.deepEqual(
    (await two.listLost(KEY)).map(({ issuer }) => issuer),
    [KEY.issuer],
  )
})

test('what belongs to one account cannot be given to another, read, or made by who writes to the store', async () => {
  const world = new World()
  const vault = world.vault()
  await vault.put(ALICE, grantOf('alice'), 0)
  await vault.put(BOB, grantOf('bob'), 0)
  const rows = [...world.raw].filter(([key]) => key.startsWith('grants '))
  assert.equal(rows.length, 2)
  assert.doesNotMatch(JSON.stringify([...world.raw]), /alice|bob|access-/)

  const [[first, own], [second, other]] = rows as [[string, string], [string, string]]
  const store = world.store()
  await store.put(first, other, { expiresInMs: 60_000 })
  await store.put(second, own, { expiresInMs: 60_000 })
  for (const { account, resource } of [ALICE, BOB])
    await assert.rejects(world.vault().find(account, resource), { code: 'GW_VAULT_SHARED' })
  await assert.rejects(world.vault().put(BOB, grantOf('bob'), 1), { code: 'GW_VAULT_SHARED' })
  await store.put(first, '{"grants":[],"lost":[]}', { expiresInMs: 60_000 })
  await assert.rejects(world.vault().find('alice', KEY.resource), { code: 'GW_VAULT_SHARED' })

  // A new login takes its place.
  for (const key of [ALICE, BOB]) assert.ok((await vault.put(key, grantOf('again'))) !== undefined)
  assert.equal((await world.vault().find('bob', KEY.resource))?.access, 'access-again.0')
})

test('a refresh token that a replica took with it when it died never goes out a second time', async t => {
  const world = new World()
  const server = await servers(t)
  await world.vault().put(KEY, grantOf('f', Date.now() + 50_000), 0)
  const dead = new RefreshedGrants({
    ...{ vault: world.vault(), clock: systemClock, log: SILENT, now: world.now },
    endpoint: {
      refresh: async (key, grant, signal) => {
        await plainEndpoint(server.url).refresh(key, grant, signal)
        return new Promise(() => undefined)
      },
    },
  })
  world.later = 49_900
  void dead.access(KEY.account, KEY.resource)
  while (server.presented.length === 0) await new Promise(resolve => setTimeout(resolve, 10))

  world.later += 46_000
  const answers = await Promise.all([1, 2, 3].map(() => grantsOf(world, server).access(KEY.account, KEY.resource)))
  assert.deepEqual(kinds(answers), ['login'])
  assert.match(JSON.stringify(answers), /renewing the login stopped/)
  assert.deepEqual(server.presented, ['f.0'])
  assert.match((await world.vault().listLost(KEY))[0]?.why ?? '', /renewing the login stopped/)
})

test('one that died before it sent anything leaves the refresh to another, after its lease', async t => {
  const world = new World()
  const server = await servers(t)
  const vault = world.vault()
  await vault.put(KEY, grantOf('f', Date.now() + 1000), 0)
  assert.equal(await vault.lease(KEY, 'dead', 45_000), true)
  world.later = 46_000

  const answers = await Promise.all([1, 2, 3].map(() => grantsOf(world, server).access(KEY.account, KEY.resource)))
  assert.deepEqual(server.presented, ['f.0'])
  assert.deepEqual(kinds(answers), ['token'])
})

test('an authorization server that does not rotate is asked with the same refresh token again', async t => {
  const world = new World()
  const server = await servers(t)
  const body = { access_token: 'next', token_type: 'Bearer', expires_in: 100 }
  server.next.push({ status: 200, body }, { status: 503, body: {} }, { status: 200, body })
  await world.vault().put(KEY, grantOf('f', Date.now() + 1000), 0)
  for (const later of [900, 200_000, 500_000]) {
    world.later = later
    await grantsOf(world, server).access(KEY.account, KEY.resource)
  }
  assert.deepEqual(server.presented, ['f.0', 'f.0', 'f.0'])
})

test('while the store is away a token lives on, nothing is renewed, and no login is begun or ended', async t => {
  const world = new World()
  const server = await servers(t)
  const vault = world.vault()
  await vault.put(KEY, grantOf('f', Date.now() + 1000), 0)
  const grants = grantsOf(world, server, vault)
  world.later = 800
  const pending = { state: 's', account: 'alice', expiresAt: world.now() + 60_000, value: {} }
  assert.equal(await vault.savePending(pending), true)
  world.isAway = true

  assert.equal((await grants.access(KEY.account, KEY.resource)).kind, 'token')
  world.later = 2000
  assert.equal((await grants.access(KEY.account, KEY.resource)).kind, 'unavailable')
  assert.deepEqual(server.presented, [])
  await assert.rejects(vault.savePending({ ...pending, state: 't' }), { code: 'GW_SHARED_AWAY' })
  await assert.rejects(vault.takePending('s'), { code: 'GW_SHARED_AWAY' })

  world.isAway = false
  assert.equal((await grants.access(KEY.account, KEY.resource)).kind, 'token')
  assert.deepEqual(server.presented, ['f.0'])
})

test('a state is good once, wherever it comes back, and an account has eight of them', async () => {
  const world = new World()
  const pending = { account: 'alice', expiresAt: Date.now() + 60_000, value: { verifier: 'v' } }
  const vault = world.vault()
  for (let n = 0; n < 8; n++) assert.equal(await vault.savePending({ ...pending, state: `s${n}` }), true)
  assert.equal(await vault.savePending({ ...pending, state: 'one more' }), false)
  assert.equal(await vault.savePending({ ...pending, account: 'bob', state: 'of bob' }), true)

  const taken = await Promise.all([1, 2, 3].map(() => world.vault().takePending('s0')))
  assert.equal(taken.filter(one => one !== undefined).length, 1)
  assert.deepEqual(taken.find(one => one !== undefined)?.value, { verifier: 'v' })
  assert.equal(await vault.takePending('s0'), undefined)
  assert.equal(await vault.savePending({ ...pending, state: 'now there is room' }), true)
  world.later = 61_000
  assert.equal(await vault.takePending('s1'), undefined)
})

test('a store that comes back empty has no logins, and takes new ones', async t => {
  const world = new World()
  const server = await servers(t)
  const before = world.vault()
  await before.put(KEY, grantOf('f', Date.now() + 300_000), 0)
  const empty = new World()
  assert.match(JSON.stringify(await grantsOf(empty, server).access(KEY.account, KEY.resource)), /not logged in/)
  assert.ok((await empty.vault().put(KEY, grantOf('g'), 0)) !== undefined)
  assert.equal(empty.vault().countCallers(KEY.resource), undefined)
})
