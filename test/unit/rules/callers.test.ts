import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Config, Principal } from '../../../src/api/index.ts'
import { ANONYMOUS, compileCallers } from '../../../src/api/principal.ts'
import type { Plugin } from '../../../src/plugin.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'
import { hashOf } from './keys.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const ID = 'https://id.example.com'
const OTHER = 'https://other.example.com'

function auth(more: object): Config['auth'] {
  return more as Config['auth']
}

function by(issuer: string, subject: string): Principal {
  return { issuer, client: '', subject, scopes: [] }
}

test('a subject alone is that of a key, never of a token that says the same', () => {
  const isMeant = compileCallers(
    ['ci', `${ID} ops-*`],
    auth({ keysFile: 'k', jwt: [{ issuer: ID }, { issuer: OTHER }] }),
  )
  assert.equal(isMeant(by('api-key', 'ci')), true)
  assert.equal(isMeant(by(ID, 'ci')), false)
  assert.equal(isMeant(by(ID, 'ops-1')), true)
  assert.equal(isMeant(by(OTHER, 'ops-1')), false)
  assert.equal(isMeant(by('api-key', 'ops-1')), false)
})

test('without keys a subject alone is that of the only issuer, and without auth of whoever a plugin lets in', () => {
  const isMeant = compileCallers('Alice *', auth({ jwt: [{ issuer: ID }] }))
  assert.equal(isMeant(by(ID, 'Alice Smith')), true)
  assert.equal(isMeant(by('api-key', 'Alice Smith')), false)
  assert.equal(compileCallers('ci', undefined)(by('a-plugin', 'ci')), true)
  assert.equal(compileCallers('ci', auth({ jwt: [{ issuer: ID }, { issuer: OTHER }] }))(by(ID, 'ci')), false)
})

test('everybody is everybody, and who was not identified keeps a name of its own', () => {
  const both = auth({ keysFile: 'k', jwt: [{ issuer: ID }] })
  for (const who of [by(ID, 'x'), by('api-key', 'y'), ANONYMOUS]) assert.equal(compileCallers('*', both)(who), true)
  assert.equal(compileCallers('anonymous', both)(ANONYMOUS), true)
  assert.equal(compileCallers('anonymous', both)(by(ID, 'anonymous')), false)
})

/** Lets in tokens of somebody else, beside the keys. */
const tokens: Plugin = {
  name: 'tokens',
  setup({ hooks }) {
    hooks.authenticate.tap({ stage: 'trace' }, credentials => {
      const [sub] = credentials.header('x-token')
      return sub === undefined ? undefined : by(ID, sub)
    })
  },
}

const PLACES = {
  'a rule of access': (who: string) => ({ rules: [{ tools: 'one__secret', principals: [who] }] }),
  'a profile': () => ({}),
  'a route': () => ({}),
  'a limit': () => ({}),
}

for (const place of Object.keys(PLACES) as (keyof typeof PLACES)[])
  test(`${place} for a key is not for a token with the subject of that key`, async t => {
    const one = closeAfter(t, await testUpstream({ tools: { secret: () => 'top', open: () => 'x' } }))
    const config = {
      auth: {
        keys: [{ name: 'ci', hash: hashOf('key') }],
        jwt: [{ issuer: ID, jwks: 'keys.json' }],
        resource: 'https://gateway.example/mcp',
        ...PLACES[place]('ci'),
      },
      ...(place === 'a profile'
        ? { profiles: { all: { principals: ['ci'] }, default: { tools: { deny: ['one__secret'] } } } }
        : place === 'a route'
          ? {
              routes: [
                { match: { tool: 'one__secret', principal: 'ci' }, to: 'one' },
                { match: { tool: 'one__secret' }, deny: 'no' },
              ],
            }
          : place === 'a limit'
            ? { rateLimit: { rules: { ours: { principals: 'ci', perMinute: 1 } } } }
            : {}),
    }
    const directory = await mkdtemp(join(tmpdir(), 'rules-'))
    cleanup(t, () => rm(directory, { recursive: true, force: true }))
    await writeFile(join(directory, 'keys.json'), JSON.stringify({ keys: [] }))
    const gateway = closeAfter(t, await testGateway({ upstreams: { one }, config, plugins: [tokens], directory }))
    const client = closeAfter(t, await testClient(gateway))
    const call = async (headers: Record<string, string>): Promise<boolean> =>
      (await client.request('tools/call', { name: 'one__secret', arguments: {} }, { headers })).error === undefined
    const key = { authorization: 'Bearer key' }
    const token = { 'x-token': 'ci' }
    if (place === 'a limit')
      assert.deepEqual(
        [await call(key), await call(key), await call(token), await call(token)],
        [true, false, true, true],
      )
    else assert.deepEqual([await call(key), await call(token)], [true, false])
  })
