import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { resolveProgramFile } from '../../../../../plugins/agents/acp/agent-host.ts'
import { ToolCalls } from '../../../../../plugins/agents/acp/session-updates.ts'
import { cleanup } from '../../../../fixtures/cleanup.ts'

function folder(t: TestContext): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'agents-')))
  cleanup(t, () => rmSync(directory, { recursive: true, force: true }))
  return directory
}

test('the program of an agent is what its links lead to, and only what the globs allow', t => {
  const directory = folder(t)
  mkdirSync(join(directory, 'bin'))
  const real = join(directory, 'agent-1.2')
  writeFileSync(real, '#!/bin/sh\n')
  chmodSync(real, 0o755)
  symlinkSync(real, join(directory, 'bin', 'agent'))
  const rules = {
    searchPath: `${join(directory, 'bin')}:relative`,
    directory,
  }

  assert.equal(
    resolveProgramFile({ id: 'a', command: 'agent' }, { ...rules, commands: undefined }),
    join(directory, 'bin', 'agent'),
  )
  assert.equal(
    resolveProgramFile({ id: 'a', command: 'agent' }, { ...rules, commands: [`${directory}/agent-*`] }),
    real,
  )
  assert.equal(resolveProgramFile({ id: 'a', command: './bin/agent' }, { ...rules, commands: [real] }), real)
  const refused = {
    code: 'GW_AGENT_COMMAND',
    message: /agents\.list\.a\.command: cannot run "agent": .*does not match/,
  }
  assert.throws(
    () => resolveProgramFile({ id: 'a', command: 'agent' }, { ...rules, commands: [`${directory}/bin/*`] }),
    refused,
  )
  assert.throws(() => resolveProgramFile({ id: 'a', command: 'agent' }, { ...rules, commands: [] }), refused)
  assert.throws(() => resolveProgramFile({ id: 'a', command: 'gone' }, { ...rules, commands: undefined }), {
    code: 'GW_AGENT_COMMAND',
  })
  assert.throws(
    () => resolveProgramFile({ id: 'a', command: 'bin' }, { ...rules, searchPath: directory, commands: undefined }),
    /not found/,
  )
})

test('paths of a tool call come from locations and diffs, add up, and never look harmless when they are too many', () => {
  const calls = new ToolCalls()
  calls.merge({ toolCallId: 'a', kind: 'edit', locations: [{ path: '/w/a' }] })
  const merged = calls.merge({
    toolCallId: 'a',
    content: [{ type: 'diff', path: 'file:///w/c%20d', newText: '' }],
    kind: null,
  })
  assert.deepEqual(merged?.call.paths, ['/w/a', '/w/c d'])
  assert.equal(merged?.call.kind, 'edit')

  const many = Array.from({ length: 300 }, (_, index) => ({ path: `/w/${index}` }))
  assert.ok(calls.merge({ toolCallId: 'b', locations: many })?.call.paths.includes('/'))
  assert.ok(calls.merge({ toolCallId: 'c', locations: [{ path: 'x'.repeat(5000) }] })?.call.paths.includes('/'))
  assert.equal(calls.merge({ toolCallId: 'd', kind: 'juggle' })?.call.kind, undefined)
  assert.equal(calls.merge({ toolCallId: 'e', rawInput: { text: 'x'.repeat(300_000) } })?.call.rawInput, undefined)
  assert.equal(calls.merge({ title: 'no id' }), undefined)
  for (let index = 0; index < 1000; index++) calls.merge({ toolCallId: `n${index}` })
  assert.equal(calls.merge({ toolCallId: 'a' })?.isNew, true)
})
