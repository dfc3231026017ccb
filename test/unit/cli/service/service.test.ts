import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { lstat, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { SERVICE_KINDS, type ServiceParameters, runService } from '../../../../src/cli/service.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { silentTerminal } from '../../fixtures/silent-terminal.ts'

/** Everything that a file of a service might read as its own. */
const HOSTILE = '/home/a b/100% "$HOME" <&> \\x;#[Service]'
const FACTS: ServiceParameters = {
  name: 'tapgate-0123abcd',
  line: [process.execPath, '/opt/it/bin/run.js', 'serve', '--config', `${HOSTILE}/gateway.yaml`],
  directory: '/tmp',
  environment: { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', HTTPS_PROXY: 'http://a:b@proxy:1/?x=1&y=2' },
  log: '/tmp/gateway.log',
}

async function home(t: TestContext) {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'service-')))
  cleanup(t, () => rm(path, { recursive: true, force: true }))
  await writeFile(join(path, 'gateway.yaml'), 'version: 1\nupstreams: {}\n')
  const environment = { HOME: path, XDG_CONFIG_HOME: join(path, 'config'), PATH: '/usr/bin:/bin' }
  return { path, terminal: silentTerminal({ cwd: path, environment: { ...environment, API_KEY: 'secret' } }) }
}

test('a unit for systemd is one that systemd takes, whatever its paths are', async t => {
  const text = SERVICE_KINDS.find(kind => kind.platform === 'linux')?.text(FACTS) ?? ''
  assert.match(text, /^ExecStart=".*" "\/opt\/it\/bin\/run\.js" "serve" "--config" /m)
  assert.ok(text.includes('100%% \\"$$HOME\\" <&> \\\\x;#[Service]/gateway.yaml"'))
  if (spawnSync('systemd-analyze', ['--version']).status !== 0) return t.skip('there is no systemd-analyze here')
  const { path } = await home(t)
  const file = join(path, 'tapgate-0123abcd.service')
  await writeFile(file, text)
  const { stderr } = spawnSync('systemd-analyze', ['verify', '--user', '--recursive-errors=no', file], {
    encoding: 'utf8',
    env: { ...process.env, HOME: path, XDG_RUNTIME_DIR: path },
  })
  assert.doesNotMatch(stderr, /tapgate-0123abcd\.service/)
})

test('the file is written for its owner, without secrets, and the commands to enable it are printed', async t => {
  const { path, terminal } = await home(t)
  assert.equal(await runService({ platform: 'linux', json: true, 'dry-run': false }, terminal, process), 0)
  const { file, name, enable } = JSON.parse(terminal.printed[0] ?? '') as Record<'file' | 'name', string> & {
    enable: string[]
  }
  assert.equal(dirname(file), join(path, 'config/systemd/user'))
  assert.equal((await lstat(file)).mode & 0o777, 0o600)
  const text = await readFile(file, 'utf8')
  assert.ok(text.includes(`"--config" "${path}/gateway.yaml"`))
  assert.doesNotMatch(text, /API_KEY|secret/)
  assert.deepEqual(enable, ['systemctl --user daemon-reload', `systemctl --user enable --now ${name}.service`])
})

test('a file of somebody else with that name is left, and a dry run writes nothing', async t => {
  const { terminal, path } = await home(t)
  const flags = { platform: 'linux', json: true, 'dry-run': true }
  assert.equal(await runService(flags, terminal, process), 0)
  const { file } = JSON.parse(terminal.printed[0] ?? '') as { file: string }
  await assert.rejects(lstat(join(path, 'config')), { code: 'ENOENT' })
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, '[Unit]\nDescription=mine\n')
  await assert.rejects(runService({ ...flags, 'dry-run': false }, terminal, process), {
    code: 'GW_FILE_EXISTS',
  })
  assert.equal(await readFile(file, 'utf8'), '[Unit]\nDescription=mine\n')
})

test('a service for a configuration that does not exist is refused, and nothing is written', async t => {
  const { terminal, path } = await home(t)
  const flags = { platform: 'linux', json: true, 'dry-run': false, config: 'missing.yaml' }
  await assert.rejects(runService(flags, terminal, process), { code: 'GW_CONFIG_UNREADABLE', message: /missing\.yaml/ })
  await assert.rejects(lstat(join(path, 'config')), { code: 'ENOENT' })
})
