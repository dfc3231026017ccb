import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { identifyPackage } from '../../../../plugins/pins/identify-package.ts'
import type { UpstreamConfig } from '../../../../src/plugin.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

const DIGEST = `sha256:${'0'.repeat(64)}`
const LOCK = {
  packages: {
    'node_modules/@scope/server': { version: '1.2.3', integrity: 'sha512-abc' },
    'node_modules/plain': { version: '2.0.0', integrity: 'sha512-def' },
  },
}

function place(
  t: TestContext,
  files: Readonly<Record<string, string>>,
): (command: string, ...args: string[]) => unknown {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'packages-')))
  cleanup(t, () => rmSync(directory, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true })
    writeFileSync(join(directory, name), text)
    chmodSync(join(directory, name), 0o755)
  }
  const environment = { PATH: join(directory, 'bin'), HOME: directory }
  return (command, ...args) =>
    identifyPackage({ type: 'stdio', command, args, cwd: '.' } as unknown as UpstreamConfig, {
      directory,
      environment,
    })
}

test('a package of npm is known by its exact version, and its integrity where it is installed', t => {
  const at = place(t, { 'node_modules/.package-lock.json': JSON.stringify(LOCK) })
  const scoped = { type: 'npm', name: '@scope/server', version: '1.2.3', integrity: 'sha512-abc' }

  assert.deepEqual(at('npx', '-y', '@scope/server@1.2.3', '/data'), scoped)
  assert.deepEqual(at('npm', 'exec', '--package=@scope/server@1.2.3', 'server'), scoped)
  assert.deepEqual(at('/usr/bin/npx', '-p', '@scope/server@1.2.3', 'server'), scoped)
  assert.deepEqual(at('npx', 'plain@2.0.1'), { type: 'npm', name: 'plain', version: '2.0.1' })
})

test('what names no exact version or digest is unpinned', t => {
  const at = place(t, {})
  const commands: readonly (readonly [string, ...string[]])[] = [
    ['npx', 'plain'],
    ['npx', '-y', 'plain@latest'],
    ['npx', 'plain@^1.0.0'],
    ['npx', '@scope/server'],
    ['npx'],
    ['uvx', 'server'],
    ['docker', 'run', '-i', '--rm', 'image'],
    ['docker', 'run', '-e', 'A=b', 'image:1.0'],
    ['node', '-e', '0'],
    ['python3', '-m', 'server'],
    ['program-that-is-not-there'],
  ]

  for (const [command, ...args] of commands)
    assert.equal((at(command, ...args) as { type: string }).type, 'unpinned', [command, ...args].join(' '))
})

test('images and packages of Python are known by digest and version', t => {
  const at = place(t, {})

  assert.deepEqual(at('docker', 'run', '-i', '--rm', '-e', 'A', '-v', 'a:b', `img@${DIGEST}`, '--flag', 'x'), {
    type: 'image',
    image: `img@${DIGEST}`,
  })
  assert.deepEqual(at('uvx', 'server==1.4.0'), { type: 'pypi', name: 'server', version: '1.4.0' })
  assert.deepEqual(at('uvx', '--from', 'pkg@2.0', 'server'), { type: 'pypi', name: 'pkg', version: '2.0' })
})

test('a local program is known by the hash of its file, that of an interpreter by its script', t => {
  const at = place(t, {
    'bin/server': '#!/bin/sh\n',
    'script.py': 'pass',
    'node_modules/@scope/server/dist/index.js': '0',
    'node_modules/.package-lock.json': JSON.stringify(LOCK),
  })
  const [own, script] = [at('server'), at('python3', '-u', 'script.py', 'x')] as Record<string, string>[]

  assert.match(own?.['sha256'] ?? '', /^[0-9a-f]{64}$/)
  assert.equal(own?.['path'], 'server')
  assert.equal(script?.['path'], 'script.py')
  assert.notEqual(own?.['sha256'], script?.['sha256'])
  const { sha256, ...installed } = at('node', 'node_modules/@scope/server/dist/index.js') as Record<string, string>
  assert.deepEqual(installed, {
    type: 'npm',
    name: '@scope/server',
    version: '1.2.3',
    integrity: 'sha512-abc',
  })
  assert.match(sha256 ?? '', /^[0-9a-f]{64}$/)
})
