import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commands } from '../../../../plugins/audit/commands.ts'
import type { CommandCall } from '../../../../src/api/command.ts'

test('an audit that is not there is said to be missing', async () => {
  const call = { args: { file: 'absent.jsonl' }, flags: {}, cwd: '/nowhere' } as unknown as CommandCall

  await assert.rejects(async () => commands['audit verify']?.run(call), {
    message: 'cannot read /nowhere/absent.jsonl: there is no such file',
  })
})
