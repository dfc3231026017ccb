import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { formatImport, importServers } from '../../../src/cli/servers/import.ts'
import type { Terminal } from '../../../src/cli/output/terminal.ts'
import { loadConfig } from '../../../src/config/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const OPTIONS = {
  output: 'gateway.yaml',
  force: false,
  dryRun: false,
  remote: 'https://tools.example.com/mcp',
}
const TERMINAL = { out: { paint: (_style: unknown, text: string) => text } } as unknown as Terminal
const CLAUDE = {
  mcpServers: {
    web: {
      type: 'http',
      url: 'https://web.example.com/mcp',
      headers: { Authorization: 'Bearer literal-token-1' },
    },
    files: { command: 'npx', args: ['files'], env: { FILES_KEY: 'literal-key-2', MODE: 'read' } },
  },
}
const CODEX = `[mcp_servers.files]
command = "npx"
args = ["files"]
env = { FILES_KEY = "literal-key-2", MODE = "read" }
[mcp_servers.web]
url = "https://other.example.com/mcp"
bearer_token_env_var = "WEB_TOKEN"
`

function home(t: TestContext): string {
  const cwd = mkdtempSync(join(tmpdir(), 'several-'))
  cleanup(t, () => rmSync(cwd, { recursive: true }))
  writeFileSync(join(cwd, '.mcp.json'), JSON.stringify(CLAUDE))
  writeFileSync(join(cwd, 'codex.toml'), CODEX)
  return cwd
}

test('several clients become one gateway: the same server once, another of its name beside it', async t => {
  const cwd = home(t)
  const imported = await importServers({ ...OPTIONS, files: ['.mcp.json', 'codex.toml'], cwd })

  assert.deepEqual(imported.upstreams, ['web', 'files', 'web-2'])
  assert.deepEqual(imported.notes, ['web: another file has a different server with this name; renamed to "web-2"'])
})

test('it is said that tokens were copied, and how each client is told of the gateway', async t => {
  const cwd = home(t)
  const lines = formatImport(await importServers({ ...OPTIONS, files: ['.mcp.json', 'codex.toml'], cwd }), TERMINAL)
  const text = lines.join('\n')

  assert.match(
    text,
    /copied 2 tokens \(web: headers.Authorization, files: env.FILES_KEY\) into gateway.yaml.*--secrets/,
  )
  assert.match(text, /^ {2}gateway connect \S+ --scope project -c gateway\.yaml$/m)
  assert.match(text, /^ {2}gateway connect -c gateway\.yaml$/m)
})

test('tokens go into an absolute directory, and the configuration reads them from there', async t => {
  const cwd = home(t)
  const secrets = join(cwd, 'elsewhere/secrets')
  await importServers({ ...OPTIONS, files: ['.mcp.json'], cwd, secrets })

  const { config } = await loadConfig({ file: join(cwd, 'gateway.yaml'), cwd, environment: {} })
  const { web } = config.upstreams
  assert.equal(web?.type === 'http' && web.headers.Authorization, 'Bearer literal-token-1')
})

test('tokens go into files for the owner only, and the configuration reads them from there', async t => {
  const cwd = home(t)
  const imported = await importServers({ ...OPTIONS, files: ['.mcp.json'], cwd, secrets: 'secrets' })

  assert.doesNotMatch(imported.text, /literal/)
  assert.match(imported.text, /Authorization: Bearer \$\{file:\.\/secrets\/web-headers-authorization\}/)
  const file = join(cwd, 'secrets/web-headers-authorization')
  assert.equal(readFileSync(file, 'utf8'), 'literal-token-1')
  if (process.platform !== 'win32') assert.equal(statSync(file).mode & 0o777, 0o600)
  const { config } = await loadConfig({ file: join(cwd, 'gateway.yaml'), cwd, environment: {} })
  const { web, files } = config.upstreams
  assert.ok(web?.type === 'http' && files?.type === 'stdio')
  assert.equal(web.headers.Authorization, 'Bearer literal-token-1')
  assert.deepEqual({ ...files.env }, { FILES_KEY: 'literal-key-2', MODE: 'read' })
})
