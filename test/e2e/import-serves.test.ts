import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { stringify } from 'yaml'
import { importServers } from '../../src/cli/servers/import.ts'
import { loadConfig } from '../../src/config/index.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../src/testing/index.ts'
import { connectV1 } from '../peers/sdk-v1-client.ts'
import { directory, SERVER } from './cli/run.ts'

const NODE = process.execPath
const STDIO = { command: NODE, args: [SERVER] }
const json = JSON.stringify
/** In the place of the listener on stdin, which is the test runner's. */
const HTTP = 'listeners.stdio={"type":"http","port":0}'

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

describe('an imported configuration', { concurrency: 2 }, () => {
  let near: string[] = []
  before(async () => {
    const direct = await connectV1(STDIO)
    near = (await direct.listTools()).tools.map(({ name }) => name)
    await direct.close()
  })

  for (const [name, write] of Object.entries(WRITERS))
    test(`serves the servers of ${name}`, async t => {
      const far = closeAfter(t, await testUpstream({ tools: { remote_tool: () => 'from far' } }))
      const cwd = await directory(t, { [name]: write(far.url) })
      const imported = await importServers({ ...OPTIONS, files: [name], cwd })
      assert.deepEqual(imported.notes, [])
      const config = await loadConfig({ file: join(cwd, 'gateway.yaml'), cwd, set: [HTTP], environment: {} })
      const client = closeAfter(t, await testClient(closeAfter(t, await testGateway({ config }))))

      const { result } = await client.request('tools/list')
      const names = (result?.tools as { name: string }[]).map(tool => tool.name)
      assert.deepEqual(names, [...near.map(tool => `near__${tool}`), 'far__remote_tool'])
    })
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
