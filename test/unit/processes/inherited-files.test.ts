import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { platformOf } from '../../../src/util/platform.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { skip } from '../../fixtures/sandbox.ts'

const SECRET = 'canary-of-an-inherited-directory'
/** Above those that Node closes by itself for what it starts. */
const NUMBER = 40

/** Reads a file of the directory, and goes on without it. */
const READ = ['-c', `cat /proc/self/fd/${NUMBER}/secret; echo; readlink /proc/self/fd/${NUMBER}`]

/** What a program says that is started by a gateway with an open directory. */
async function said(t: TestContext, command: string, args: readonly string[]): Promise<string> {
  const place = mkdtempSync(join(tmpdir(), 'inherited-'))
  cleanup(t, () => rmSync(place, { recursive: true, force: true }))
  writeFileSync(join(place, 'secret'), SECRET)
  const launch = new URL('../../../src/processes/launch.ts', import.meta.url).href
  const gateway = `
    const { spawnServer } = await import(${JSON.stringify(launch)})
    const { PATH } = process.env
    spawnServer({ command: ${JSON.stringify(command)}, args: ${JSON.stringify(args)}, cwd: '/', env: { PATH } }).stdout.pipe(process.stdout)
  `
  const directory = openSync(place, 'r')
  const stdio = [
    'ignore',
    'pipe',
    'inherit',
    ...new Array<'ignore'>(NUMBER - 3).fill('ignore'),
    directory,
  ] as const
  const child = spawn(process.execPath, ['--input-type=module', '-e', gateway], { stdio: [...stdio] })
  closeSync(directory)
  assert.ok(child.stdout)
  return text(child.stdout)
}

test(
  'a server has no file that whoever started the gateway left open',
  { skip: platformOf().hasProc ? false : 'there is no /proc' },
  async t => {
    assert.equal(await said(t, 'sh', READ), '\n/dev/null\n')
  },
)

test('nor has one in a sandbox, which could leave it by a directory', { skip }, async t => {
  const sandbox = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp', '--']

  assert.equal(await said(t, 'bwrap', [...sandbox, 'sh', ...READ]), '\n/dev/null\n')
})
