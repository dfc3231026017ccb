import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { closeAfter, testUpstream } from '../../src/testing/index.ts'
import { directory, gatewayProcess, PACKAGE, serving } from './cli/run.ts'
import type { Outcome } from '../fixtures/run-command.ts'

const run = promisify(execFile)

const CONFIG = `version: 1
listeners: { main: { type: http, port: 0 } }
upstreams:
  web: { type: http, url: URL }
plugins:
  budget: { use: tapgate-budget }
budget:
  calls: 1
`
/** Leaves a file behind when any of its code is run. */
const TRACE = `import { writeFileSync } from 'node:fs'
writeFileSync(new URL('./ran', import.meta.url), '')
throw new Error('broken')
`

interface Project {
  readonly cwd: string
  /** Runs the command line in it, with other lines at the end of the configuration. */
  gateway(args: readonly string[], config?: string): Promise<Outcome>
}

/** A project with the example packed and installed in it, and nothing of the repository but the gateway itself. */
async function project(t: TestContext): Promise<Project> {
  const web = closeAfter(t, await testUpstream({ tools: { ping: () => 'pong' } }))
  const config = CONFIG.replace('URL', web.url)
  const cwd = await directory(t, { 'package.json': '{ "type": "module" }', 'gateway.yaml': config })
  const example = join(PACKAGE, 'examples/plugin-package')
  const source = join(cwd, 'source')
  await cp(example, source, { recursive: true })
  await rename(join(source, 'package.example.json'), join(source, 'package.json'))
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', cwd], {
    cwd: source,
    shell: process.platform === 'win32',
  })
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }]
  const home = join(cwd, 'node_modules/tapgate-budget')
  await mkdir(home, { recursive: true })
  await run('tar', ['-xzf', join(cwd, filename), '-C', home, '--strip-components=1'])
  await symlink(PACKAGE, join(cwd, 'node_modules/tapgate'), 'junction')
  return {
    cwd,
    async gateway(args, text = config) {
      await writeFile(join(cwd, 'gateway.yaml'), text.replace('URL', web.url))
      return gatewayProcess(args, { cwd })
    },
  }
}

test('validate checks the section of an installed plugin by its schema and its check, at their places', async t => {
  const { gateway } = await project(t)
  const valid = await gateway(['validate'])
  const unknown = await gateway(['validate'], CONFIG.replace('calls: 1', 'cals: 1'))
  const wrong = await gateway(['validate'], CONFIG.replace('calls: 1', 'calls: often'))
  const missing = await gateway(['validate'], `${CONFIG}  free: [wbe__ping]\n`)
  const twice = await gateway(['validate'], CONFIG.replace('tapgate-budget }', 'tapgate-budget, options: {} }'))

  assert.equal(valid.code, 0, valid.stderr)
  assert.match(unknown.stderr, /gateway\.yaml:8:3 \/budget\/cals unknown key "cals" – did you mean "calls"\?/)
  assert.match(wrong.stderr, /gateway\.yaml:8:10 \/budget\/calls expected a whole number, found "often"/)
  assert.match(missing.stderr, /gateway\.yaml:9:10 \/budget\/free\/0 no server named "wbe" – did you mean "web"\?/)
  assert.deepEqual([unknown.code, wrong.code, missing.code], [3, 3, 3])
  assert.match(twice.stderr, /\/budget plugin already has "options"/)
})

test('a plugin has the classes of the gateway that loads it, where its project has none or another one', async t => {
  const { gateway, cwd } = await project(t)
  const beside = join(cwd, 'node_modules/tapgate')
  await rm(beside)
  const none = await gateway(['call', 'web__ping'])
  await mkdir(beside)
  await writeFile(join(beside, 'package.json'), '{ "name": "tapgate", "exports": { "./plugin": "./other.js" } }')
  await writeFile(join(beside, 'other.js'), "throw new Error('another gateway')")
  const another = await gateway(['call', 'web__ping'])

  assert.deepEqual([none.stdout, another.stdout], ['pong\n', 'pong\n'], none.stderr + another.stderr)
})

test('a package that is not there is named with the way to get it', async t => {
  const { gateway } = await project(t)
  const { code, stderr } = await gateway(['validate'], CONFIG.replace('tapgate-budget', 'tapgate-bugdet'))

  assert.equal(code, 3)
  assert.match(
    stderr,
    /\/plugins\/budget\/use the package "tapgate-bugdet" is not installed – run npm install tapgate-bugdet in the directory of gateway\.yaml\n/,
  )
  assert.doesNotMatch(stderr, /Require stack/)
})

test('its command is in the help, and runs against the gateway that serves', async t => {
  const { gateway, cwd } = await project(t)
  const help = await gateway(['--help'])
  const own = await gateway(['budget', 'show', '--help'])
  const alone = await gateway(['budget', 'show', '--json'])
  await serving(t, ['serve'], { cwd }).logged('serving')
  const call = await gateway(['call', 'web__ping'])
  const spent = await gateway(['call', 'web__ping'])
  const shown = await gateway(['budget', 'show'])

  assert.match(help.stdout, /budget/)
  assert.match(own.stdout, /--socket=<file>/)
  assert.match(alone.stdout, /GW_NO_GATEWAY/)
  assert.equal(call.code, 0, call.stderr)
  assert.match(spent.stderr, /has used all 1 calls/)
  assert.match(shown.stdout, /^1 callers, 1 calls each\n$/)
})

test('its errors are in the reference that errors prints, and a broken plugin only lacks its own', async t => {
  const { gateway, cwd } = await project(t)
  const all = await gateway(['errors', '--json'])
  const one = await gateway(['errors', 'BUDGET_SPENT'])
  const typo = await gateway(['errors', 'BUDGET_SPEND'])
  await writeFile(join(cwd, 'broken.mjs'), TRACE)
  const broken = await gateway(['errors', '--json'], CONFIG.replace('tapgate-budget', './broken.mjs'))

  const codes = (text: string): string[] => (JSON.parse(text) as { code: string }[]).map(({ code }) => code)
  assert.ok(codes(all.stdout).includes('BUDGET_SPENT') && codes(all.stdout).includes('GW_RATE_LIMITED'))
  assert.match(one.stdout, /^BUDGET_SPENT .*\nRaise plugins\.budget.*\nJSON-RPC -31001\n$/)
  assert.deepEqual([typo.code, /did you mean "BUDGET_SPENT"/.test(typo.stderr)], [2, true])
  assert.equal(broken.code, 0)
  assert.ok(codes(broken.stdout).includes('GW_RATE_LIMITED') && !codes(broken.stdout).includes('BUDGET_SPENT'))
  assert.match(broken.stderr, /warning errors of plugins are missing: plugin "budget" could not be loaded/)
})

test('a broken plugin breaks neither help nor completion, and explains why its command is missing', async t => {
  const { gateway, cwd } = await project(t)
  await writeFile(join(cwd, 'broken.mjs'), TRACE)
  const config = CONFIG.replace('tapgate-budget', './broken.mjs')
  const help = await gateway(['--help'], config)
  const completion = await gateway(['__complete', '--', ''], config)
  const ran = existsSync(join(cwd, 'ran'))
  const typo = await gateway(['validat'], config)
  const itself = await gateway(['broken', 'now'], config)

  assert.deepEqual([help.code, completion.code, typo.code, itself.code], [0, 0, 2, 3])
  assert.equal(ran, true)
  assert.match(itself.stderr, /plugin "budget" could not be loaded/)
})
