import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatServers } from '../../../../src/cli/servers/questions.ts'
import { outputTo } from '../../fixtures/silent-terminal.ts'

const FROM = ['Claude Code', 'Cursor']
const short = { name: 'files', upstream: { command: 'npx', args: ['server-files'] }, from: FROM }
const long = {
  name: 'a-server-with-a-long-name',
  upstream: { command: 'node', args: ['/srv/servers/of/our/team/dist/index.js', '--root', '/srv/data'] },
  from: FROM,
}

test('the commands that init offers are shown to their end on a terminal of 80 columns', () => {
  const lines = formatServers([short, long], { ...outputTo(), width: 80 })

  assert.deepEqual(lines, [
    'Found 2 servers:',
    '  1  files                      Claude Code, Cursor',
    '     npx server-files',
    '  2  a-server-with-a-long-name  Claude Code, Cursor',
    '     node /srv/servers/of/our/team/dist/index.js --root /srv/data',
  ])
})
