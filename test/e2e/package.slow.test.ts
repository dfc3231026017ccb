import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { requireBuild } from '../peers/gateway.ts'
import { directory, PACKAGE } from './cli/run.ts'

const run = promisify(execFile)

const PLUGIN = `import { GatewayError } from 'tapgate/plugin'
export default {
  name: 'own',
  setup() {
    throw new GatewayError('GW_STOPPING')
  },
}
`
const CONFIG = `version: 1
listeners: { pipe: { type: stdio } }
upstreams: { one: { type: stdio, command: node } }
plugins: { own: { use: ./own.mjs } }
`
const SAME = `import * as main from 'tapgate'
import * as plugin from 'tapgate/plugin'
import * as testing from 'tapgate/testing'
const gateway = await testing.testGateway({ upstreams: {} })
const refusal = await main.createGateway({ upstream: {} }).catch(error => error)
await gateway[Symbol.asyncDispose]()
console.log(main.GatewayError === plugin.GatewayError, refusal instanceof plugin.GatewayError)
`

/** A project with the package in it, as npm would pack and install it. */
async function project(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  requireBuild()
  const cwd = await directory(t, { 'package.json': '{ "type": "module" }', ...files })
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', cwd], {
    cwd: PACKAGE,
    shell: process.platform === 'win32',
  })
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }]
  const home = join(cwd, 'node_modules/tapgate')
  await mkdir(home, { recursive: true })
  await run('tar', ['-xzf', join(cwd, filename), '-C', home, '--strip-components=1'])
  const { dependencies } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  for (const name of Object.keys(dependencies)) {
    const link = join(cwd, 'node_modules', name)
    await mkdir(dirname(link), { recursive: true })
    await symlink(join(PACKAGE, 'node_modules', name), link, 'junction')
  }
  return cwd
}

test('what is packed runs, and plugins share its errors with it', async t => {
  const cwd = await project(t, { 'own.mjs': PLUGIN, 'gateway.yaml': CONFIG, 'same.mjs': SAME })
  const launcher = join(cwd, 'node_modules/tapgate/bin/run.js')
  const version = await run(process.execPath, [launcher, '--version'], { cwd })
  const help = await run(process.execPath, [launcher, 'help', 'serve'], { cwd })
  const validate = await run(process.execPath, [launcher, 'validate'], { cwd }).catch((error: unknown) => error)
  const same = await run(process.execPath, ['same.mjs'], { cwd })

  assert.match(version.stdout, /^tapgate\//)
  assert.match(help.stdout, /--stdio/)
  // An error of another class would be told as GW_PLUGIN_SETUP.
  assert.match((validate as { stderr: string }).stderr, /GW_STOPPING/)
  assert.equal(same.stdout, 'true true\n')
})

test('what is packed has the types of each entry, the licenses of what is inside, and no tests', async t => {
  const cwd = await project(t, {})
  const home = join(cwd, 'node_modules/tapgate')
  const { exports } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8')) as {
    exports: Record<string, string | Record<string, string>>
  }
  const named = Object.values(exports).flatMap(entry => (typeof entry === 'string' ? [] : Object.values(entry)))
  const present = await readdir(home, { recursive: true })

  for (const file of named) assert.ok(present.includes(join(file)), file)
  assert.match(await readFile(join(home, 'dist/LICENSES.txt'), 'utf8'), /^tapable \d[^]*^yaml \d/m)
  assert.deepEqual(
    present.filter(file => /\.test\.|^(src|test|node_modules)\b/.test(file)),
    [],
  )
})
