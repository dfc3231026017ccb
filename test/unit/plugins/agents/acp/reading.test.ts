import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { Connection } from '../../../../../plugins/agents/acp/connection.ts'
import { programOf } from '../../../../../plugins/agents/acp/agent-host.ts'
import { ToolCalls } from '../../../../../plugins/agents/acp/updates.ts'
import type { JsonObject } from '../../../../../src/plugin.ts'
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
    where: 'agents.list.a.command',
  }

  assert.equal(programOf('agent', { ...rules, commands: undefined }), join(directory, 'bin', 'agent'))
  assert.equal(programOf('agent', { ...rules, commands: [`${directory}/agent-*`] }), real)
  assert.equal(programOf('./bin/agent', { ...rules, commands: [real] }), real)
  const refused = {
    code: 'GW_AGENT_COMMAND',
    message: /agents\.list\.a\.command: "agent" cannot be run: .*matches none/,
  }
  assert.throws(() => programOf('agent', { ...rules, commands: [`${directory}/bin/*`] }), refused)
  assert.throws(() => programOf('agent', { ...rules, commands: [] }), refused)
  assert.throws(() => programOf('gone', { ...rules, commands: undefined }), { code: 'GW_AGENT_COMMAND' })
  assert.throws(() => programOf('bin', { ...rules, searchPath: directory, commands: undefined }), /not there/)
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
  assert.ok(
    calls.merge({ toolCallId: 'c', locations: [{ path: 'x'.repeat(5000) }] })?.call.paths.includes('/'),
  )
  assert.equal(calls.merge({ toolCallId: 'd', kind: 'juggle' })?.call.kind, undefined)
  assert.equal(
    calls.merge({ toolCallId: 'e', rawInput: { text: 'x'.repeat(300_000) } })?.call.rawInput,
    undefined,
  )
  assert.equal(calls.merge({ title: 'no id' }), undefined)
  for (let index = 0; index < 1000; index++) calls.merge({ toolCallId: `n${index}` })
  assert.equal(calls.merge({ toolCallId: 'a' })?.isNew, true)
})

test('ids of both directions are apart, 0 and texts are ids, and what waits fails with the reason of the end', async () => {
  const sent: JsonObject[] = []
  const write = (line: string): boolean => sent.push(JSON.parse(line) as JsonObject) > 0
  const heard: string[] = []
  const connection = new Connection(
    { send: write, reply: write },
    {
      request: async (method, params) => ({ method, ...params }),
      notification: method => void heard.push(method),
      broken: why => void heard.push(why),
    },
  )
  const receive = (message: unknown): void => connection.receive(Buffer.from(JSON.stringify(message)))
  const answered = connection.request('one', {})
  receive({ jsonrpc: '2.0', id: 0, method: 'ask', params: { a: 1 } })
  receive({ jsonrpc: '2.0', id: 1, method: 'ask' })
  receive({ jsonrpc: '2.0', id: 'text', method: 'ask' })
  receive({ jsonrpc: '2.0', id: 99, result: 'nobody asked' })
  receive({ jsonrpc: '2.0', method: 'unknown/notification' })
  receive({ jsonrpc: '2.0', id: 1, result: { fine: true } })

  assert.deepEqual(await answered, { fine: true })
  await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual(
    sent.slice(1).map(({ id }) => id),
    [0, 1, 'text'],
  )
  assert.deepEqual(heard, ['unknown/notification'])
  const waits = connection.request('two', {})
  connection.end(new Error('the end'))
  await assert.rejects(waits, /the end/)
  await assert.rejects(connection.request('three', {}), /the end/)
})

test('what waits is bounded, both for what we ask and for what is asked of us', async () => {
  const sent: string[] = []
  const write = (line: string): boolean => sent.push(line) > 0
  const connection = new Connection(
    { send: write, reply: write },
    { request: () => new Promise(() => undefined), notification: () => undefined, broken: () => undefined },
  )
  const asked = Array.from({ length: 1030 }, () =>
    connection.request('x', {}).then(
      () => '',
      (error: unknown) => String(error),
    ),
  )
  assert.match((await asked.at(-1)) ?? '', /too many requests/)
  for (let id = 0; id < 300; id++)
    connection.receive(Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"ask"}`))
  const refused = sent.slice(1024).filter(line => line.includes('Too many requests at a time'))
  assert.equal(refused.length, 44)
  connection.end(new Error('over'))
})
