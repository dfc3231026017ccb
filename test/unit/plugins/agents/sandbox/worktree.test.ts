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
import { Worktrees } from '../../../../../plugins/agents/containment.ts'
import type { Programs } from '../../../../../src/api/index.ts'
import { createGateway, type Plugin } from '../../../../../src/index.ts'
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
  const git = (...args: string[]): string => execFileSync('git', ['-C', repository, ...NAMED, ...args], QUIET).trim()
  git('init', '--quiet')
  for (const name of ['one', 'sub/two']) writeFileSync(join(repository, name), `${name}\n`)
  git('add', '.')
  git('commit', '--quiet', '-m', 'first')
  const folder = join(home, 'state', 'worktrees')
  return { home, repository, folder, git, worktrees: new Worktrees(await programsFor(t), folder) }
}

test('a task changes its own worktree, and the result has the diff with new and binary files', async t => {
  const { repository, worktrees, git } = await aRepository(t)
  const worktree = await worktrees.open(join(repository, 'sub'), 'task-1')
  writeFileSync(join(worktree.cwd, 'two'), 'changed\n')
  writeFileSync(join(worktree.cwd, 'new \u001b[31m'), 'new\n')
  writeFileSync(join(worktree.cwd, 'binary'), Buffer.from([0, 1, 2]))

  const changes = await worktree.changes()

  assert.match(changes.diff, /-sub\/two\n\+changed/)
  assert.match(changes.diff, /Binary files .*binary.* differ/)
  assert.deepEqual(changes.files, ['sub/binary', 'sub/new ', 'sub/two'])
  assert.match(changes.diff, /^# on branch tapgate\/task-1, in /)
  assert.ok(existsSync(worktree.cwd))
  assert.equal(git('status', '--porcelain'), '')
})

test('a worktree without changes goes, with its branch', async t => {
  const { repository, worktrees, folder, git } = await aRepository(t)
  const worktree = await worktrees.open(repository, 'task-2')

  const changes = await worktree.changes()

  assert.deepEqual(changes, { diff: '', files: [] })
  assert.deepEqual(readdirSync(folder), [])
  assert.equal(git('branch', '--list', 'tapgate/*'), '')
})

test('what the agent puts in the place of .git is not run', async t => {
  const { home, repository, worktrees } = await aRepository(t)
  const worktree = await worktrees.open(repository, 'task-3')
  const evil = join(home, 'evil')
  writeFileSync(evil, `#!/bin/sh\ntouch ${home}/owned\n`)
  chmodSync(evil, 0o755)
  rmSync(join(worktree.cwd, '.git'))
  execFileSync('git', ['-C', worktree.cwd, 'init', '--quiet'], QUIET)
  for (const key of ['core.fsmonitor', 'filter.x.clean', 'diff.external', 'diff.x.textconv'])
    execFileSync('git', ['-C', worktree.cwd, 'config', key, evil], QUIET)
  writeFileSync(join(worktree.cwd, '.gitattributes'), '* filter=x diff=x\n')
  writeFileSync(join(worktree.cwd, 'one'), 'changed\n')

  const changes = await worktree.changes()

  assert.ok(changes.files.includes('one'))
  assert.equal(existsSync(join(home, 'owned')), false)
})

test('worktrees of dead tasks are removed, and what changed in them is on their branch', async t => {
  const { repository, worktrees, folder, git } = await aRepository(t)
  const [dead, empty, alive] = [
    await worktrees.open(repository, 'dead'),
    await worktrees.open(repository, 'empty'),
    await worktrees.open(repository, 'alive'),
  ]
  writeFileSync(join(dead.cwd, 'new'), 'kept\n')

  assert.deepEqual((await worktrees.prune(task => task === 'alive')).sort(), ['dead', 'empty'])

  assert.equal(existsSync(empty.cwd), false)
  assert.deepEqual(readdirSync(folder).sort(), ['alive', 'alive.json'])
  assert.equal(git('show', 'tapgate/dead:new'), 'kept')
  assert.equal(git('branch', '--list', 'tapgate/empty'), '')
  assert.equal((await worktrees.open(repository, 'alive')).cwd, alive.cwd)
  await assert.rejects(worktrees.open(repository, 'dead'), /already exists/)
})

test('no repository and no commit are said so', async t => {
  const { home, repository, worktrees } = await aRepository(t)
  const empty = join(home, 'empty')
  mkdirSync(empty)
  const fails = (cwd: string, task: string, why: RegExp) =>
    assert.rejects(worktrees.open(cwd, task), { code: 'GW_AGENT_WORKTREE', message: why })

  await fails(home, 'a', /not a git repository/)
  execFileSync('git', ['-C', empty, 'init', '--quiet'], QUIET)
  await fails(empty, 'a', /no commit/)
  await fails(repository, '../a', /invalid task id/)
})

test('a directory of the repository that is a link in the commit does not lead out of the worktree', async t => {
  const { home, repository, worktrees, git } = await aRepository(t)
  symlinkSync(home, join(repository, 'later'))
  git('add', '.')
  git('commit', '--quiet', '-m', 'link')
  rmSync(join(repository, 'later'))
  mkdirSync(join(repository, 'later'))

  await assert.rejects(worktrees.open(join(repository, 'later'), 'task-4'), { code: 'GW_AGENT_WORKTREE' })
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
