import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { serveHttpGateway, type GatewayProcess } from '../peers/gateway.ts'
import { startIssuer, type Issuer } from '../proof/access/issuer.ts'
import { testUpstream, type TestUpstream } from '../../src/testing/index.ts'
import { directory, gateway as command } from './cli/run.ts'
import { cleanup } from '../fixtures/cleanup.ts'

const RESOURCE = 'https://gateway.example/mcp'

let issuer: Issuer
let upstream: TestUpstream
let gateway: GatewayProcess

before(async () => {
  issuer = await startIssuer()
  upstream = await testUpstream({ tools: { read: () => 'rows', drop: () => 'gone' } })
  gateway = await serveHttpGateway({
    version: 1,
    listeners: { main: { type: 'http', port: 0 } },
    upstreams: { db: { type: 'http', url: upstream.url } },
    auth: {
      jwt: [{ issuer: issuer.url, jwks: issuer.jwks }],
      resource: RESOURCE,
      rules: [{ tools: '*__drop', scopes: ['db:drop'] }],
    },
  })
})

after(async () => {
  await gateway.stop()
  await upstream[Symbol.asyncDispose]()
  await issuer.close()
})

/** All that the clients of both SDK versions have in common. */
interface Peer {
  listTools(): Promise<{ tools: { name: string }[] }>
  callTool(params: { name: string }): Promise<unknown>
  close(): Promise<void>
}

const INFO = { name: 'peer', version: '1.0.0' }

async function connectV1(token: string): Promise<Peer> {
  const client = new ClientV1(INFO)
  await client.connect(new HttpV1(new URL(gateway.url), init(token)))
  return client
}

async function connectV2(token: string): Promise<Peer> {
  const client = new ClientV2(INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  await client.connect(new HttpV2(new URL(gateway.url), init(token)))
  return client
}

function init(token: string): { requestInit: RequestInit } {
  return { requestInit: { headers: { authorization: `Bearer ${token}` } } }
}

const CLIENTS = { 'an SDK v1 client': connectV1, 'a modern SDK v2 client': connectV2 }

for (const [name, connect] of Object.entries(CLIENTS)) {
  test(`${name} with a good token sees and calls what its scopes open`, async t => {
    const plain = await connect(await issuer.sign(RESOURCE))
    cleanup(t, () => plain.close())
    assert.deepEqual(
      (await plain.listTools()).tools.map(tool => tool.name),
      ['db__read'],
    )
    assert.match(JSON.stringify(await plain.callTool({ name: 'db__read' })), /rows/)
    await assert.rejects(plain.callTool({ name: 'db__drop' }), /db:drop|403|insufficient/i)

    const full = await connect(await issuer.sign(RESOURCE, { scope: 'db:drop' }))
    cleanup(t, () => full.close())
    assert.match(JSON.stringify(await full.callTool({ name: 'db__drop' })), /gone/)
  })

  test(`${name} with a bad token does not get in`, async () => {
    await assert.rejects(connect(await issuer.sign('https://other.example/mcp')), /401|unauthorized|who sends/i)
  })
}

test('a key that gateway key new makes opens a gateway that knows its hash', async t => {
  const cwd = await directory(t)
  const { code, stdout } = await command(['key', 'new', '--name', 'ci', '--scope', 'db:drop'], { cwd })
  assert.equal(code, 0)
  const [held = ''] = /gwk_[\w-]{43}/.exec(stdout) ?? []
  assert.match(stdout, /gwk_[\w-]{43}\n[^]*- \{ name: "ci", hash: "sha256:[0-9a-f]{64}", scopes: \["db:drop"\] \}/)
  const bad = await command(['key', 'new', '--name', 'a b'], { cwd })
  assert.equal(bad.code, 2)
  const made = JSON.parse((await command(['key', 'new', '--name', 'other', '--json'], { cwd })).stdout) as Record<
    string,
    string
  >
  const line = /^ {2}(ci sha256:[0-9a-f]{64} db:drop)$/m.exec(stdout)?.[1] ?? ''
  await writeFile(join(cwd, 'keys.txt'), `${line}\n`)
  const served = await serveHttpGateway({
    version: 1,
    listeners: { main: { type: 'http', port: 0 } },
    auth: { keys: [{ name: made.name, hash: made.hash }], keysFile: join(cwd, 'keys.txt') },
  })
  cleanup(t, () => served.stop())
  const status = async (key = ''): Promise<number> =>
    (await fetch(served.url, { method: 'POST', headers: { 'x-api-key': key } })).status
  assert.equal(await status(made.key), 415)
  assert.equal(await status(held), 415, 'the other line is one of a file of keys')
  assert.equal(await status(`${made.key}x`), 401)
})
