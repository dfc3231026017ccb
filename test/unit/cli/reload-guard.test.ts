import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { reloadUnlessInReach } from '../../../src/cli/serve/reload-guard.ts'
import { loadConfig } from '../../../src/config/index.ts'
import type { Log } from '../../../src/api/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

async function reloads(t: TestContext, agents: string): Promise<{ count: number; said: string[] }> {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'reach-')))
  cleanup(t, () => rmSync(directory, { recursive: true, force: true }))
  mkdirSync(join(directory, 'work'))
  writeFileSync(join(directory, 'work', 'token'), 'value')
  symlinkSync(directory, join(directory, 'work', 'up'))
  const text = `version: 1\nserver: { title: "\${file:${agents.includes('TOKEN') ? 'work/token' : 'title'}}" }\n`
  writeFileSync(join(directory, 'title'), 'title')
  writeFileSync(join(directory, 'gateway.yaml'), text + agents.replace('TOKEN', ''))
  const loaded = await loadConfig({ cwd: directory, environment: {}, file: 'gateway.yaml' })
  let count = 0
  const said: string[] = []
  const log = { warn: (what: string) => void said.push(what) } as unknown as Log
  reloadUnlessInReach(loaded, log, () => count++)
  return { count, said }
}

test('a configuration that changed where agents may write is not reloaded by itself, and says what to do', async t => {
  for (const agents of [
    'agents: { roots: [.] }',
    'agents: { roots: [work/up] }',
    'agents: { roots: [work] } #TOKEN',
    'agents: { roots: [work], defaults: { sandbox: { type: bwrap, write: [.] } } }',
    'agents: { roots: [work], list: { a: { command: a, sandbox: { type: bwrap, write: [gateway.yaml] } } } }',
  ]) {
    const { count, said } = await reloads(t, agents)
    assert.equal(count, 0, agents)
    assert.match(said.join(), /not reloaded by itself.*run "gateway reload"/)
  }
})

test('elsewhere, and without agents, it is reloaded as ever', async t => {
  for (const agents of ['', 'agents: { roots: [work] }', 'agents: { list: { a: { command: a } } }'])
    assert.deepEqual(await reloads(t, agents), { count: 1, said: [] }, agents)
})
