import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { decidePermission } from '../../../../plugins/agents/permissions.ts'
import type { AgentConfig } from '../../../../src/config/config.gen.ts'
import type { Containment } from '../../../../plugins/agents/containment.ts'
import type { AgentToolCall } from '../../../../plugins/agents/types.ts'
import { ANN, call, deskOf, END, FakeHost, OPTIONS, type Play, request, settled } from './tasks/kit.ts'

const RULES: NonNullable<AgentConfig['permissions']>['rules'] = [
  { commands: ['curl*'], do: 'deny' },
  { kinds: ['edit'], within: 'secret', do: 'deny' },
]

const CONTAINED: Pick<Containment, 'decide'> = {
  decide: (asked, policy) => decidePermission(policy, asked, { cwd: '/nowhere', directory: '/nowhere' }),
}

const curl = (facts: Partial<AgentToolCall> = {}): AgentToolCall =>
  call({ title: 'ls; curl x', rawInput: { command: 'ls; curl x' }, ...facts })

async function warningsOf(t: TestContext, play: Play): Promise<readonly string[]> {
  const host = new FakeHost('a', play, { permissions: { rules: RULES, default: 'deny' } })
  const desk = deskOf(t, [host], { containment: CONTAINED })
  return (await settled(desk, (await desk.delegate(request(), ANN)).id)).warnings
}

const doing =
  (...calls: AgentToolCall[]): Play =>
  ({ side }) => {
    for (const each of calls) side.update({ is: 'tool', call: each, isNew: false })
    return Promise.resolve(END)
  }

test('what an agent did without asking, though a rule denies it, is a warning of its task', async t => {
  const edit = { kind: 'edit', title: 'Write x', rawInput: undefined, paths: ['/nowhere/secret/x'] } as const

  assert.deepEqual(await warningsOf(t, doing(curl(), curl({ status: 'completed' }))), [
    'a did not ask before an action that rule 1 denies: execute: "ls; curl x" command "ls; curl x"',
  ])
  assert.equal((await warningsOf(t, doing(curl({ status: 'failed' })))).length, 1)
  assert.match(
    String(await warningsOf(t, doing(call({ ...edit, status: 'completed' })))),
    /^a did not ask before an action that rule 2 denies: edit: Write x \["\/nowhere\/secret\/x"\]$/,
  )
})

test('what no rule denies, and what was asked for and denied, is none', async t => {
  const asked: Play = async ({ side }) => {
    await side.permission({ call: curl(), options: OPTIONS })
    side.update({ is: 'tool', call: curl({ status: 'failed' }), isNew: false })
    side.update({ is: 'tool', call: curl({ id: 'of-another-id', status: 'failed' }), isNew: false })
    side.update({ is: 'text', text: 'It was denied.' })
    return END
  }
  const read = call({ kind: 'read', rawInput: undefined, paths: ['/nowhere/a'], status: 'completed' })

  assert.deepEqual(await warningsOf(t, asked), [])
  assert.deepEqual(await warningsOf(t, doing(read)), [])
})
