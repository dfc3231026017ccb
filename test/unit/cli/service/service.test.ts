import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmod, lstat, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import {
  SERVICE_KINDS,
  type ServiceKind,
  type ServiceParameters,
  resolveService,
  runInstall,
  runServiceStatus,
  runUninstall,
} from '../../../../src/cli/service.ts'
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

/** Keys that launchd and the Task Scheduler know, as their manuals have them. */
const LAUNCHD = new Set(
  'Label ProgramArguments WorkingDirectory EnvironmentVariables RunAtLoad KeepAlive SuccessfulExit ThrottleInterval ExitTimeOut Umask StandardOutPath StandardErrorPath'.split(
    ' ',
  ),
)
const TASK = new Set(
  'Task RegistrationInfo Description Triggers LogonTrigger Enabled Principals Principal LogonType RunLevel Settings MultipleInstancesPolicy DisallowStartIfOnBatteries StopIfGoingOnBatteries ExecutionTimeLimit Hidden RestartOnFailure Interval Count Actions Exec Command Arguments WorkingDirectory'.split(
    ' ',
  ),
)

function kindOf(platform: string): ServiceKind {
  const found = SERVICE_KINDS.find(kind => kind.platform === platform)
  assert.ok(found)
  return found
}

/** Names of all elements; throws where they are not closed in order, or a text holds markup. */
function elementsOf(xml: string): string[] {
  const names: string[] = []
  const open: string[] = []
  for (const [, mark, text] of xml
    .replace(/^<\?xml[^>]*\?>\s*(<!DOCTYPE[^>]*>)?/, '')
    .matchAll(/<([^<>]*)>([^<>]*)/g)) {
    const [, slash, name = '', end] = /^(\/?)([\w-]+)(?:\s.*?)?(\/?)$/s.exec(String(mark)) ?? []
    if (slash === '/') assert.equal(open.pop(), name)
    else {
      names.push(name)
      if (end !== '/') open.push(name)
    }
    assert.doesNotMatch(String(text), /&(?!amp;|lt;|gt;|quot;)/)
  }
  assert.deepEqual(open, [])
  return names
}

const unescaped = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&')

async function home(t: TestContext) {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'service-')))
  cleanup(t, () => rm(path, { recursive: true, force: true }))
  await writeFile(join(path, 'gateway.yaml'), 'version: 1\nupstreams: {}\n')
  const bin = join(path, 'bin')
  await mkdir(bin)
  // Stands for the system's own, which a machine of tests may not have.
  await writeFile(join(bin, 'systemctl'), `#!/bin/sh\necho "$@" >> ${path}/calls\n`)
  await chmod(join(bin, 'systemctl'), 0o755)
  const environment = { HOME: path, XDG_CONFIG_HOME: join(path, 'config'), PATH: `${bin}:/usr/bin:/bin` }
  return { path, terminal: silentTerminal({ cwd: path, environment: { ...environment, API_KEY: 'secret' } }) }
}

test('a unit for systemd is one that systemd takes, whatever its paths are', async t => {
  const text = kindOf('linux').text(FACTS)
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

test('a property list for launchd is well-formed, holds keys that launchd knows, and the line as it is', () => {
  const text = kindOf('darwin').text(FACTS)
  const names = new Set(elementsOf(text))
  assert.deepEqual([...names].sort(), ['array', 'dict', 'false', 'integer', 'key', 'plist', 'string', 'true'])
  const keys = [...text.matchAll(/<key>(.*?)<\/key>/g)].map(([, key]) => String(key))
  assert.deepEqual(
    keys.filter(key => !LAUNCHD.has(key) && !(key in FACTS.environment)),
    [],
  )
  const strings = [...text.matchAll(/<string>(.*?)<\/string>/gs)].map(([, one]) => unescaped(String(one)))
  for (const word of FACTS.line) assert.ok(strings.includes(word), word)
})

test('a task for the Task Scheduler is well-formed, and holds elements that it knows', () => {
  const text = kindOf('win32').text(FACTS)
  assert.deepEqual(
    elementsOf(text).filter(name => !TASK.has(name)),
    [],
  )
  const [, line = ''] = /<Arguments>(.*)<\/Arguments>/.exec(text) ?? []
  assert.ok(unescaped(line).endsWith('"/home/a b/100% \\"$HOME\\" <&> \\x;#[Service]/gateway.yaml"'))
})

test('install writes the file and has the system take it; uninstall takes both back', async t => {
  if (process.platform !== 'linux') return t.skip('for systemd')
  const { path, terminal } = await home(t)
  const flags = { platform: 'linux', json: true }
  assert.equal(await runInstall(flags, terminal, process), 0)
  const { file, name } = JSON.parse(terminal.printed[0] ?? '') as { file: string; name: string }
  assert.equal(dirname(file), join(path, 'config/systemd/user'))
  assert.equal((await lstat(file)).mode & 0o777, 0o600)
  const text = await readFile(file, 'utf8')
  assert.ok(text.includes(`"--config" "${path}/gateway.yaml"`))
  assert.doesNotMatch(text, /API_KEY|secret/)

  assert.equal(await runServiceStatus(flags, terminal, process), 0)
  assert.equal(await runUninstall(flags, terminal, process), 0)
  assert.equal(await runUninstall(flags, terminal, process), 4)
  await assert.rejects(lstat(file), { code: 'ENOENT' })
  const calls = (await readFile(join(path, 'calls'), 'utf8')).trim().split('\n')
  assert.deepEqual(calls, [
    '--user daemon-reload',
    `--user enable --now ${name}.service`,
    `--user is-active ${name}.service`,
    `--user disable --now ${name}.service`,
  ])
})

test('a system that says no is said to be wanted, with what to do in its place', async t => {
  if (process.platform !== 'linux') return t.skip('for systemd')
  const { path, terminal } = await home(t)
  await writeFile(join(path, 'bin/systemctl'), '#!/bin/sh\necho Failed to connect to bus >&2\nexit 1\n')

  assert.equal(await runInstall({ platform: 'linux', json: false }, terminal, process), 1)

  const said = terminal.printed.join('\n')
  assert.match(said, /failed systemctl --user daemon-reload: .*Failed to connect to bus/)
  assert.match(said, /systemd user session.*gateway up.*gateway service uninstall/)
})

test('the variable that is missing for a place is the one that this system has', async t => {
  const { terminal } = await home(t)

  await assert.rejects(resolveService({ platform: 'win32' }, terminal, process), {
    message: /LOCALAPPDATA is not set, so there is no directory for win32 services/,
  })
})

test('a file of somebody else with that name is left, and a dry run writes nothing', async t => {
  const { terminal, path } = await home(t)
  const flags = { platform: 'linux', json: true, 'dry-run': true }
  assert.equal(await runInstall(flags, terminal, process), 0)
  const { file } = JSON.parse(terminal.printed[0] ?? '') as { file: string }
  await assert.rejects(lstat(join(path, 'config')), { code: 'ENOENT' })
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, '[Unit]\nDescription=mine\n')
  await assert.rejects(runInstall({ ...flags, 'dry-run': false }, terminal, process), {
    code: 'GW_FILE_EXISTS',
  })
  assert.equal(await readFile(file, 'utf8'), '[Unit]\nDescription=mine\n')
})
