import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { HealthFinding } from '../../../src/errors/health.ts'
import type { JsonObject } from '../../../src/plugin.ts'
import { closeAfter, testGateway, testUpstream, type TestGateway } from '../../../src/testing/index.ts'
import { directoryWith } from '../../fixtures/sandbox.ts'
import { authority } from '../fixtures/certificates.ts'
import { callOf, connect, setting } from './approve/setting.ts'

const DAY_MS = 86_400_000

function found({ gateway }: TestGateway): HealthFinding[] {
  return [...gateway.health.findings]
}

/** A gateway before one server, with files beside its configuration. */
async function serve(
  t: TestContext,
  config: JsonObject,
  files: Readonly<Record<string, string>> = {},
): Promise<TestGateway> {
  const directory = directoryWith(t, { 'none.txt': '', ...files })
  const web = closeAfter(t, await testUpstream({ tools: { run: () => 'x' } }))
  return closeAfter(t, await testGateway({ upstreams: { web }, config, directory }))
}

/** What is said of a listener whose certificate ends after some days. */
async function saidOfCertificate(t: TestContext, days: number): Promise<HealthFinding[]> {
  const { cert, key } = authority().certify('localhost', new Date(Date.now() + days * DAY_MS + 60_000))
  const tls = { cert: 'cert.pem', key: 'key.pem' }
  const listeners = { main: { type: 'http', port: 0, tls } }
  return found(await serve(t, { listeners }, { 'cert.pem': cert, 'key.pem': key }))
}

test('a certificate that ends within two weeks is a warning, one that has ended an error, and others are none', async t => {
  assert.deepEqual(await saidOfCertificate(t, 60), [])
  const [soon] = await saidOfCertificate(t, 3)
  assert.deepEqual([soon?.code, soon?.level], ['certificate-ends', 'warning'])
  assert.match(soon?.summary ?? '', /main expires in 3d/)
  const [past] = await saidOfCertificate(t, -1)
  assert.deepEqual([past?.code, past?.level], ['certificate-ended', 'error'])
})

test('an approval that waits is told until somebody has decided', async t => {
  const { gateway } = await setting(t, { by: ['owner'] })
  const client = await connect(t, gateway, {})
  assert.deepEqual(found(gateway), [])

  const running = client.request('tools/call', callOf(7))
  while (found(gateway).length === 0) await new Promise(resolve => setTimeout(resolve, 5))
  const [waiting] = found(gateway)
  assert.equal(waiting?.code, 'approvals-waiting')
  assert.match(waiting.summary, /1/)
  const { approvals } = (await gateway.gateway.control('approvals.list')) as { approvals: { id: string }[] }
  await gateway.gateway.control('approvals.deny', { id: approvals[0]?.id ?? '' })
  await running

  assert.deepEqual(found(gateway), [])
})

test('pins without a lock file are a warning that says how to make one', async t => {
  const [finding] = found(await serve(t, { pins: 'withhold' }))
  assert.deepEqual([finding?.code, finding?.level], ['pins-no-lock', 'warning'])
  assert.match(finding?.fix ?? '', /gateway lock/)
})
