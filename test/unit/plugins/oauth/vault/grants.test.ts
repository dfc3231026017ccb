import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { TokenEndpoint } from '../../../../../plugins/oauth/types.ts'
import { RefreshedGrants } from '../../../../../plugins/oauth/vault/grants.ts'
import type { Vault } from '../../../../../plugins/oauth/vault/vault.ts'
import type { Clock } from '../../../../../src/plugin.ts'
import { systemClock } from '../../../../../src/util/clock.ts'
import { cleanup } from '../../../../fixtures/cleanup.ts'
import { grantOf, plainEndpoint, tokenServer, type TokenServer } from '../../../../fixtures/oauth/token-server.ts'
import { SILENT } from '../../install.ts'
import { KEY, stateOf, vaultIn } from './kit.ts'
import { HandClock } from '../../../fixtures/hand-clock.ts'

/** Date at which each test begins. */
const NOW = Date.now()

interface Setting {
  readonly vault: Vault
  readonly grants: RefreshedGrants
  readonly server: TokenServer
  /** Moves the date; the clock of pauses is another one. */
  readonly date: { now: number }
  readonly state: string
}

async function setting(
  context: TestContext,
  { clock = systemClock, endpoint }: { clock?: Clock; endpoint?: TokenEndpoint } = {},
): Promise<Setting> {
  const state = stateOf(context)
  const server = await tokenServer()
  cleanup(context, () => server.close())
  const date = { now: NOW }
  const vault = vaultIn(context, state, { now: () => date.now })
  const grants = new RefreshedGrants({
    vault,
    endpoint: endpoint ?? plainEndpoint(server.url),
    clock,
    log: SILENT,
    now: () => date.now,
  })
  cleanup(context, () => grants.waitUntilIdle())
  return { vault, grants, server, date, state }
}

/** Puts a grant whose token is over, so that it is renewed with the next call. */
async function putOver(vault: Vault, date: Setting['date'], family: string): Promise<void> {
  await vault.put(KEY, grantOf(family, date.now + 1000))
  date.now += 2000
}

/** The time so many seconds after the beginning of each test. */
function within(seconds: number): number {
  return NOW + seconds * 1000
}

test('a token is renewed a minute ahead of its end, once for all who wait', async context => {
  const { vault, grants, server, date } = await setting(context)
  await vault.put(KEY, grantOf('f', within(300)))
  date.now += 241_000
  const answers = await Promise.all(Array.from({ length: 50 }, () => grants.access(KEY)))

  assert.deepEqual(server.presented, ['f.0'])
  for (const answer of answers) assert.equal(answer.kind === 'token' && answer.token, 'access-f.1')
  assert.equal((await vault.find(KEY))?.refresh, 'f.1')
})

test('a token that was refused is renewed once for all who say so, and each gets the new one', async context => {
  const { vault, grants, server, date } = await setting(context)
  const generation = (await vault.put(KEY, grantOf('f', within(3000)))) ?? 0
  date.now += 100_000
  const refuse = (): ReturnType<RefreshedGrants['renewRefused']> => grants.renewRefused(KEY, generation)
  const answers = await Promise.all(Array.from({ length: 50 }, refuse))
  answers.push(await refuse())

  assert.deepEqual(server.presented, ['f.0'])
  for (const answer of answers) assert.equal(answer.kind === 'token' && answer.token, 'access-f.1')
})

test('a new token that is refused too needs a login, and the authorization server is not asked for more', async context => {
  const { vault, grants, server, date } = await setting(context)
  const generation = (await vault.put(KEY, grantOf('f', within(3000)))) ?? 0
  date.now += 100_000
  const renewed = await grants.renewRefused(KEY, generation)
  assert.ok(renewed.kind === 'token')
  for (let n = 0; n < 5; n++) {
    const { kind } = await grants.renewRefused(KEY, renewed.generation)
    assert.equal(kind, 'login')
  }
  assert.deepEqual(server.presented, ['f.0'])
})

test('a login that is made while the old one is refused stays, and is what callers get', async context => {
  const vaultOf: { vault?: Vault } = {}
  let asked = 0
  const endpoint: TokenEndpoint = {
    refresh: async () => {
      asked++
      await vaultOf.vault?.put(KEY, grantOf('new', within(3000)))
      return { kind: 'refused', error: 'invalid_grant' }
    },
  }
  const { vault, grants, date } = await setting(context, { endpoint })
  vaultOf.vault = vault
  await putOver(vault, date, 'old')
  const answer = await grants.access(KEY)

  assert.equal(answer.kind === 'token' && answer.token, 'access-new.0')
  assert.equal((await vault.find(KEY))?.access, 'access-new.0')
  assert.equal(asked, 1)
})

