import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { randomUUID } from 'node:crypto'
import { homedir, tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { createLaunch } from '../../../src/processes/launch.ts'
import { createSandboxArguments } from '../../../src/processes/sandbox.ts'
import { processesWith } from '../../fixtures/processes.ts'
import { bench, fixture, script, stdioSpec, textOf, toolCall } from '../fixtures/upstream-bench.ts'
import { canSandbox, directoryWith, skip } from '../../fixtures/sandbox.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { until } from '../../fixtures/until.ts'
import { listenOn } from '../../fixtures/listen.ts'

const NOTHING = { type: 'bwrap', read: [], write: [], network: false, hide: [] } as const
const SITE = {
  directory: '/srv/gate',
  cwd: '/usr/share',
  home: '/home/ada',
  program: '/usr/bin/env',
  args: [],
  env: {},
  gatewayEnv: {},
  privatePaths: [],
}

const live = { concurrency: 4, skip }

describe('the arguments of a sandbox', { skip: process.platform !== 'linux' }, () => {
  it('open what may be written, leave out what is hidden, and leave the network on where it is wanted', t => {
    const directory = directoryWith(t, { 'data/key': 'k', 'data/open': 'o', 'home/x/y': '', 'home/z': '' })
    const home = path.join(directory, 'home')
    const config = {
      type: 'bwrap',
      read: ['~/z'],
      write: ['./data', '~'],
      network: true,
      hide: ['data/key', '~/x', '/no'],
    } as const

    const data = path.join(directory, 'data')
    const args = createSandboxArguments(config, { ...SITE, directory, cwd: data, home })

    const shown = args.slice(0, args.indexOf('--setenv')).join(' ')
    // A directory that holds something hidden is built anew from the rest, as a mask goes when the file is replaced.
    assert.ok(shown.includes(` --tmpfs ${data} --bind ${data}/open ${data}/open `), shown)
    assert.ok(shown.includes(` --tmpfs ${home} --dir ${home}/x --bind ${home}/z ${home}/z `), shown)
    assert.ok(shown.endsWith(` --remount-ro ${data} --remount-ro ${home} --dir /tmp/home`), shown)
    assert.ok(!shown.includes('key'), shown)
    assert.ok(!args.includes('--unshare-net'))
  })

  it('show a place whose path only begins like that of another', t => {
    const directory = directoryWith(t, { 'data/a': 'a', 'data-2/b': 'b' })
    const config = { ...NOTHING, read: ['data-2'], write: ['data'] }

    const args = createSandboxArguments(config, { ...SITE, directory })

    assert.ok(args.join(' ').includes(` --ro-bind ${directory}/data-2 ${directory}/data-2 `))
  })

  it('cannot be made for a place to write that does not exist', () => {
    const config = { type: 'bwrap', read: [], write: ['./no/such'], network: false, hide: [] } as const

    assert.throws(() => createSandboxArguments(config, SITE), /sandbox\.write: \/srv\/gate\/no\/such does not exist/)
  })

  it('cannot be made around a directory in which all have theirs, unless it is named', () => {
    for (const cwd of ['/', '/home', homedir(), path.dirname(homedir())])
      assert.throws(
        () => createSandboxArguments('bwrap', { ...SITE, home: homedir(), cwd }),
        /too broad for a sandbox.*sandbox\.read/,
        cwd,
      )

    const config = { type: 'bwrap', read: ['/home'], write: [], network: false, hide: [] } as const
    assert.ok(createSandboxArguments(config, { ...SITE, cwd: '/home' }).includes('/home'))
  })

  it('are refused what is private to the gateway, by whatever name', t => {
    const directory = directoryWith(t, { 'state/seal.key': 'k', 'project/a': 'a' })
    symlinkSync(`${directory}/state`, `${directory}/project/link`)
    const site = {
      ...SITE,
      directory,
      cwd: `${directory}/project`,
      privatePaths: [{ directory: `${directory}/state` }],
    }

    for (const name of ['state', 'state/seal.key', 'project/link', 'project/../state'])
      for (const key of ['read', 'write'] as const)
        assert.throws(
          () => createSandboxArguments({ ...NOTHING, [key]: [name] }, site),
          /hidden or private to the gateway/,
          name,
        )
  })

  it('show an installation that the program belongs to, and not the home that this lies in', t => {
    const directory = directoryWith(t, {
      'home/.nvm/v24/bin/node': '#!/bin/sh\n',
      'home/.nvm/v24/lib/a': '',
      'home/.local/bin/tool': '#!/usr/bin/env -S node --flag\n',
      'home/.local/lib/b': '',
      'home/.ssh/id': '',
      'project/a': '',
    })
    const home = path.join(directory, 'home')
    for (const file of ['.nvm/v24/bin/node', '.local/bin/tool']) chmodSync(path.join(home, file), 0o755)
    const env = { PATH: `${home}/.local/bin:${home}/.nvm/v24/bin:/usr/bin` }
    const site = { ...SITE, home, env, cwd: `${directory}/project`, program: `${home}/.local/bin/tool` }

    const shown = createSandboxArguments('bwrap', site).filter(each => each.startsWith(home))

    assert.deepEqual([...new Set(shown)].sort(), [`${home}/.local/bin`, `${home}/.nvm/v24`])
  })

  it('show the repository of a git worktree only where that says so, too', t => {
    const directory = directoryWith(t, {
      'repo/.git/config': '',
      'victim/secret': '',
      'tree/.git': '',
      'forged/.git': '',
      'forged/fake/gitdir': '',
    })
    mkdirSync(`${directory}/repo/.git/worktrees/tree`, { recursive: true })
    writeFileSync(`${directory}/repo/.git/worktrees/tree/gitdir`, `${directory}/tree/.git\n`)
    writeFileSync(`${directory}/tree/.git`, `gitdir: ${directory}/repo/.git/worktrees/tree\n`)
    writeFileSync(`${directory}/forged/.git`, `gitdir: ${directory}/forged/fake\n`)
    writeFileSync(`${directory}/forged/fake/gitdir`, `${directory}/forged/.git\n`)
    writeFileSync(`${directory}/forged/fake/commondir`, `${directory}/victim\n`)

    const shownIn = (name: string): string[] =>
      createSandboxArguments('bwrap', { ...SITE, cwd: `${directory}/${name}` })
    assert.ok(shownIn('tree').includes(`${directory}/repo/.git`))
    assert.ok(!shownIn('forged').some(each => each.includes('victim')))
  })

  it('never hold a variable of the environment', t => {
    const spec = { command: 'true', args: ['a'], sandbox: 'bwrap' } as const
    const env = { PATH: '/usr/bin:/bin', TOKEN: 'hunter2-hunter2' }
    const directory = temporary(t)
    const around = { directory, cwd: directory, env, gatewayEnv: { PATH: process.env.PATH, HOME: '/root' } }
    if (!canSandbox) return assert.throws(() => createLaunch(spec, around), /bwrap/)

    const { command, args } = createLaunch(spec, around)

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
    assert.match(upstream.problem ?? '', /requires bubblewrap \(Debian and Ubuntu: apt install bubblewrap/)
  })
})

describe('a server in a sandbox', live, () => {
  it('reads what is not hidden, and writes only where it may', async t => {
    const directory = temporary(t)
    for (const folder of ['open', 'data', 'secret']) mkdirSync(path.join(directory, folder))
    for (const file of ['open/a', 'secret/canary', 'key']) writeFileSync(path.join(directory, file), `in ${file}`)
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
    cleanup(t, () => rmSync(file))
    const attempt = await sandboxed(t, {})

    assert.equal(await attempt('read', { file }), 'ENOENT')
    assert.equal(await attempt('write', { file: '/tmp/inside' }), 'written')
  })

  it('reaches the network only when it may', async t => {
    const port = await listenOn(
      t,
      createServer(socket => socket.end()),
    )
    const [off, on] = [await sandboxed(t, {}), await sandboxed(t, { network: true })]

    assert.match(await off('connect', { port }), /^E/)
    assert.equal(await on('connect', { port }), 'connected')
  })

  it('takes everything with it, daemons without a name included', async t => {
    const cookie = randomUUID()
    const spec = stdioSpec([fixture('servers/escaping-server.mjs'), 'deaf,setsid,daemon,nameless'], {
      env: { COOKIE: cookie },
      sandbox: 'bwrap',
    })
    const { upstream } = await bench(t, spec)
    await upstream.dispatch(toolCall('pids'))
    const family = processesWith(cookie).map(({ pid }) => pid)
    assert.ok(family.length >= 5, String(family.length))

    process.kill(upstream.pid ?? assert.fail(), 'SIGKILL')

    await until(() => !processesWith(cookie).some(({ pid }) => family.includes(pid)), 'all are gone')
  })
})

function temporary(t: TestContext): string {
  return directoryWith(t, {})
}

async function sandboxed(
  t: TestContext,
  sandbox: { read?: string[]; write?: string[]; hide?: string[]; network?: boolean },
  cwd = '.',
) {
  const read = [path.dirname(script('probing-server.mjs')), ...(sandbox.read ?? [])]
  const spec = stdioSpec([script('probing-server.mjs')], { cwd, sandbox: { ...NOTHING, ...sandbox, read } })
  const { upstream } = await bench(t, spec)
  return async (name: string, args = {}) => textOf(await upstream.dispatch(toolCall(name, args)))
}
