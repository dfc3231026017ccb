import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { directory, gateway } from '../cli/run.ts'
import type { Outcome } from '../../fixtures/run-command.ts'

const AGENT = fileURLToPath(new URL('../../fixtures/acp/agent.mjs', import.meta.url))

/** Runs commands where there is a repository to work in, and an agent that edits, and one that does not start. */
async function place(t: TestContext): Promise<(...args: string[]) => Promise<Outcome>> {
  const cwd = await directory(t)
  const work = join(cwd, 'work')
  await mkdir(work)
  const git = (...args: string[]): void =>
    void execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: work })
  git('init', '--quiet')
  git('commit', '--quiet', '--allow-empty', '-m', 'begin')
  await writeFile(join(cwd, 'broken.mjs'), `import 'nothing-of-this-name'\n`)
  const node = { command: process.execPath, permissions: { default: 'allow' } }
  const config = {
    version: 1,
    agents: {
      roots: ['work'],
      list: { editor: { ...node, args: [AGENT] }, broken: { ...node, args: [join(cwd, 'broken.mjs')] } },
    },
  }
  await writeFile(join(cwd, 'gateway.json'), JSON.stringify(config))
  return (...args) => gateway([...args, '-c', 'gateway.json'], { cwd })
}

test('a probe says what an agent that did not start wrote last', async t => {
  const run = await place(t)
  const { code, stdout } = await run('agents', 'probe', 'broken')
  assert.equal(code, 8)
  assert.match(stdout, /exited with code 1: .*nothing-of-this-name/)
})

test('a task in a worktree says what it changed, on which branch and where, and it is there', async t => {
  const run = await place(t)
  const prompt = '[[edit notes.txt two]]'
  const { code, stderr } = await run('agents', 'run', prompt, '--agent', 'editor', '--isolation', 'worktree')
  assert.equal(code, 0, stderr)
  assert.match(stderr, /^changed .*notes\.txt$/m)
  const [, where = ''] = /^on branch tapgate\/t_[0-9a-f]{32}, in (.+)$/m.exec(stderr) ?? []
  assert.ok(existsSync(join(where, 'notes.txt')), stderr)
})
