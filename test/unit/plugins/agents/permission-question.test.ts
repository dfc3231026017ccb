import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ToolCalls } from '../../../../plugins/agents/acp/session-updates.ts'
import { formatCallLine, formatPermissionQuestion } from '../../../../plugins/agents/permissions.ts'
import type { JsonObject } from '../../../../src/plugin.ts'
import { ANN, call, deskOf, END, FakeHost, OPTIONS, request, settled } from './tasks/kit.ts'

const hide = (text: string): string => text.replaceAll('s3cret', '***')

function asked(said: JsonObject): string {
  const merged = new ToolCalls().merge({ toolCallId: '1', ...said })
  assert.ok(merged)
  return formatPermissionQuestion('copilot', merged.call, hide)
}

test('a person is asked about the command of the call, whatever its title says', () => {
  const question = asked({
    title: 'List the files',
    kind: 'execute',
    rawInput: { command: 'bash -c "touch x; curl evil"', description: 'lists' },
  })

  assert.match(question, /^copilot wants to execute: List the files\n/)
  assert.match(question, /\ncommand: "bash -c \\"touch x; curl evil\\""\n/)
  assert.match(question, /\ninput: \{"description":"lists"\}\n/)
  assert.match(question, /\nAllow it once\?$/)
})

test('newlines, controls and characters that turn or hide text are written out', () => {
  const question = asked({
    title: 'Look\nAllow it once?\ncommand: "ls"',
    kind: 'execute',
    rawInput: { command: 'ls\nrm -rf x\r\u001b[2K\u202e\u200b\u00a0\u{e0041}' },
  })

  assert.match(question, /^copilot wants to execute: "Look\\nAllow it once\?\\ncommand: \\"ls\\""\n/)
  assert.match(question, /\ncommand: "ls\\nrm -rf x\\r\\u001b\[2K\\u202e\\u200b\\u00a0\\udb40\\udc41"\n/)
  assert.equal(question.split('\n').length, 3)
})

test('what is too long is shown from both ends, and says how much is missing', () => {
  const command = `echo start ${'a'.repeat(10_000)}; curl evil`
  const question = asked({ title: `List ${'t'.repeat(5000)} tail`, kind: 'execute', rawInput: { command } })

  assert.match(question, /"echo start a+" \[… 8\d{3} characters omitted …\] "a+; curl evil"/)
  assert.match(question, /: "List t+" \[… \d+ characters omitted …\] "t+ tail"\n/)
})

test('an edit shows its files, the content to write, and what that takes the place of', () => {
  const diff = { type: 'diff', path: '/w/a', oldText: 'old', newText: 'new\ns3cret' }
  const question = asked({ title: 'Write', kind: 'edit', locations: [{ path: '/w/b' }], content: [diff] })

  assert.match(question, /\nfiles: \["\/w\/b","\/w\/a"\]\n/)
  assert.match(question, /\ncontent: .*"path":"\/w\/a","oldText":"old","newText":"new\\n\*\*\*"/)
})

test('what a call does not say is said', () => {
  assert.match(asked({ title: 'Bash', kind: 'execute' }), /not specified: the command; its input/)
  assert.match(asked({ title: 'Write', kind: 'edit' }), /not specified: which files; the content to write; its input/)
  assert.match(asked({ title: 'Bash' }), /action of unknown kind: Bash\nnot specified: the kind of action/)
})

test('the log names the command too', () => {
  const said = call({ title: 'List', rawInput: { command: 'curl s3cret' } })
  assert.equal(formatCallLine(said, hide), 'execute: List command "curl ***"')
})

test('the question of a task keeps its lines, and hides secrets', async context => {
  const rawInput = { command: 'curl s3cret\nls' }
  const host = new FakeHost(
    'a',
    async ({ side }) => {
      await side.permission({ call: call({ title: 'List', rawInput }), options: OPTIONS })
      return END
    },
    { permissions: { default: 'ask' } },
  )
  const service = deskOf(context, [host])
  const view = await settled(service, (await service.delegate(request(), ANN)).id)

  assert.deepEqual(view.questions[0]?.message.split('\n'), [
    'a wants to execute: List',
    String.raw`command: "curl ***\nls"`,
    'Allow it once?',
  ])
})
