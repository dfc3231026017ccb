import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentLines } from '../../../../plugins/agents/command-output.ts'
import { table } from '../../../../src/cli/output/table.ts'
import { outputTo } from '../../fixtures/silent-terminal.ts'

const WHY =
  'it wants a login: run "codex login" in a terminal, with the HOME that the log of the gateway names'

const AGENTS = {
  agents: [
    {
      ...{ id: 'gemini', health: 'ready', running: 1, queued: 0 },
      capabilities: ['review', 'write-code', 'explain', 'translate', 'search-the-web', 'draw'],
      facts: { name: 'gemini-cli', version: '0.9.1', protocol: 1, canLoad: true, mcpHttp: true },
    },
    {
      ...{ id: 'codex', health: 'needs_auth', running: 0, queued: 0, capabilities: [] },
      why: WHY,
    },
  ],
}

/** The lines as a terminal of this width has them. */
function shown(width: number | undefined): string[] {
  const out = { ...outputTo(), width }
  return agentLines(AGENTS, { out, table: rows => table(rows, { ...out, width: undefined }) })
}

test('agents fit a terminal of 80 columns, and nothing of them is cut', () => {
  const lines = shown(80)

  for (const line of lines) assert.ok(line.length <= 80, line)
  const words = lines.join(' ').replace(/\s+/g, ' ')
  assert.ok(words.includes('review, write-code, explain, translate, search-the-web, draw'))
  assert.ok(words.includes(WHY))
  assert.match(lines[1] ?? '', /^gemini +ready +1 +0$/)
})

test('the mode that an agent chose itself stands behind what it is', () => {
  const [row] = AGENTS.agents
  const facts = { name: 'qwen', version: '1', protocol: 1, ownMode: 'auto' }
  const out = { ...outputTo(), width: undefined }
  const lines = agentLines(
    { agents: [{ ...row, facts }] },
    { out, table: rows => table(rows, { ...out, width: undefined }) },
  )

  assert.match(lines.join('\n'), /qwen 1, protocol 1, in its own mode "auto"/)
})

test('what an agent said last before it ended stands behind why it did', () => {
  const row = {
    id: 'broken',
    health: 'unavailable',
    why: 'it exited with code 1',
    last_words: 'Cannot find module x',
  }
  const out = { ...outputTo(), width: undefined }
  const [, line = ''] = agentLines({ agents: [row] }, { out, table: rows => table(rows, out) })
  assert.match(line, /it exited with code 1: Cannot find module x$/)
})

test('where there is room, and where nobody looks, an agent is one line', () => {
  assert.equal(shown(400).length, 3)
  assert.equal(shown(undefined).length, 3)
})
