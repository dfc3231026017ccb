import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { loadConfig, type UpstreamConfig } from '../../../src/config/index.ts'
import { directory, gateway } from './run.ts'

const SETTINGS = join(import.meta.dirname, '../../fixtures/client-settings')
const ENVIRONMENT = {
  HOME: '/home/me',
  TRACKER_TOKEN: 'tracker-token',
  CURSOR_KEY: 'cursor-key',
  API_KEY: 'api-key',
  WEB_TOKEN: 'web-token',
  TEAM: 'blue',
  OPEN_KEY: 'open-key',
  OPEN_TOKEN: 'open-token',
  REMOTE_GATEWAY_URL: 'https://tools.example.com/mcp',
}

interface Report {
  readonly file?: string
  readonly format: string
  readonly upstreams: readonly string[]
  readonly notes: readonly string[]
  readonly variables: readonly string[]
}

/** Imports one of the fixtures and loads what was written, as a user would. */
async function imported(
  t: Parameters<typeof directory>[0],
  name: string,
): Promise<{ upstreams: Readonly<Record<string, UpstreamConfig>>; report: Report; config: object }> {
  const cwd = await directory(t)
  const { code, stdout, stderr } = await gateway(['import', join(SETTINGS, name), '--json'], { cwd })
  assert.equal(code, 0, stderr)
  const { config } = await loadConfig({ file: join(cwd, 'gateway.yaml'), cwd, environment: ENVIRONMENT })
  return { upstreams: config.upstreams, report: JSON.parse(stdout) as Report, config }
}

describe('gateway import', () => {
  for (const name of readdirSync(SETTINGS)) {
    test(`makes a configuration that loads from ${name}`, async t => {
      const { upstreams, report } = await imported(t, name)
      const servers = Object.values(upstreams)
      assert.deepEqual(Object.keys(upstreams), report.upstreams)
      assert.ok(servers.some(server => server.type === 'stdio'))
      assert.ok(servers.some(server => server.type === 'http' || server.type === 'sse'))
    })
  }

  test('fills in secrets from the environment, as the client did', async t => {
    const { upstreams, report } = await imported(t, 'claude.json')
    const tracker = upstreams['issue-tracker']
    assert.ok(tracker?.type === 'http')
    assert.deepEqual(tracker.headers, { Authorization: 'Bearer tracker-token' })
    assert.deepEqual(report.variables, ['TRACKER_TOKEN'])
    assert.deepEqual(report.notes, ['Issue Tracker: renamed to "issue-tracker"'])
  })

  test('keeps as text what its client keeps as text', async t => {
    const codex = (await imported(t, 'codex.toml')).upstreams
    assert.ok(codex.files?.type === 'stdio' && codex.web?.type === 'http')
    assert.deepEqual(codex.files.args, ['server.js', '${LITERAL}'])
    assert.equal(codex.files.startupTimeout, '20s')
    assert.equal(codex.files.timeout, '91s')
    assert.deepEqual(codex.files.tools?.allow, ['read_file'])
    assert.deepEqual(codex.web.headers, { Authorization: 'Bearer web-token', 'X-Team': 'blue' })
    assert.equal(codex.web.enabled, false)
    const opencode = (await imported(t, 'opencode.jsonc')).upstreams
    assert.ok(opencode.files?.type === 'stdio')
    assert.deepEqual(opencode.files.env, { KEY: 'open-key', RAW: '${RAW}' })
    assert.deepEqual(opencode.files.args, ['server.js', '--root', '.'])
  })

  test('says what it could not carry over', async t => {
    const { report, upstreams } = await imported(t, 'vscode.json')
    assert.deepEqual(report.notes, [
      'files: ${workspaceFolder} became ".", the directory of gateway.yaml',
      'files: "envFile" is not supported and was skipped',
      'web: ${input:api-key}, an input of the client, became the variable API_KEY',
    ])
    assert.ok(upstreams.web?.type === 'http')
    assert.deepEqual(upstreams.web.headers, { 'X-Key': 'api-key' })
    const goose = await imported(t, 'goose.yaml')
    assert.deepEqual(goose.report.notes, ['developer: skipped: it has neither a command nor a URL'])
  })

  test('keeps the names of a file with local and remote tools, and labels the session', async t => {
    const { upstreams, config } = await imported(t, 'servers-config.json')
    assert.ok(upstreams.files?.type === 'stdio' && upstreams.remote?.type === 'http')
    assert.deepEqual([upstreams.files.prefix, upstreams.remote.prefix], ['', ''])
    assert.deepEqual(upstreams.files.tools?.allow, ['read_file', 'write_file'])
    assert.deepEqual(upstreams.remote.tools?.allow, ['web_search', 'memory_store'])
    assert.equal(upstreams.files.cwd, 'project')
    assert.equal(upstreams.remote.url, 'https://tools.example.com/mcp')
    assert.deepEqual((config as { sessionHeaders?: object }).sessionHeaders, {
      header: 'X-Session-ID',
      upstreams: ['remote'],
    })
  })

  test('overwrites nothing unless told to, and writes for the owner only', async t => {
    const cwd = await directory(t, { 'gateway.yaml': 'version: 1\n' })
    const from = join(SETTINGS, 'claude.json')
    const refused = await gateway(['import', from], { cwd })
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /gateway\.yaml/)
    assert.equal(readFileSync(join(cwd, 'gateway.yaml'), 'utf8'), 'version: 1\n')
    assert.equal((await gateway(['import', from, '--force'], { cwd })).code, 0)
    assert.match(readFileSync(join(cwd, 'gateway.yaml'), 'utf8'), /issue-tracker:/)
    assert.equal(statSync(join(cwd, 'gateway.yaml')).mode & 0o777, 0o600)
  })

  test('prints instead of writing on a dry run', async t => {
    const cwd = await directory(t)
    const { stdout } = await gateway(['import', join(SETTINGS, 'cursor.json'), '--dry-run'], { cwd })
    assert.match(stdout, /^# yaml-language-server: /)
    assert.deepEqual(readdirSync(cwd), [])
  })

  test('says what is wrong with a file that it cannot read', async t => {
    const cwd = await directory(t, {
      'broken.json': '{\n "mcpServers": {\n "a" "b" } }',
      'empty.json': '{}',
      'none.json': '{"mcpServers":{"a":{"url":5}}}',
    })
    const why = async (file: string): Promise<string> => (await gateway(['import', file], { cwd })).stderr
    assert.match(await why('broken.json'), /cannot import .*broken\.json: line 3: ColonExpected/)
    assert.match(await why('empty.json'), /no servers found: expected mcpServers/)
    assert.match(await why('none.json'), /no server could be converted/)
    assert.match(await why('missing.json'), /no such file/)
  })
})
