import assert from 'node:assert/strict'
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { grantOf } from '../../../../fixtures/oauth/token-server.ts'
import { SILENT } from '../../install.ts'
import { KEY, stateOf, vaultIn } from './kit.ts'
import { HandClock } from '../../../fixtures/hand-clock.ts'

const OTHER = { ...KEY, account: 'somebody' }
test('of two that write over one generation the first wins', async context => {
  const state = stateOf(context)
  const [one, two] = [vaultIn(context, state), vaultIn(context, state)]
  const first = await one.put(KEY, grantOf('f'), 0)
  assert.equal(await two.put(KEY, grantOf('late'), 0), undefined)

  const second = await two.put(KEY, grantOf('g'), first)
  assert.equal(await one.put(KEY, grantOf('late'), first), undefined)
  assert.equal((await one.findCurrent(KEY))?.generation, second)
})

test('a generation is never used again, so that an old refusal takes no new login away', async context => {
  const vault = vaultIn(context, stateOf(context))
  const first = (await vault.put(KEY, grantOf('f'))) ?? 0
  assert.equal(await vault.remove(KEY, first, 'over'), true)
  const second = (await vault.put(KEY, grantOf('g'))) ?? 0

  assert.notEqual(second, first)
  assert.equal(await vault.remove(KEY, first), false)
  assert.equal((await vault.findCurrent(KEY))?.access, 'access-g.0')
})

test('all files are for their owner alone, and have no token in them', async context => {
  const state = join(stateOf(context), 'state')
  const vault = vaultIn(context, state)
  await vault.put(KEY, grantOf('secretfamily'))
  await vault.saveRegistration(KEY.issuer, 'http://127.0.0.1/', {
    id: 'c',
    secret: 'secretofclient',
    method: 'client_secret_post',
  })

  const files = readdirSync(state)
  assert.ok(files.includes('grants.sqlite') && files.includes('grants.key'))
  assert.equal(statSync(state).mode & 0o777, 0o700)
  for (const file of files) {
    assert.equal(statSync(join(state, file)).mode & 0o777, 0o600, file)
    assert.doesNotMatch(readFileSync(join(state, file), 'latin1'), /secret(family|ofclient)/)
  }
})

test('a database that others may read is theirs no longer', async context => {
  const state = stateOf(context)
  await vaultIn(context, state).list()
  chmodSync(join(state, 'grants.sqlite'), 0o644)
  await vaultIn(context, state).list()

  assert.equal(statSync(join(state, 'grants.sqlite')).mode & 0o777, 0o600)
})

test('a key that others may read is not used', async context => {
  const state = stateOf(context)
  await vaultIn(context, state).list()
  chmodSync(join(state, 'grants.key'), 0o644)

  await assert.rejects(vaultIn(context, state).list(), {
    code: 'GW_VAULT_KEY',
    message: /it is readable by other users/,
  })
})

test('a row in the place of another is not opened', async context => {
  const state = stateOf(context)
  const vault = vaultIn(context, state)
  await vault.put(KEY, grantOf('mine'))
  await vault.put(OTHER, grantOf('theirs'))
  const database = new DatabaseSync(join(state, 'grants.sqlite'))
  const row = "SELECT value FROM entries WHERE name LIKE '%somebody%'"
  database.exec(`UPDATE entries SET value = (${row}) WHERE name LIKE '%gateway%'`)
  database.close()

  await assert.rejects(vault.findCurrent(KEY), { code: 'GW_VAULT' })
  assert.equal((await vault.findCurrent(OTHER))?.access, 'access-theirs.0')
})

test('a damaged database stays as it is, and each use says so', async context => {
  const state = stateOf(context)
  const path = join(state, 'grants.sqlite')
  writeFileSync(path, 'this is no database, and it is long enough to be looked at as if it were one'.repeat(20))
  const before = readFileSync(path)
  const said: string[] = []
  const clock = new HandClock()
  const vault = vaultIn(context, state, {
    clock,
    log: { ...SILENT, error: message => void said.push(message) },
  })

  await assert.rejects(vault.list(), { code: 'GW_VAULT' })
  await assert.rejects(vault.put(KEY, grantOf('f')), { code: 'GW_VAULT' })
  clock.pass(1000)
  await assert.rejects(vault.list(), { code: 'GW_VAULT' })
  assert.deepEqual(said, ['login store unavailable'])
  assert.deepEqual(readFileSync(path), before)
})

test('a database of somebody else is not written to', async context => {
  const state = stateOf(context)
  const path = join(state, 'grants.sqlite')
  const database = new DatabaseSync(path)
  database.exec('CREATE TABLE theirs (x)')
  database.close()

  await assert.rejects(vaultIn(context, state).list(), /a different database/)
})
