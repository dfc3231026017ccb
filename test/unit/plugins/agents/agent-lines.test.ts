import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatAgents } from '../../../../plugins/agents/commands.ts'
import { formatTable } from '../../../../src/cli/output/table.ts'
import { outputTo } from '../../fixtures/silent-terminal.ts'

test('an agent is a line, and below it stands why it is not well, or what it can do', () => {
  const facts = { name: 'gemini-cli', version: '0.9.1', protocol: 1, canLoad: true, ownMode: 'auto' }
  const usual = { running: 1, queued: 0, capabilities: ['review', 'draw'] }
  const agents = [
    { id: 'gemini', health: 'ready', ...usual, facts },
    {
      id: 'broken',
      health: 'unavailable',
      ...usual,
      why: 'exited with code 1',
      last_words: 'no module x',
    },
  ]
  const out = { ...outputTo(), width: undefined }
  const lines = formatAgents({ agents }, { out, table: rows => formatTable(rows, out) })

  assert.match(lines[1] ?? '', /^gemini +ready +1 +0 +review, draw$/)
  assert.deepEqual(
    [lines[2], lines[4]],
    ['    gemini-cli 0.9.1, protocol 1, loads, default mode "auto"', '    exited with code 1: no module x'],
  )
})
