import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCaller, formatCaller } from '../../../../../plugins/oauth/callers.ts'
import type { Config } from '../../../../../src/plugin.ts'

const ALICE = { issuer: 'https://id.example.com', subject: 'alice' }
const BOB = { issuer: 'api-key', subject: 'bob' }

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
