import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { AgentToolCall, PermissionRequest } from '../../../../../plugins/agents/types/agent.ts'
import { choose, decide } from '../../../../../plugins/agents/permissions/rules.ts'
import type { PermissionPolicy } from '../../../../../plugins/agents/types/settings.ts'
import { cleanup } from '../../../../fixtures/cleanup.ts'

type Rules = PermissionPolicy['rules']

const OPTIONS: PermissionRequest['options'] = [
  { optionId: 'always', name: 'Always', kind: 'allow_always' },
  { optionId: 'never', name: 'Never', kind: 'reject_always' },
  { optionId: 'no', name: 'No', kind: 'reject_once' },
  { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
]

function aSite(t: TestContext) {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'permissions-')))
  cleanup(t, () => rmSync(directory, { recursive: true, force: true }))
  for (const name of ['work', 'work2', 'docs']) mkdirSync(join(directory, name))
  symlinkSync(directory, join(directory, 'work', 'out'))
  return { directory, cwd: join(directory, 'work') }
}

async function verdict(
  rules: Rules,
  call: Partial<AgentToolCall>,
  site = { cwd: '/nowhere', directory: '/nowhere' },
) {
  const whole: AgentToolCall = {
    ...{ id: '1', title: '', kind: undefined, status: 'pending' },
    ...{ paths: [], rawInput: undefined, content: [], ...call },
  }
  const policy: PermissionPolicy = { rules, default: 'deny', askTimeoutMs: 1000 }
  const decision = await decide(policy, { call: whole, options: OPTIONS }, site)
  return `${decision.do} by ${decision.rule}`
}

test('the first rule that fits decides, and an unknown kind fits no rule about kinds', async () => {
  const rules: Rules = [
    { kinds: ['read', 'search'], do: 'allow' },
    { titles: ['Dangerous *'], do: 'deny' },
    { do: 'ask' },
  ]

  assert.equal(await verdict(rules, { kind: 'read' }), 'allow by rule 1')
  assert.equal(await verdict(rules, { kind: undefined }), 'ask by rule 3')
  assert.equal(await verdict(rules, { title: 'Dangerous thing' }), 'deny by rule 2')
  assert.equal(await verdict([], { kind: 'read' }), 'deny by default')
})

test('a command is the whole line, and a glob that allows stands for no shell operator', async () => {
  const rules: Rules = [{ commands: ['npm test*', 'git status'], do: 'allow' }]
  const line = (rawInput: NonNullable<AgentToolCall['rawInput']>) =>
    verdict(rules, { kind: 'execute', rawInput })

  assert.equal(await line({ command: 'npm test -- --bail' }), 'allow by rule 1')
  assert.equal(await line({ command: ['npm', 'test'] }), 'allow by rule 1')
  assert.equal(await line({ command: ['bash', '-lc', 'npm test'] }), 'allow by rule 1')
  assert.equal(await line({ command: 'npm', args: ['test'] }), 'allow by rule 1')
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
    assert.equal(await line({ command }), 'deny by default', command)
  assert.equal(await line({ command: ['/tmp/bash', '-c', 'npm test'] }), 'deny by default')
  assert.equal(await line({ command: 'npm test', cmd: 'reboot' }), 'deny by default')
  assert.equal(await line({}), 'deny by default')
  assert.equal(
    await verdict([{ commands: ['*rm *'], do: 'deny' }, { do: 'allow' }], {
      rawInput: { command: 'ls; rm x' },
    }),
    'deny by rule 1',
  )
})

test('within holds for every path that a call names, wherever links lead', async t => {
  const site = aSite(t)
  const rules: Rules = [{ kinds: ['edit'], within: 'cwd', do: 'allow' }]
  const edit = (call: Partial<AgentToolCall>) => verdict(rules, { kind: 'edit', ...call }, site)
  const inside = join(site.cwd, 'new', 'file')

  assert.equal(await edit({ paths: [inside] }), 'allow by rule 1')
  assert.equal(await edit({ rawInput: { file_path: 'relative', content: '/etc/passwd' } }), 'allow by rule 1')
  assert.equal(await edit({ content: [{ type: 'diff', path: inside, newText: '' }] }), 'allow by rule 1')
  assert.equal(await edit({ rawInput: { uri: `file://${inside}` } }), 'allow by rule 1')
  for (const call of [
    {},
    { paths: [join(site.directory, 'work2', 'x')] },
    { paths: [inside, '/etc/passwd'] },
    { paths: [join(site.cwd, 'out', 'x')] },
    { paths: [`${site.cwd}/out/../work/x/../../y`] },
    { paths: [inside], rawInput: { anything: '/etc/passwd' } },
    { paths: [inside], rawInput: { deep: [{ to: '../x' }] } },
    { paths: [inside], content: [{ type: 'diff', path: '/etc/passwd' }] },
    { paths: ['~/x'] },
    { paths: ['a\0b'] },
    { paths: Array.from({ length: 300 }, (_, index) => join(site.cwd, String(index))) },
  ])
    assert.equal(await edit(call), 'deny by default', JSON.stringify(call).slice(0, 200))
})

test('within may be a directory of the configuration, and no command fits it that the rule does not name', async t => {
  const site = aSite(t)
  const { directory, cwd } = site

  assert.equal(
    await verdict([{ within: 'docs', do: 'allow' }], { paths: [join(directory, 'docs/x')] }, site),
    'allow by rule 1',
  )
  assert.equal(
    await verdict([{ within: 'docs', do: 'allow' }], { paths: [join(cwd, 'x')] }, site),
    'deny by default',
  )
  const rawInput = { command: 'rm -rf x', cwd }
  assert.equal(await verdict([{ within: 'cwd', do: 'allow' }], { rawInput }, site), 'deny by default')
  assert.equal(
    await verdict([{ within: 'cwd', commands: ['rm -rf x'], do: 'allow' }], { rawInput }, site),
    'allow by rule 1',
  )
})

test('an option is chosen by what its kind says, for this once, and never made up', () => {
  const only = (...kinds: string[]) => OPTIONS.filter(({ kind }) => kinds.includes(kind))

  assert.deepEqual(choose(OPTIONS, 'allow'), { optionId: 'yes' })
  assert.deepEqual(choose(OPTIONS, 'deny'), { optionId: 'no' })
  assert.deepEqual(choose(only('reject_always'), 'deny'), { optionId: 'never' })
  assert.equal(choose(only('allow_always', 'reject_once'), 'allow'), 'cancelled')
  assert.equal(choose(only('allow_always', 'allow_once'), 'deny'), 'cancelled')
  assert.equal(choose([], 'allow'), 'cancelled')
})
