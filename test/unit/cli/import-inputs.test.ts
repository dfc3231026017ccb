import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { importServers, type ImportResult } from '../../../src/cli/servers/import.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

function imported(t: TestContext, file: string, settings: unknown): Promise<ImportResult> {
  const cwd = mkdtempSync(join(tmpdir(), 'inputs-'))
  cleanup(t, () => rmSync(cwd, { recursive: true }))
  mkdirSync(dirname(join(cwd, file)), { recursive: true })
  writeFileSync(join(cwd, file), JSON.stringify(settings))
  const options = { output: 'gateway.yaml', force: false, dryRun: true, remote: 'https://tools.example.com' }
  return importServers({ ...options, files: [file], cwd })
}

describe('what VS Code asks its user for', () => {
  const inputs = [
    { type: 'promptString', id: 'host', default: 'db.example.com' },
    { type: 'pickString', id: 'mode', options: ['ro', 'rw'], default: 'ro' },
    { type: 'promptString', id: 'token', password: true, default: 'hunter2' },
    { type: 'promptString', id: 'odd', default: 'a}b' },
    { type: 'promptString', id: 'plain' },
  ]
  const env = Object.fromEntries(inputs.map(({ id }) => [id, `\${input:${id}}`]))
  const servers = { db: { command: 'db', env } }

  for (const [file, settings] of [
    ['.vscode/mcp.json', { inputs, servers }],
    ['settings.json', { mcp: { inputs, servers } }],
  ] as const)
    test(`has its default here too, or is named: ${file}`, async t => {
      const { text, notes, variables } = await imported(t, file, settings)

      assert.match(text, /host: \$\{HOST:-db\.example\.com\}/)
      assert.match(text, /mode: \$\{MODE:-ro\}/)
      assert.match(text, /token: \$\{TOKEN\}/)
      assert.doesNotMatch(text + notes.join(), /hunter2/)
      assert.match(text, /odd: \$\{ODD\}/)
      assert.deepEqual(variables, ['ODD', 'PLAIN', 'TOKEN'])
      const became = (id: string, name: string, more = ''): string =>
        `db: \${input:${id}}, an input of the client, became the variable ${name}${more}`
      assert.deepEqual(notes, [
        became('host', 'HOST', ', with its default'),
        became('mode', 'MODE', ', with its default'),
        became('token', 'TOKEN', ', without its default'),
        became('odd', 'ODD', ', without its default'),
        became('plain', 'PLAIN'),
      ])
    })
})

describe('servers that Gemini does not use are off here', () => {
  const mcpServers = { files: { command: 'files' }, web: { command: 'web' }, db: { command: 'db' } }

  for (const [what, settings, off] of [
    ['that are excluded', { mcp: { excluded: ['Files'] } }, ['files']],
    ['that are not allowed', { mcp: { allowed: ['web', 'files'] } }, ['db']],
    ['that are allowed and excluded', { mcp: { allowed: ['web'], excluded: ['web'] } }, ['files', 'web', 'db']],
    ['by the names of before', { allowMCPServers: ['web', 'db'], excludeMCPServers: ['db'] }, ['files', 'db']],
    ['but none where none is named', { mcp: { allowed: [], excluded: [] } }, []],
  ] as const)
    test(what, async t => {
      const { text } = await imported(t, '.gemini/settings.json', { ...settings, mcpServers })

      const isOff = (name: string): boolean =>
        new RegExp(`^  ${name}:\\n( {4}.*\\n)* {4}enabled: false$`, 'm').test(text)
      assert.deepEqual(Object.keys(mcpServers).filter(isOff), off, text)
    })
})
