import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { importServers, type ImportResult } from '../../../src/cli/servers/import.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const OPTIONS = {
  output: 'gateway.yaml',
  force: false,
  dryRun: true,
  remote: 'https://tools.example.com/mcp',
}

function imported(t: TestContext, file: string, settings: unknown): Promise<ImportResult> {
  const cwd = mkdtempSync(join(tmpdir(), 'variables-'))
  cleanup(t, () => rmSync(cwd, { recursive: true }))
  mkdirSync(dirname(join(cwd, file)), { recursive: true })
  writeFileSync(join(cwd, file), JSON.stringify(settings))
  return importServers({ ...OPTIONS, files: [file], cwd })
}

const COMMAND = {
  command: 'node',
  args: ['--key', '$API_KEY'],
  env: { A: '$API_KEY', B: '${B:-b}', C: 'pa$$wd' },
}
const WEB = { httpUrl: 'https://web.example.com/mcp', headers: { Authorization: 'Bearer $WEB_TOKEN' } }

for (const [file, settings] of [
  ['.gemini/settings.json', { mcpServers: { local: COMMAND } }],
  ['.qwen/settings.json', { mcpServers: { local: COMMAND } }],
  ['settings.json', { mcpServers: { local: COMMAND, web: WEB } }],
  ['crush.json', { $schema: 'https://charm.land/crush.json', mcp: { local: COMMAND } }],
] as const)
  test(`$NAME of a client that fills it in becomes a variable of the environment: ${file}`, async t => {
    const { text, variables, tokens } = await imported(t, file, settings)

    assert.match(text, /- --key\n +- \$\{API_KEY\}/)
    assert.match(text, /A: \$\{API_KEY\}/)
    assert.match(text, /B: \$\{B:-b\}/)
    assert.match(text, /C: pa\$\$wd/)
    if (file === 'settings.json') assert.match(text, /Authorization: Bearer \$\{WEB_TOKEN\}/)
    assert.ok(variables.includes('API_KEY'))
    assert.deepEqual(tokens.places, [])
  })

test('a command in Crush settings, which a gateway does not run, is named', async t => {
  const web = {
    type: 'http',
    url: 'https://a.example.com',
    headers: { Authorization: 'Bearer $(cat /token)' },
  }

  const { notes } = await imported(t, 'crush.json', {
    $schema: 'https://charm.land/crush.json',
    mcp: { web },
  })

  assert.deepEqual(notes, [
    'web: $(cat /token) is plain text here, but a command in the client: write ${exec:cat /token} for its output',
  ])
})

test('a $NAME that stays plain text, as other clients leave it, is named', async t => {
  const local = { command: 'sh', args: ['-c', 'A=1; echo $A'], env: { KEY: '$API_KEY', PRICE: '5$' } }

  const { text, notes } = await imported(t, '.mcp.json', { mcpServers: { local } })

  assert.match(text, /KEY: \$API_KEY/)
  assert.deepEqual(notes, ['local: $API_KEY is plain text here: write ${API_KEY} for the variable'])
})

test('what became of a folder is not said of a key that is left out', async t => {
  const folder = '${workspaceFolder}'
  const left = { command: 'node', envFile: `${folder}/.env` }
  const kept = { command: 'node', args: [`${folder}/server.js`] }
  const none = { envFile: `${folder}/.env` }

  const { notes } = await imported(t, '.vscode/mcp.json', { servers: { left, kept, none } })

  assert.deepEqual([...notes].sort(), [
    'kept: ${workspaceFolder} became ".", the directory of gateway.yaml',
    'left: "envFile" is not supported and was skipped',
    'none: skipped: it has neither a command nor a URL',
  ])
})
