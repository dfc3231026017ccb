import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { loadConfig } from '../../../src/gateway/load-config.ts'
import { GatewayError } from '../../../src/errors/errors.ts'
import { directoryWith } from './temp.ts'

/** Runs the command line from its sources. */
const RUN = `void import(${JSON.stringify(new URL('../../../src/cli/main.ts', import.meta.url))}).then(({ main }) => main(process.argv.slice(1)))`
const EMPTY = 'version: 1\nlisteners: { pipe: { type: stdio } }\nupstreams: {}\n'
const SOMEBODY = 12_345
const isRoot = process.geteuid?.() === 0
const skip = process.platform === 'win32' ? 'files have other rights there' : false

for (const way of ['found', 'found above', 'named', 'extended', 'an overlay'] as const)
  test(`a configuration that anybody can write is refused: ${way}`, { skip }, async t => {
    const { refused, file, home } = trial(t, way)

    await loads(refused)
    chmodSync(file, 0o666)
    await assert.rejects(loads(refused), untrusted(/writable by everyone/))
    chmodSync(file, 0o644)
    chmodSync(home, 0o777)
    await assert.rejects(loads(refused), untrusted(/its directory is writable by everyone/))
  })

for (const way of ['found', 'found above', 'named', 'extended', 'an overlay'] as const)
  test(`a configuration that belongs to another user is refused: ${way}`, { skip: skip || !isRoot }, async t => {
    const { refused, file, home } = trial(t, way)

    chownSync(file, SOMEBODY, SOMEBODY)
    await assert.rejects(loads(refused), untrusted(/owned by another user/))
    chownSync(file, 0, 0)
    chownSync(home, SOMEBODY, SOMEBODY)
    await assert.rejects(loads(refused), untrusted(/its directory is owned by another user/))
  })

for (const command of [['validate'], ['doctor'], ['tools'], ['serve', '--stdio']])
  test(
    `"gateway ${command[0]}" runs no server and imports no plugin of a file that anybody can write`,
    { skip },
    async t => {
      const cwd = directoryWith(t, {
        'gateway.yaml':
          'version: 1\nlisteners: { pipe: { type: stdio } }\nplugins: { own: { use: ./own.mjs } }\nupstreams: { web: { command: touch, args: [server] } }\n',
        'own.mjs': `import { writeFileSync } from 'node:fs'\nwriteFileSync(new URL('plugin', import.meta.url), '')\nexport default { name: 'own', setup() {} }\n`,
      })
      chmodSync(join(cwd, 'gateway.yaml'), 0o666)

      const { status, stderr } = spawnSync(process.execPath, ['-e', RUN, ...command], {
        cwd,
        encoding: 'utf8',
      })

      assert.notEqual(status, 0)
      assert.match(stderr, command[0] === 'doctor' ? /^/ : /GW_CONFIG_UNTRUSTED/)
      assert.deepEqual([existsSync(join(cwd, 'plugin')), existsSync(join(cwd, 'server'))], [false, false])
    },
  )

/** Loads in a directory, with these options. */
type Trial = Parameters<typeof loadConfig>[0]

function trial(
  t: TestContext,
  way: 'found' | 'found above' | 'named' | 'extended' | 'an overlay',
): { refused: Trial; file: string; home: string } {
  const home = directoryWith(t, { 'gateway.yaml': EMPTY, 'gateway.ci.yaml': EMPTY, 'below/a.txt': '' })
  const cwd = way === 'found' || way === 'an overlay' ? home : join(home, 'below')
  const other = directoryWith(t, { 'gateway.yaml': `extends: ${join(home, 'gateway.yaml')}\n` })
  const environment = { HOME: home, PATH: process.env.PATH }
  const file = join(home, way === 'an overlay' ? 'gateway.ci.yaml' : 'gateway.yaml')
  const refused = {
    ...{ cwd, environment },
    ...(way === 'named' ? { file } : {}),
    ...(way === 'an overlay' ? { env: 'ci' } : {}),
    ...(way === 'extended' ? { file: join(other, 'gateway.yaml') } : {}),
  }
  return { refused, file, home }
}

async function loads(options: Trial): Promise<void> {
  await loadConfig(options)
}

function untrusted(why: RegExp): (thrown: unknown) => boolean {
  return thrown => thrown instanceof GatewayError && thrown.code === 'GW_CONFIG_UNTRUSTED' && why.test(thrown.message)
}
