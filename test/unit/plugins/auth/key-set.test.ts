import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeProtectedHeader } from 'jose'
import { createKeySet } from '../../../../plugins/auth/tokens.ts'
import { guardedFetch } from '../../../../src/net/guarded-fetch.ts'
import { startIssuer } from '../../../proof/access/issuer.ts'
import { SILENT } from '../install.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

test('public keys are fetched again for a key that is new, and at most every 30 seconds', async t => {
  const issuer = await startIssuer()
  cleanup(t, () => issuer.close())
  const clock = new HandClock()
  const fetch = guardedFetch({ clock, log: SILENT, environment: {}, allowed: [] })
  const find = await createKeySet(issuer.jwks, { directory: '.', clock, log: SILENT, fetch })
  const header = async (): Promise<{ alg: string; kid: string }> =>
    decodeProtectedHeader(await issuer.sign('a')) as { alg: string; kid: string }

  await Promise.all([find(await header()), find(await header())])
  assert.equal(issuer.fetches(), 1)
  await issuer.rotate()
  clock.pass(29_999)
  await assert.rejects(find(await header()))
  assert.equal(issuer.fetches(), 1)
  clock.pass(1)
  await find(await header())
  assert.equal(issuer.fetches(), 2)

  // The keys serve on while their issuer is away, but not for ever.
  issuer.isDown = true
  clock.pass(59 * 60_000)
  await find(await header())
  clock.pass(2 * 60_000)
  await assert.rejects(find(await header()))
  assert.equal(issuer.fetches(), 4)
})

test('public keys come over https, from loopback, or from a file, and from nowhere else', async () => {
  const clock = new HandClock()
  const fetch = guardedFetch({ clock, log: SILENT, environment: {}, allowed: [] })
  const around = { directory: import.meta.dirname, clock, log: SILENT, fetch }
  for (const from of ['http://id.example.com/keys', 'ftp://127.0.0.1/keys', 'file:///etc/passwd'])
    await assert.rejects(createKeySet(from, around), /public keys require https/)
  await assert.rejects(createKeySet('./key-set.test.ts', around), /is not a JSON Web Key Set/)
})
