import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { authority, type Certificate } from '../../unit/fixtures/certificates.ts'
import { secureFetch } from '../../unit/listeners/tls/secure-client.ts'
import { directory, serving } from './run.ts'

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
  await logged('certificate renewed')
  await serves(url, 'second')
})

test('a certificate is renewed with --watch, as its files are watched too', async t => {
  const cwd = await directory(t, { 'gateway.yaml': configWith({}), ...filesOf(ours.certify('first')) })
  const { logged } = serving(t, ['serve', '--watch'], { cwd })
  const url = String((await logged('listening'))['url'])
  renew(cwd, ours.certify('second'))
  await logged('certificate renewed')
  await serves(url, 'second')
})
