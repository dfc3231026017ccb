import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { directory, gateway, PACKAGE } from './run.ts'

/** A project that depends on the gateway. */
async function project(t: TestContext): Promise<string> {
  const cwd = await directory(t, { 'package.json': '{ "type": "module" }' })
  await mkdir(join(cwd, 'node_modules'))
  await symlink(PACKAGE, join(cwd, 'node_modules/tapgate'), 'junction')
  return cwd
}

test('a new plugin passes its test in an empty directory too, by the command that is printed', async t => {
  const cwd = await directory(t)
  const { stdout } = await gateway(['plugin', 'new', 'no-drop'], { cwd })
  const command = /^ {2}npm (test --prefix \S+)$/m.exec(stdout)?.[1] ?? ''
  const path = `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}`
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined, PATH: path }

  const tested = await promisify(execFile)('npm', command.split(' '), {
    cwd,
    env,
    shell: process.platform === 'win32',
  })

  assert.match(tested.stdout, /pass 3/)
})

test('a new plugin can be enabled as its README says', async t => {
  const cwd = await project(t)
  await gateway(['plugin', 'new', 'no-drop', '--dir', 'own/plugins'], { cwd })
  const readme = await readFile(join(cwd, 'own/plugins/no-drop/README.md'), 'utf8')
  const snippet = /```yaml\n(.*?)```/s.exec(readme)?.[1] ?? ''
  await writeFile(join(cwd, 'gateway.yaml'), `version: 1\nlisteners: { pipe: { type: stdio } }\n${snippet}`)

  const { code, stdout } = await gateway(['validate'], { cwd })

  assert.equal(code, 0, stdout)
})

test('what exists is not overwritten unless that is meant', async t => {
  const cwd = await directory(t, { 'plugins/mine/index.ts': 'precious' })

  const refused = await gateway(['plugin', 'new', 'mine'], { cwd })
  const kept = await readFile(join(cwd, 'plugins/mine/index.ts'), 'utf8')
  const forced = await gateway(['plugin', 'new', 'mine', '--force', '--json'], { cwd })

  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /GW_FILE_EXISTS: plugins\/mine\/index\.ts already exists/)
  assert.equal(kept, 'precious')
  const written = [
    'plugins/mine/package.json',
    'plugins/mine/index.ts',
    'plugins/mine/index.test.ts',
    'plugins/mine/README.md',
  ]
  assert.deepEqual(JSON.parse(forced.stdout), { name: 'mine', directory: 'plugins/mine', files: written })
})

test('a name that is no name, or is taken by a built-in plugin, is refused', async t => {
  const cwd = await directory(t)

  const names = ['Upper', '../up', 'a--b', 'cache', 'x'.repeat(65)]
  const outcomes = await Promise.all(names.map(name => gateway(['plugin', 'new', name], { cwd })))

  assert.deepEqual(
    outcomes.map(({ code }) => code),
    [2, 2, 2, 2, 2],
  )
  assert.match(outcomes[3]?.stderr ?? '', /built-in/)
})
