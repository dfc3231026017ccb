import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { serveHttpGateway } from '../peers/gateway.ts'
import { directory, gateway as command } from './cli/run.ts'
import { cleanup } from '../fixtures/cleanup.ts'

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
