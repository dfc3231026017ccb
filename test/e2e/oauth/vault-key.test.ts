import assert from 'node:assert/strict'
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { directory, gateway } from '../cli/run.ts'
import { behindLogin, loggingIn, NO_BROWSER } from '../manners/places.ts'

const KEY = 'a-key-of-the-keyring-with-more-than-32-characters'

test('a program gives the key of the logins, and without that key nobody reads them', async t => {
  const { server } = await behindLogin(t)
  const config = {
    state: { directory: 'state' },
    secrets: { keyCommand: ['cat', 'the-key'] },
    upstreams: { web: { type: 'http', url: server.url, oauth: {} } },
  }
  const cwd = await directory(t, { 'gateway.yaml': JSON.stringify(config), 'the-key': `${KEY}\n` })
  const where = { cwd, env: NO_BROWSER }
  assert.equal(await (await loggingIn(t, where)).exit, 0)
  const called = await gateway(['call', 'web__whoami'], where)
  assert.match(called.stdout, /here/, called.stderr)

  const state = join(cwd, 'state')
  assert.ok(!existsSync(join(state, 'grants.key')), 'no other key is made')
  for (const file of readdirSync(state).filter(name => statSync(join(state, name)).isFile())) {
    const bytes = readFileSync(join(state, file), 'latin1')
    for (const secret of [KEY, ...server.given]) assert.ok(!bytes.includes(secret), file)
  }

  for (const [key, why] of [
    ['another-key-of-the-keyring-with-more-than-32', /sealed with another key/],
    ['short', /at least 32 characters/],
    [undefined, /cat ended with exit code 1|No such file/],
  ] as const) {
    writeFileSync(join(cwd, 'gateway.yaml'), JSON.stringify({ ...config, secrets: commandFor(key) }))
    if (key !== undefined) writeFileSync(join(cwd, 'another-key'), key)
    const { stdout, stderr } = await gateway(['logins'], where)
    assert.match(stdout + stderr, /GW_VAULT_KEY|invalid key of the login store/)
    assert.match(stdout + stderr, why)
    assert.ok(!(stdout + stderr).includes(key ?? KEY) || key === 'short')
  }
  writeFileSync(join(cwd, 'gateway.yaml'), JSON.stringify(config))
  assert.match((await gateway(['logins'], where)).stdout, /web +gateway +granted/, 'nothing was deleted')
})

function commandFor(key: string | undefined): object {
  return { keyCommand: ['cat', key === undefined ? 'nowhere' : 'another-key'] }
}

test('a file gives the key of the logins, and no other key is made', async t => {
  const { server } = await behindLogin(t)
  const config = {
    state: { directory: 'state' },
    secrets: { keyFile: 'the-key' },
    upstreams: { web: { type: 'http', url: server.url, oauth: {} } },
  }
  const cwd = await directory(t, { 'gateway.yaml': JSON.stringify(config), 'the-key': `${KEY}\n` })
  chmodSync(join(cwd, 'the-key'), 0o600)
  const where = { cwd, env: NO_BROWSER }
  assert.equal(await (await loggingIn(t, where)).exit, 0)

  assert.match((await gateway(['call', 'web__whoami'], where)).stdout, /here/)
  assert.ok(!existsSync(join(cwd, 'state/grants.key')), 'no other key is made')
  writeFileSync(join(cwd, 'the-key'), 'another-key-of-the-keyring-with-more-than-32')
  const { stdout, stderr } = await gateway(['logins'], where)
  assert.match(stdout + stderr, /sealed with another key/)
})
