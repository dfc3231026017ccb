import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { launchOf } from '../../src/transport/process-launch.ts'
import { sandboxArguments } from '../../src/transport/process-sandbox.ts'
import { processesWith } from '../fixtures/processes.ts'
import { bench, fixture, script, stdioSpec, textOf, toolCall, until } from './fixtures/upstream-bench.ts'

const canRun = spawnSync('bwrap', ['--unshare-pid', '--ro-bind', '/', '/', 'true']).status === 0
const live = {
  concurrency: 4,
  skip: canRun ? false : 'bwrap is not installed, or may not make namespaces here',
}

describe('the arguments of a sandbox', { skip: process.platform === 'win32' }, () => {
  const site = { directory: '/srv/gate', cwd: '/srv/gate/work', home: '/home/ada', program: '/usr/bin/env' }

  it('are everything read-only, no network and nothing of other processes, when nothing more is said', () => {
    const args = sandboxArguments('bwrap', site).join(' ')

    assert.ok(
      args.startsWith(
        '--die-with-parent --unshare-pid --unshare-ipc --unshare-uts --cap-drop ALL --unshare-net --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp',
      ),
      args,
    )
    assert.ok(args.endsWith('--chdir /srv/gate/work --'), args)
    assert.doesNotMatch(args, / --bind /)
  })

  it('open what may be written, hide what must not be seen last, and leave the network on where it is wanted', t => {
    const directory = temporary(t)
    mkdirSync(path.join(directory, 'data'))
    writeFileSync(path.join(directory, 'data/key'), 'k')
    const config = {
      type: 'bwrap',
      write: ['./data', '~'],
      network: true,
      hide: ['data/key', '~/x', '/no'],
    } as const
    const home = path.join(directory, 'home')
    mkdirSync(path.join(home, 'x'), { recursive: true })

    const args = sandboxArguments(config, { ...site, directory, home })

    const data = path.join(directory, 'data')
    assert.deepEqual(args.slice(args.indexOf('--bind')), [
      ...['--bind', data, data, '--bind', home, home],
      ...['--ro-bind', '/dev/null', path.join(data, 'key'), '--tmpfs', path.join(home, 'x')],
      ...['--chdir', '/srv/gate/work', '--'],
    ])
    assert.ok(!args.includes('--unshare-net'))
  })

  it('cannot be made for a place to write that does not exist', () => {
    const config = { type: 'bwrap', write: ['./no/such'], network: false, hide: [] } as const

    assert.throws(() => sandboxArguments(config, site), /sandbox\.write names \/srv\/gate\/no\/such, which/)
  })

  it('never hold a variable of the environment', () => {
    const spec = { command: 'true', args: ['a'], sandbox: 'bwrap' } as const
    const env = { PATH: '/usr/bin:/bin', TOKEN: 'hunter2-hunter2' }
    const around = { directory: '/', cwd: '/', env, outside: { PATH: process.env.PATH, HOME: '/root' } }
    if (!canRun) return assert.throws(() => launchOf(spec, around), /bwrap/)

    const { command, args } = launchOf(spec, around)

    assert.match(command, /\/bwrap$/)
    assert.ok(!args.join(' ').includes('hunter2'))
    assert.equal(args.at(-1), 'a')
  })
})

describe('a sandbox that cannot be had', { skip: process.platform !== 'linux' }, () => {
  it('stops the start with what to install', async t => {
    const environment = { ...process.env, PATH: '/nowhere' }
    const spec = { ...stdioSpec([script('probing-server.mjs')]), sandbox: 'bwrap' } as const
    const { upstream } = await bench(t, spec, { environment })

    await upstream.start()

    assert.equal(upstream.state, 'failed')
    assert.match(upstream.problem ?? '', /bwrap is not installed \(Debian and Ubuntu: apt install bubblewrap/)
  })
})

describe('a server in a sandbox', live, () => {
  it('reads what is not hidden, and writes only where it may', async t => {
    const directory = temporary(t)
    for (const folder of ['open', 'data', 'secret']) mkdirSync(path.join(directory, folder))
    for (const file of ['open/a', 'secret/canary', 'key'])
      writeFileSync(path.join(directory, file), `in ${file}`)
    const attempt = await sandboxed(
      t,
      { write: [`${directory}/data`], hide: [`${directory}/secret`, `${directory}/key`] },
      directory,
    )

    assert.equal(await attempt('read', { file: `${directory}/open/a` }), 'in open/a')
    assert.equal(await attempt('write', { file: `${directory}/data/b` }), 'written')
    assert.equal(readFileSync(`${directory}/data/b`, 'utf8'), 'x')
    assert.equal(await attempt('write', { file: `${directory}/open/b` }), 'EROFS')
    assert.equal(await attempt('write', { file: '/etc/tapgate-canary' }), 'EROFS')
    assert.equal(await attempt('list', { file: `${directory}/secret` }), '')
    assert.doesNotMatch(await attempt('read', { file: `${directory}/key` }), /in key/)
  })

  it('has a /tmp of its own', async t => {
    const file = path.join(tmpdir(), `tapgate-${randomUUID()}`)
    writeFileSync(file, 'outside')
    t.after(() => rmSync(file))
    const attempt = await sandboxed(t, {})

    assert.equal(await attempt('read', { file }), 'ENOENT')
    assert.equal(await attempt('write', { file: '/tmp/inside' }), 'written')
  })

  it('sees no process but its own, and nothing of the environment of the gateway', async t => {
    const attempt = await sandboxed(t, {})

    const pids = (await attempt('pids')).split(',')

    assert.ok(pids.length <= 3, pids.join())
    assert.doesNotMatch(await attempt('parent'), /NODE_TEST_CONTEXT/)
  })

  it('reaches the network only when it may', async t => {
    const server = createServer(socket => socket.end()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    const { port } = server.address() as AddressInfo
    const [off, on] = [await sandboxed(t, {}), await sandboxed(t, { network: true })]

    assert.match(await off('connect', { port }), /^E/)
    assert.equal(await on('connect', { port }), 'connected')
  })

  it('takes everything with it, daemons without a name included', async t => {
    const cookie = randomUUID()
    const spec = stdioSpec([fixture('escaping-server.mjs'), 'deaf,setsid,daemon,nameless'], {
      env: { COOKIE: cookie },
      sandbox: 'bwrap',
    })
    const { upstream } = await bench(t, spec)
    await upstream.dispatch(toolCall('pids'))
    const family = processesWith(cookie).map(({ pid }) => pid)
    assert.ok(family.length >= 5, String(family.length))

    process.kill(upstream.pid ?? assert.fail(), 'SIGKILL')

    await until(() => !processesWith(cookie).some(({ pid }) => family.includes(pid)), 'all are gone', 2000)
  })
})

function temporary(t: TestContext): string {
  const directory = realpathSync(mkdtempSync(path.join(tmpdir(), 'sandbox-')))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

async function sandboxed(
  t: TestContext,
  sandbox: { write?: string[]; hide?: string[]; network?: boolean },
  cwd = '.',
) {
  const spec = stdioSpec([script('probing-server.mjs')], {
    cwd,
    sandbox: { type: 'bwrap', write: [], hide: [], network: false, ...sandbox },
  })
  const { upstream } = await bench(t, spec)
  return async (name: string, args = {}) => textOf(await upstream.dispatch(toolCall(name, args)))
}
