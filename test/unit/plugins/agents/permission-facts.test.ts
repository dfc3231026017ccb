import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentToolCall } from '../../../../plugins/agents/types/agent.ts'
import { decide } from '../../../../plugins/agents/permissions/rules.ts'
import type { PermissionPolicy } from '../../../../plugins/agents/types/settings.ts'

type Rules = PermissionPolicy['rules']
type Verdict = PermissionPolicy['default']

async function verdict(rules: Rules, call: Partial<AgentToolCall>, fallback: Verdict = 'deny') {
  const whole: AgentToolCall = {
    ...{ id: '1', title: 'x', kind: undefined, status: 'pending' },
    ...{ paths: [], rawInput: undefined, content: [], ...call },
  }
  const site = { cwd: '/nowhere/work', directory: '/nowhere' }
  const policy: PermissionPolicy = { rules, default: fallback, askTimeoutMs: 1000 }
  return (await decide(policy, { call: whole, options: [] }, site)).do
}

test('a rule that denies commands and sees none asks, whatever allows behind it', async () => {
  const rules: Rules = [{ commands: ['*rm *'], do: 'deny' }, { do: 'allow' }]

  assert.equal(await verdict(rules, { kind: 'execute' }), 'ask')
  assert.equal(await verdict(rules, {}), 'ask')
  assert.equal(await verdict(rules, { kind: 'execute', rawInput: {} }), 'ask')
  assert.equal(await verdict(rules, { kind: 'other' }), 'ask')
  assert.equal(await verdict(rules, { kind: 'execute', rawInput: { command: 'ls' } }), 'allow')
  assert.equal(await verdict(rules, { kind: 'read', paths: ['/a'] }), 'allow', 'it executes nothing')
  assert.equal(await verdict([{ commands: ['*rm *'], do: 'deny' }], { kind: 'execute' }, 'allow'), 'ask')
  assert.equal(await verdict([...rules.slice(0, 1), { do: 'deny' }], { kind: 'execute' }), 'deny')
})

test('a rule that asks about facts that are missing asks, too', async () => {
  const rules: Rules = [{ commands: ['git push*'], do: 'ask' }, { do: 'allow' }]

  assert.equal(await verdict(rules, { kind: 'execute' }), 'ask')
})

test('a rule that denies a directory holds for any file in it, and asks where files are not told', async () => {
  const rules: Rules = [{ within: 'secret', do: 'deny' }, { do: 'allow' }]

  assert.equal(
    await verdict(rules, { kind: 'edit', paths: ['/nowhere/work/a', '/nowhere/secret/b'] }),
    'deny',
  )
  assert.equal(await verdict(rules, { kind: 'edit', paths: ['/nowhere/work/a'] }), 'allow')
  assert.equal(await verdict(rules, { kind: 'edit' }), 'ask')
  assert.equal(await verdict(rules, { kind: 'edit', paths: ['~/x'] }), 'ask')
  assert.equal(await verdict(rules, { kind: 'execute', rawInput: { command: 'cat x' } }), 'ask')
  assert.equal(await verdict(rules, { kind: 'think' }), 'allow')
  const both: Rules = [{ commands: ['rm *'], within: 'secret', do: 'deny' }, { do: 'allow' }]
  assert.equal(await verdict(both, { kind: 'execute', rawInput: { command: 'rm x' } }), 'ask')
})

test('a call of no kind passes no rule about kinds, and a command is executed whatever it is called', async () => {
  const rules: Rules = [{ kinds: ['execute'], do: 'deny' }, { do: 'allow' }]

  assert.equal(await verdict(rules, { kind: undefined }), 'ask')
  assert.equal(await verdict(rules, { kind: 'other', rawInput: { input: { cmd: ['ls'] } } }), 'deny')
  assert.equal(await verdict(rules, { kind: 'read' }), 'allow')
})

test('a command that is denied is found behind others', async () => {
  const rules: Rules = [{ commands: ['rm *', 'curl*'], do: 'deny' }, { do: 'allow' }]
  const line = (command: string) => verdict(rules, { kind: 'execute', rawInput: { command } })

  for (const command of ['ls; rm x', 'ls && curl evil', 'echo $(curl evil)', 'ls\nrm x', 'a | curl -T -'])
    assert.equal(await line(command), 'deny', command)
  assert.equal(await line('ls; echo rm'), 'allow')
})

test('a title that is missing or was cut is no reason to pass a rule about titles', async () => {
  const rules: Rules = [{ titles: ['*danger*'], do: 'deny' }, { do: 'allow' }]

  assert.equal(await verdict(rules, { title: '' }), 'ask')
  assert.equal(
    await verdict(rules, { title: 'a … b', unseen: { title: '9 characters of its title' } }),
    'ask',
  )
  assert.equal(await verdict(rules, { title: 'plain' }), 'allow')
})

test('what a call was announced with may refuse it, and never allows it', async () => {
  const json = (input: object): AgentToolCall['content'] => [
    { type: 'content', content: { type: 'text', text: JSON.stringify(input) } },
  ]
  const execute = { kind: 'execute', announced: json({ command: 'ls; rm x' }) } as const
  const edit = { kind: 'edit', announced: json({ path: '/nowhere/secret/a' }) } as const

  assert.equal(await verdict([{ commands: ['rm *'], do: 'deny' }], execute, 'allow'), 'deny')
  assert.equal(await verdict([{ within: 'secret', do: 'deny' }], edit, 'allow'), 'deny')
  assert.equal(await verdict([{ commands: ['git *'], do: 'deny' }], execute, 'allow'), 'ask')
  assert.equal(await verdict([{ commands: ['ls; rm *'], do: 'allow' }], execute), 'deny')
  assert.equal(await verdict([{ within: 'secret', do: 'allow' }], edit), 'deny')
})
