import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { cleanup } from '../../fixtures/cleanup.ts'
import { directory, gateway, SERVER } from '../cli/run.ts'
import type { Outcome } from '../../fixtures/run-command.ts'

const CONFIG = 'version: 1\nupstreams: {}\n'

/** A registry of npm packages with one in it, and `gateway add` where npm knows no other. */
async function place(t: TestContext) {
  const cwd = await directory(t, { 'gateway.yaml': CONFIG })
  await mkdir(join(cwd, 'empty'))
  const asked: string[] = []
  let latest = '1.2.3'
  const server = createServer((request, response) => {
    asked.push(String(request.url))
    const isKnown = request.url === '/@acme%2fnotes'
    const versions = Object.fromEntries(
      ['1.2.3', '1.3.0'].map(version => [version, { name: '@acme/notes', version }]),
    )
    const body = { name: '@acme/notes', 'dist-tags': { latest }, versions }
    response.writeHead(isKnown ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isKnown ? body : { error: 'not found' }))
  })
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  const stop = (): void => {
    server.close()
    server.closeAllConnections()
  }
  cleanup(t, stop)
  const env = {
    npm_config_registry: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    npm_config_cache: join(cwd, 'npm'),
    HOME: cwd,
    XDG_STATE_HOME: join(cwd, 'state'),
  }
  return {
    asked,
    stop,
    publish: (version: string) => void (latest = version),
    text: () => readFileSync(join(cwd, 'gateway.yaml'), 'utf8'),
    add: (what: string, more: readonly string[] = [], other: NodeJS.ProcessEnv = {}): Promise<Outcome> =>
      gateway(['add', what, '--no-start', '--no-sandbox', '--dry-run', '--json', ...more], {
        cwd,
        env: { ...env, ...other },
      }),
  }
}

function argsOf({ stdout, stderr }: Outcome): unknown {
  const { upstream } = JSON.parse(stdout) as { upstream?: { args: unknown } }
  return upstream?.args ?? assert.fail(`${stdout}${stderr}`)
}

function errorOf({ code, stdout }: Outcome): string {
  assert.equal(code, 2)
  return (JSON.parse(stdout) as { error: { message: string } }).error.message
}

test('a package without a version gets the latest of its registry, exactly, and npm is asked once an hour', async t => {
  const { add, asked, publish, stop } = await place(t)

  assert.deepEqual(argsOf(await add('npm:@acme/notes')), ['-y', '@acme/notes@1.2.3'])
  publish('1.3.0')
  assert.deepEqual(argsOf(await add('npm:@acme/notes')), ['-y', '@acme/notes@1.2.3'])
  assert.equal(asked.length, 1)
  assert.deepEqual(argsOf(await add('npm:@acme/notes', ['--fresh'])), ['-y', '@acme/notes@1.3.0'])
  stop()
  assert.deepEqual(argsOf(await add('npm:@acme/notes')), ['-y', '@acme/notes@1.3.0'])
  assert.match(
    errorOf(await add('npm:@acme/notes', ['--fresh'], { npm_config_cache: '/dev/null/none' })),
    /does not say the latest.*write npm:@acme\/notes@<version>/,
  )
})

test('a package that is not there, no npm, and names that are flags or places are refused with what to do', async t => {
  const { add, asked } = await place(t)

  assert.match(
    errorOf(await add('npm:@acme/none')),
    /there is no such package; write npm:@acme\/none@<version>/,
  )
  assert.match(errorOf(await add('npm:@acme/notes', [], { PATH: '/nowhere' })), /there is no npm here/)
  const before = asked.length
  for (const odd of [
    'npm:--registry=x',
    'npm:../up',
    'npm:file:x',
    'npm:https://x.example/a.tgz',
    'npm:a b',
    'npm:A',
  ])
    assert.match(errorOf(await add(odd)), /no name of a package|no exact version|write npm:|is none of/, odd)
  assert.equal(asked.length, before)
})

test('where the configuration has pins, a server that is added is pinned, as gateway lock does', async t => {
  const cwd = await directory(t, { 'gateway.yaml': `${CONFIG}pins: withhold\n` })
  const env = { HOME: cwd, XDG_STATE_HOME: join(cwd, 'state'), XDG_RUNTIME_DIR: cwd }
  const line = ['--name', 'notes', '--yes', '--no-sandbox', '--', process.execPath, SERVER]
  const { code, stdout, stderr } = await gateway(['add', '--json', ...line], { cwd, env })

  assert.equal(code, 0, stdout + stderr)
  const { pins } = JSON.parse(stdout) as { pins: { file?: string; problem?: string } }
  assert.equal(pins.file, join(cwd, 'gateway.lock'), JSON.stringify(pins))
  assert.match(readFileSync(pins.file, 'utf8'), /notes/)
  const again = await gateway(['lock', '--check', '--json'], { cwd, env })
  const rows = (JSON.parse(again.stdout) as { upstreams: { changes: unknown[] }[] }).upstreams
  assert.deepEqual(
    rows.map(({ changes }) => changes),
    [[]],
  )
})
