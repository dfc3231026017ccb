import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { hashOf } from '../../unit/rules/keys.ts'
import { serving } from '../cli/run.ts'
import { behindLogin, callAs, loggingIn, pageOf, visit } from '../manners/places.ts'

const CI = ['--account', 'key:ci']

test('a call of a caller right after its login gets through; nobody else is tried again', async t => {
  const where = await behindLogin(t)
  const { cwd, server } = where
  const keys = ['ci', 'dev'].map(name => ({ name, hash: hashOf(name) }))
  await writeFile(
    join(cwd, 'gateway.yaml'),
    JSON.stringify({
      listeners: { main: { type: 'http', port: 0 } },
      state: { directory: 'state' },
      auth: { keys },
      upstreams: { web: { type: 'http', url: server.url, oauth: { account: 'caller' } } },
    }),
  )
  const running = serving(t, ['serve'], where)
  const url = String((await running.logged('listening'))['url'])
  assert.equal(await (await loggingIn(t, where, CI)).exit, 0)
  assert.match(await callAs(url, 'ci'), /here/)
  const page = await pageOf(serving(t, ['login', 'web', ...CI], where))
  server.endAll()

  for (const key of ['ci', 'dev', 'ci']) assert.match(await callAs(url, key), /requires you to log in/)
  assert.equal((await visit(page)).status, 200)
  assert.match(await callAs(url, 'ci'), /here/)
  assert.match(await callAs(url, 'dev'), /requires you to log in/)
})
