import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { importServers } from '../../src/cli/servers/import.ts'
import { loadConfig } from '../../src/gateway/load-config.ts'
import { directory, SERVER } from './cli/run.ts'

const NODE = process.execPath
const STDIO = { command: NODE, args: [SERVER] }
const json = JSON.stringify

/** One local and one remote server, as each client writes them. */
const WRITERS: Readonly<Record<string, (url: string) => string>> = {
  'claude.json': url => json({ mcpServers: { near: { type: 'stdio', ...STDIO }, far: { type: 'http', url } } }),
  'cursor.json': url => json({ mcpServers: { near: STDIO, far: { url } } }),
  'vscode.json': url => json({ servers: { near: { type: 'stdio', ...STDIO }, far: { type: 'http', url } } }),
  'windsurf.json': url => json({ mcpServers: { near: STDIO, far: { serverUrl: url } } }),
  'gemini.json': url => json({ security: {}, mcpServers: { near: STDIO, far: { url, type: 'http' } } }),
  'gemini-old.json': url => json({ mcpServers: { near: STDIO, far: { httpUrl: url } } }),
  'copilot.json': url =>
    json({ mcpServers: { near: { type: 'local', ...STDIO, tools: ['*'] }, far: { type: 'http', url } } }),
  'codex.toml': url =>
    `[mcp_servers.near]\ncommand = ${json(NODE)}\nargs = [${json(SERVER)}]\n[mcp_servers.far]\nurl = ${json(url)}\n`,
  'opencode.json': url =>
    json({ mcp: { near: { type: 'local', command: [NODE, SERVER] }, far: { type: 'remote', url } } }),
  'zed.json': url =>
    json({
      context_servers: { near: { source: 'custom', command: { path: NODE, args: [SERVER] } }, far: { url } },
    }),
  'goose.yaml': url =>
    stringify({
      extensions: {
        near: { type: 'stdio', cmd: NODE, args: [SERVER], enabled: true },
        far: { type: 'streamable_http', uri: url, enabled: true },
      },
    }),
  'continue.yaml': url =>
    stringify({
      mcpServers: [
        { name: 'near', ...STDIO },
        { name: 'far', type: 'streamable-http', url },
      ],
    }),
}

for (const [name, write] of Object.entries(WRITERS))
  test(`an imported configuration has the servers of ${name}`, async t => {
    const url = 'https://far.example.com/mcp'
    const cwd = await directory(t, { [name]: write(url) })
    const { notes } = await importServers({ ...OPTIONS, files: [name], cwd })
    const { config } = await loadConfig({ file: join(cwd, 'gateway.yaml'), cwd, environment: {} })

    const { near, far } = config.upstreams
    assert.deepEqual(notes, [])
    assert.ok(near?.type === 'stdio' && far?.type === 'http')
    assert.deepEqual([near.command, near.args, far.url], [NODE, [SERVER], url])
  })

const OPTIONS = { output: 'gateway.yaml', force: false, dryRun: false, remote: 'http://127.0.0.1:1/mcp' }

test('what Claude Code keeps for a project is imported in that project, and named elsewhere', async t => {
  const cwd = await directory(t)
  const settings = {
    mcpServers: { shared: STDIO, both: { type: 'http', url: 'http://127.0.0.1:1/user' } },
    projects: {
      [cwd]: { mcpServers: { here: STDIO, both: { type: 'http', url: 'http://127.0.0.1:1/here' } } },
      '/elsewhere': { mcpServers: { there: STDIO } },
      '/empty': {},
    },
  }
  const at = await directory(t, { 'claude.json': json(settings) })
  const imported = await importServers({ ...OPTIONS, files: [join(at, 'claude.json')], cwd })

  assert.deepEqual(imported.upstreams, ['shared', 'both', 'here'])
  assert.match(imported.text, /127\.0\.0\.1:1\/here/)
  assert.deepEqual(imported.notes, ['there: skipped: belongs to project /elsewhere; run "gateway import" there'])
})
