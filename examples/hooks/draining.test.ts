import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Plugin } from 'tapgate/plugin'
import { closeAfter, testGateway } from 'tapgate/testing'
import { signOut } from './living.ts'

test('draining: runs while requests are still served', async t => {
  let isListed = true
  const options = { remove: (): void => void (isListed = false) }
  const plugin: Plugin<never> = { ...signOut, setup: api => signOut.setup({ ...api, options }) }
  const config = { shutdown: { delay: 20, grace: 100 } }
  const { gateway, url, log } = closeAfter(t, await testGateway({ plugins: [plugin], config }))

  await gateway.drain()

  assert.equal(isListed, false)
  assert.equal(log.find(({ message }) => message === 'signed out')?.delayMs, 20)
  assert.equal((await fetch(new URL('/readyz', url))).status, 503)
  assert.equal((await fetch(new URL('/livez', url))).status, 200)
})
