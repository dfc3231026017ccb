import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { WebSocket } from 'ws'
import { createKey } from '../../../../src/cli/scaffold.ts'
import { testGateway } from '../../../../src/testing/index.ts'
import { bearer, call, send, serve } from './gateway.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

const ci = createKey('ci', [])

describe('an API key', () => {
  const keys = [{ name: 'ci', hash: ci.hash }]

  test('opens the door as a Bearer credential and in a header of its own', async t => {
    const gateway = await serve(t, { keys })
    assert.equal((await call(gateway, 'db__read', ci.key)).status, 200)
    const own = await send(gateway, 'tools/call', { name: 'db__read' }, { 'x-api-key': ci.key })
    assert.match(await own.text(), /rows/)
  })

  test('that nobody has, or none at all, is 401 without a word about tokens', async t => {
    const gateway = await serve(t, { keys })
    for (const key of [undefined, createKey('new', []).key, `${ci.key}x`, ci.key.slice(0, -1), ci.hash]) {
      const reply = await call(gateway, 'db__read', key)
      assert.equal(reply.status, 401)
      assert.match(reply.headers.get('www-authenticate') ?? '', /^Bearer( error="invalid_token")?$/)
    }
    const path = new URL('/.well-known/oauth-protected-resource', gateway.url)
    assert.equal((await fetch(path, { headers: bearer(ci.key) })).status, 404)
  })

  test('may stand in a file, and ends with the line that it stood on', async t => {
    const directory = await mkdtemp(join(tmpdir(), 'keys-'))
    cleanup(t, () => rm(directory, { recursive: true }))
    const file = join(directory, 'keys.txt')
    await writeFile(file, `# ours\nci ${ci.hash} tools:read # for builds\n`)
    const gateway = await serve(t, { keysFile: file })
    assert.equal((await call(gateway, 'db__read', ci.key)).status, 200)
    await writeFile(file, '# ours\n')
    await gateway.gateway.reload({ ...gateway.gateway.generation.loaded.config })
    assert.equal((await call(gateway, 'db__read', ci.key)).status, 401)
  })

  test('that was taken back closes what it had opened, and says so', async t => {
    const gateway = await serve(t, { keys })
    const socket = new WebSocket(gateway.url.replace(/^http(.*)\/mcp$/, 'ws$1/ws'), ['mcp'], {
      headers: bearer(ci.key),
    })
    await once(socket, 'open')
    const listening = await send(
      gateway,
      'subscriptions/listen',
      { notifications: { toolsListChanged: true } },
      bearer(ci.key),
    )
    assert.equal(listening.status, 200)
    const closed = once(socket, 'close')
    const { config } = gateway.gateway.generation.loaded
    const auth = { ...config.auth, keys: [{ name: 'other', hash: createKey('new', []).hash }] }
    await gateway.gateway.reload({ ...config, auth })
    const [code, why] = (await closed) as [number, Buffer]
    assert.deepEqual([code, String(why)], [1008, 'credentials expired or revoked'])
    await listening.text()
  })
})

describe('what auth covers', () => {
  const keys = [{ name: 'ci', hash: ci.hash }]
  const other = { type: 'http', port: 0 }

  test('is every HTTP listener but for those that it leaves out, and not the paths that are open', async t => {
    const listeners = { main: other, inner: other }
    const gateway = await serve(t, { keys, listeners: ['main'], except: ['/open'] }, { listeners })
    const [main, inner] = gateway.gateway.listeners
    const status = (url: string): Promise<number> => call({ ...gateway, url }, 'db__read').then(({ status }) => status)
    assert.equal(await status(main?.url ?? ''), 401)
    assert.equal(await status(inner?.url ?? ''), 200)
    assert.equal((await fetch(new URL('/open', main?.url))).status, 404)
    assert.equal((await fetch(new URL('/livez', main?.url))).status, 200)
    assert.equal((await fetch(new URL('/healthz', main?.url))).status, 200)
  })

  test('may be bound beyond loopback, and nothing else', async t => {
    const world = { ...other, host: '0.0.0.0' }
    await serve(t, { keys }, { listeners: { main: world } })
    await assert.rejects(
      testGateway({
        config: { listeners: { main: world, inner: other }, auth: { keys, listeners: ['inner'] } },
      }),
      /host "0\.0\.0\.0" exposes every tool|configuration/,
    )
    await assert.rejects(
      testGateway({
        config: { listeners: { main: world }, auth: { jwt: [{ issuer: 'https://a', jwks: 'https://a/k' }] } },
      }),
      /set auth\.resource/,
    )
  })
})
