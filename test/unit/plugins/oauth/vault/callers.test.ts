import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WaitingCallers, hashAccount, parseCaller, formatCaller } from '../../../../../plugins/oauth/callers.ts'
import type { Config } from '../../../../../src/plugin.ts'
import { grantOf } from '../../../../fixtures/oauth/token-server.ts'
import { KEY, stateOf, vaultIn } from './kit.ts'

const ALICE = { issuer: 'https://id.example.com', subject: 'alice' }
const BOB = { issuer: 'api-key', subject: 'bob' }
const OF_ALICE = { ...KEY, account: hashAccount(ALICE) }

test('callers that wait are counted, until they have a login that their server takes', async context => {
  const vault = vaultIn(context, stateOf(context))
  const waiting = new WaitingCallers(vault)
  const ofBob = { upstream: 'web', resource: KEY.resource, account: hashAccount(BOB), caller: BOB }
  for (let i = 0; i < 3; i++) waiting.addWaiting({ ...ofBob, since: Date.now() })
  assert.deepEqual([waiting.countWaiting('web'), waiting.countWaiting('other')], [1, 0])

  await vault.put({ ...KEY, account: ofBob.account }, { ...grantOf('b'), caller: BOB })
  waiting.addWaiting({ ...ofBob, since: Date.now() - 1000 })
  assert.equal(waiting.countWaiting('web'), 0)
  assert.equal(waiting.hasLoggedIn('web', KEY.resource, ofBob.account), true)
  // Its server takes the login no more: there is one, and it is of no use.
  waiting.addWaiting({ ...ofBob, since: Date.now() + 1000 })
  assert.equal(waiting.countWaiting('web'), 1)
  assert.equal(waiting.hasLoggedIn('web', KEY.resource, ofBob.account), false)

  const first = (await vault.put(OF_ALICE, { ...grantOf('f'), caller: ALICE })) ?? 0
  await vault.remove(OF_ALICE, first, 'it was over')
  assert.deepEqual(
    (await vault.list()).filter(({ lost }) => lost !== undefined).map(({ caller }) => caller),
    [ALICE],
  )
})

test('a caller is named as he is shown, and nobody else', () => {
  const both = {
    keysFile: 'k',
    jwt: [{ issuer: ALICE.issuer }],
    certificates: [{ issuer: 'ca' }],
  } as unknown as Config['auth']
  for (const one of [ALICE, BOB, { issuer: 'ca', subject: 'CN=ci,O=Example' }])
    assert.deepEqual(parseCaller(formatCaller(one), both), one)
  assert.equal(parseCaller('alice', both), undefined)
  assert.deepEqual(parseCaller('alice', { jwt: [{ issuer: ALICE.issuer }] } as unknown as Config['auth']), ALICE)
  // Without keys nobody is called by one.
  assert.deepEqual(parseCaller('key:x', { jwt: [{ issuer: ALICE.issuer }] } as unknown as Config['auth']), {
    ...ALICE,
    subject: 'key:x',
  })
  assert.equal(parseCaller('alice', undefined), undefined)
})
