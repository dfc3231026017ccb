import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { Worktrees } from '../../../../../plugins/agents/worktree.ts'
import { createGateway, type Plugin } from '../../../../../src/index.ts'
import type { Programs } from '../../../../../src/plugin.ts'
import { cleanup } from '../../../../fixtures/cleanup.ts'

const QUIET = {
  env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
  encoding: 'utf8',
} as const
const NAMED = ['-c', 'user.name=a', '-c', 'user.email=a@b']

async function aRepository(t: TestContext) {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'worktrees-')))
  cleanup(t, () => rmSync(home, { recursive: true, force: true }))
  const repository = join(home, 'repository')
  mkdirSync(join(repository, 'sub'), { recursive: true })
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', repository, ...NAMED, ...args], QUIET).trim()
  git('init', '--quiet')
  for (const name of ['one', 'sub/two']) writeFileSync(join(repository, name), `${name}\n`)
  git('add', '.')
  git('commit', '--quiet', '-m', 'first')
  const folder = join(home, 'state', 'worktrees')
  return { home, repository, folder, git, worktrees: new Worktrees(await programsFor(t), folder) }
}

test('a task changes its own worktree, and the result has the diff with new and binary files', async t => {
  const { repository, worktrees, git } = await aRepository(t)
  const worktree = await worktrees.begin(join(repository, 'sub'), 'task-1')
  writeFileSync(join(worktree.directory, 'two'), 'changed\n')
  writeFileSync(join(worktree.directory, 'new \u001b[31m'), 'new\n')
  writeFileSync(join(worktree.directory, 'binary'), Buffer.from([0, 1, 2]))

  const changes = await worktree.finish(64 * 1024)

  assert.match(changes.diff, /-sub\/two\n\+changed/)
  assert.match(changes.diff, /Binary files .*binary.* differ/)
  assert.deepEqual(changes.filesChanged, ['sub/binary', 'sub/new ', 'sub/two'])
  assert.equal(changes.truncated, false)
  assert.equal(changes.kept?.branch, 'tapgate/task-1')
  assert.ok(existsSync(worktree.directory))
  assert.equal(git('status', '--porcelain'), '')
  const cut = await worktree.finish(20)
  assert.ok(cut.truncated && cut.diff.length <= 20 && cut.bytesTotal === changes.bytesTotal)
})

test('a worktree without changes goes, with its branch', async t => {
  const { repository, worktrees, folder, git } = await aRepository(t)
  const worktree = await worktrees.begin(repository, 'task-2')

  const changes = await worktree.finish(1024)

  assert.deepEqual(changes, { diff: '', truncated: false, bytesTotal: 0, filesChanged: [], kept: undefined })
  assert.deepEqual(readdirSync(folder), [])
  assert.equal(git('branch', '--list', 'tapgate/*'), '')
})

test('what the agent puts in the place of .git is not run', async t => {
  const { home, repository, worktrees } = await aRepository(t)
  const worktree = await worktrees.begin(repository, 'task-3')
  const evil = join(home, 'evil')
  writeFileSync(evil, `#!/bin/sh\ntouch ${home}/owned\n`)
  chmodSync(evil, 0o755)
  rmSync(join(worktree.directory, '.git'))
  execFileSync('git', ['-C', worktree.directory, 'init', '--quiet'], QUIET)
  for (const key of ['core.fsmonitor', 'filter.x.clean', 'diff.external', 'diff.x.textconv'])
    execFileSync('git', ['-C', worktree.directory, 'config', key, evil], QUIET)
  writeFileSync(join(worktree.directory, '.gitattributes'), '* filter=x diff=x\n')
  writeFileSync(join(worktree.directory, 'one'), 'changed\n')

  const changes = await worktree.finish(64 * 1024)

  assert.ok(changes.filesChanged.includes('one'))
  assert.equal(existsSync(join(home, 'owned')), false)
})

test('worktrees of dead tasks are removed, and what changed in them is on their branch', async t => {
  const { repository, worktrees, folder, git } = await aRepository(t)
  const [dead, empty, alive] = [
    await worktrees.begin(repository, 'dead'),
    await worktrees.begin(repository, 'empty'),
    await worktrees.begin(repository, 'alive'),
  ]
  writeFileSync(join(dead.directory, 'new'), 'kept\n')

  assert.deepEqual((await worktrees.prune(new Set(['alive']))).sort(), ['dead', 'empty'])

  assert.equal(existsSync(empty.directory), false)
  assert.deepEqual(readdirSync(folder).sort(), ['alive', 'alive.json'])
  assert.equal(git('show', 'tapgate/dead:new'), 'kept')
  assert.equal(git('branch', '--list', 'tapgate/empty'), '')
  assert.equal((await worktrees.resume(repository, 'alive'))?.directory, alive.directory)
  assert.equal(await worktrees.resume(repository, 'dead'), undefined)
})

test('no repository, no commit and no worktree twice are said so', async t => {
  const { home, repository, worktrees } = await aRepository(t)
  const empty = join(home, 'empty')
  mkdirSync(empty)
  const fails = (cwd: string, task: string, why: RegExp) =>
    assert.rejects(worktrees.begin(cwd, task), { code: 'GW_AGENT_WORKTREE', message: why })

  await fails(home, 'a', /not a git repository/)
  execFileSync('git', ['-C', empty, 'init', '--quiet'], QUIET)
  await fails(empty, 'a', /no commit/)
  await fails(repository, '../a', /no usable id/)
  await worktrees.begin(repository, 'twice')
  await fails(repository, 'twice', /already exists/)
})

test('a directory of the repository that is a link in the commit does not lead out of the worktree', async t => {
  const { home, repository, worktrees, git } = await aRepository(t)
  symlinkSync(home, join(repository, 'later'))
  git('add', '.')
  git('commit', '--quiet', '-m', 'link')
  rmSync(join(repository, 'later'))
  mkdirSync(join(repository, 'later'))

  await assert.rejects(worktrees.begin(join(repository, 'later'), 'task-4'), { code: 'GW_AGENT_WORKTREE' })
})

/** The programs of a real gateway, which ends with the test. */
async function programsFor(t: TestContext): Promise<Programs> {
  const given = Promise.withResolvers<Programs>()
  const plugin: Plugin = { name: 'gives-programs', setup: api => given.resolve(api.programs) }
  const directory = mkdtempSync(join(tmpdir(), 'contain-gateway-'))
  const gateway = await createGateway({}, { plugins: [plugin], directory })
  cleanup(t, async () => {
    await gateway.close()
    rmSync(directory, { recursive: true, force: true })
  })
  return given.promise
}
