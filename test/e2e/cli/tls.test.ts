import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { authority, type Certificate } from '../../unit/fixtures/certificates.ts'
import { secureFetch } from '../../unit/listeners/tls/secure-client.ts'
import { twoWorkers, placeOf } from '../workers/setting.ts'
import { directory, gateway, serving } from './run.ts'

const ours = authority('Servers CA')
const clients = authority('Clients CA')
const { cert: ca } = ours

function filesOf({ cert, key }: Certificate): Record<string, string> {
  return { 'cert.pem': cert, 'key.pem': key, 'clients.pem': clients.cert }
}

function renew(cwd: string, certificate: Certificate): void {
  for (const [name, text] of Object.entries(filesOf(certificate))) writeFileSync(join(cwd, name), text)
}

function configWith(more: object): string {
  const tls = { cert: 'cert.pem', key: 'key.pem', ...more }
  return JSON.stringify({ version: 1, listeners: { main: { type: 'http', port: 0, tls } }, upstreams: {} })
}

async function serves(url: string, name: string): Promise<void> {
  const end = Date.now() + 20_000
  while ((await secureFetch(new URL('/livez', url), { ca })).server !== name) {
    assert.ok(Date.now() < end, `it does not show the certificate of ${name}`)
    await pause(50)
  }
}

test('a certificate is renewed by SIGHUP', async t => {
  const cwd = await directory(t, { 'gateway.yaml': configWith({}), ...filesOf(ours.certify('first')) })
  const { child, logged } = serving(t, ['serve'], { cwd })
  const url = String((await logged('listening'))['url'])
  assert.match(url, /^https:/)
  await serves(url, 'first')
  renew(cwd, ours.certify('second'))
  child.kill('SIGHUP')
  await logged('serves a renewed certificate')
  await serves(url, 'second')
})

test('a certificate is renewed with --watch, as its files are watched too', async t => {
  const cwd = await directory(t, { 'gateway.yaml': configWith({}), ...filesOf(ours.certify('first')) })
  const { logged } = serving(t, ['serve', '--watch'], { cwd })
  const url = String((await logged('listening'))['url'])
  renew(cwd, ours.certify('second'))
  await logged('serves a renewed certificate')
  await serves(url, 'second')
})

test('validate names the file, and the line', async t => {
  const cwd = await directory(t, {
    'gateway.yaml': configWith({ clientCa: 'absent.pem' }),
    ...filesOf(ours.certify('first')),
  })
  const { code, stderr } = await gateway(['validate'], { cwd })
  assert.equal(code, 3)
  assert.match(stderr, /gateway\.yaml:1:\d+ .*absent\.pem cannot be read/)
})

test('a caller with a certificate is the same one at every worker', async t => {
  const { url } = await overWorkers(t)
  const client = clients.certify('ci')
  const post = async (body: object, headers: Record<string, string> = {}, who = client) =>
    secureFetch(url, {
      ca,
      client: who,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }),
    })
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } }
  const opened = await post({ method: 'initialize', params })
  const session = String(opened.headers['mcp-session-id'])
  assert.ok(placeOf(session) !== undefined, opened.text)
  // Connections go round: some of these arrive at the other worker, and are handed on.
  for (let turn = 0; turn < 4; turn++) {
    assert.equal((await post({ method: 'tools/list' }, { 'mcp-session-id': session })).status, 200)
    const other = await post({ method: 'tools/list' }, { 'mcp-session-id': session }, clients.certify('dev'))
    assert.equal(other.status, 404, other.text)
  }
})

function overWorkers(t: TestContext): ReturnType<typeof twoWorkers> {
  const tls = { cert: 'cert.pem', key: 'key.pem', clientCa: 'clients.pem' }
  const config = {
    listeners: { main: { type: 'http', port: 0, tls } },
    auth: { certificates: [{ issuer: 'CN=Clients CA' }] },
    upstreams: {},
  }
  return twoWorkers(t, config, { files: filesOf(ours.certify('first')) })
}