test('a login that is made while the old one is renewed wins', async context => {
  const vaultOf: { vault?: Vault } = {}
  const endpoint: TokenEndpoint = {
    refresh: async grant => {
      await vaultOf.vault?.put(KEY, grantOf('new', within(3000)))
      return { kind: 'granted', grant: { ...grant, access: 'renewed', expiresAt: within(3000) } }
    },
  }
  const { vault, grants, date } = await setting(context, { endpoint })
  vaultOf.vault = vault
  await putOver(vault, date, 'old')
  const answer = await grants.access(KEY)

  assert.equal(answer.kind === 'token' && answer.token, 'access-new.0')
})

test('an authorization server that cannot be reached is left alone for a while, and the token used while it lives', async context => {
  const clock = new HandClock()
  const { vault, grants, server, date } = await setting(context, { clock })
  server.next.push({ status: 503, body: {} }, { status: 503, body: {} })
  await vault.put(KEY, grantOf('f', within(300)))
  date.now += 250_000
  for (let n = 0; n < 3; n++) {
    const answer = await grants.access(KEY)
    assert.equal(answer.kind === 'token' && answer.token, 'access-f.0')
  }
  assert.equal(server.presented.length, 1)

  date.now += 60_000
  clock.pass(1000)
  const over = await grants.access(KEY)
  assert.match(over.kind === 'unavailable' ? over.why : over.kind, /unreachable: HTTP 503/)
  await grants.access(KEY)
  assert.equal(server.presented.length, 2, 'the second pause is longer')
  clock.pass(1000)
  await grants.access(KEY)
  assert.equal(server.presented.length, 2)
  clock.pass(1000)
  const back = await grants.access(KEY)
  assert.equal(back.kind === 'token' && back.token, 'access-f.1')
})

test('a login that is renewed on a full disk is used from memory, and the next renewal is written', async context => {
  const clock = new HandClock()
  const { vault, grants, server, date } = await setting(context, { clock })
  await putOver(vault, date, 'f')
  const { put } = vault
  vault.put = () => Promise.reject(new Error('the disk is full'))
  for (let n = 0; n < 3; n++) {
    const answer = await grants.access(KEY)
    assert.equal(answer.kind === 'token' && answer.token, 'access-f.1')
  }
  assert.deepEqual(server.presented, ['f.0'])

  vault.put = put
  date.now += 3_600_000
  server.next.push({ status: 503, body: {} })
  assert.equal((await grants.access(KEY)).kind, 'unavailable')
  clock.pass(1000)
  await grants.access(KEY)
  assert.deepEqual(server.presented, ['f.0', 'f.1', 'f.1'])
  assert.equal((await vault.findCurrent(KEY))?.access, 'access-f.2')
})

test('two gateways with fifty callers each refresh an ending token once, and all get the new one', async context => {
  const { vault, grants, server, date, state } = await setting(context)
  const others = grantsOf(context, state, plainEndpoint(server.url), date)
  server.delayMs = 300
  await putOver(vault, date, 'f')
  const all = [grants, others].flatMap(one => Array.from({ length: 50 }, () => one.access(KEY)))

  for (const answer of await Promise.all(all)) assert.equal(answer.kind === 'token' && answer.token, 'access-f.1')
  assert.deepEqual(server.presented, ['f.0'])
})

test('a gateway that dies during a refresh keeps others from it until its lease is over', async context => {
  const clock = new HandClock()
  const { vault, grants, server, date, state } = await setting(context, { clock })
  const asked = Promise.withResolvers<void>()
  const endpoint = { refresh: () => new Promise<never>(() => void asked.resolve()) }
  await putOver(vault, date, 'f')
  void grantsOf(context, state, endpoint, date).access(KEY)
  await asked.promise

  const early = grants.access(KEY)
  let isOver = false
  void early.finally(() => (isOver = true))
  while (!isOver) {
    clock.pass(1000)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  assert.equal((await early).kind, 'unavailable')
  assert.deepEqual(server.presented, [])

  date.now += 46_000
  assert.equal((await grants.access(KEY)).kind, 'token')
  assert.deepEqual(server.presented, ['f.0'])
})

/** Another gateway with the same state directory. */
function grantsOf(
  context: TestContext,
  state: string,
  endpoint: TokenEndpoint,
  date: { readonly now: number },
): RefreshedGrants {
  const now = (): number => date.now
  const vault = vaultIn(context, state, { now })
  return new RefreshedGrants({ vault, endpoint, clock: systemClock, log: SILENT, now })
}
