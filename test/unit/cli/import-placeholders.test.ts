import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { stringify as toToml } from 'smol-toml'
import { importServers, type ImportResult } from '../../../src/cli/servers/import.ts'
import { findServers } from '../../../src/cli/servers/find-servers.ts'
import { createDraft, writeDraft } from '../../../src/cli/servers/write-config.ts'
import { createTerminal } from '../../../src/cli/output/terminal.ts'
import { parsePackage } from '../../../src/cli/servers/launch-options.ts'
import type { LoadedConfig } from '../../../src/config/index.ts'
import { loadConfig } from '../../../src/gateway/load-config.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const OPTIONS = {
  output: 'gateway.yaml',
  force: true,
  dryRun: false,
  remote: 'https://tools.example.com/mcp',
}
const ENVIRONMENT = { PATH: process.env.PATH, HOME: '/home/me', TOKEN: 'token-of-mine' }

function directory(t: TestContext): string {
  const cwd = mkdtempSync(join(tmpdir(), 'placeholders-'))
  cleanup(t, () => rmSync(cwd, { recursive: true }))
  writeFileSync(join(cwd, 'key'), 'private-key')
  return cwd
}

/** What a client's settings become, and that read as the gateway reads it. */
async function imported(
  t: TestContext,
  file: string,
  settings: Record<string, unknown> | Buffer,
  cwd = directory(t),
  environment: Readonly<Record<string, string | undefined>> = ENVIRONMENT,
): Promise<ImportResult & { readonly loaded: LoadedConfig['config']['upstreams']; readonly cwd: string }> {
  mkdirSync(dirname(join(cwd, file)), { recursive: true })
  const text = file.endsWith('.toml') ? toToml(settings) : JSON.stringify(settings)
  writeFileSync(join(cwd, file), Buffer.isBuffer(settings) ? settings : text)
  const found = await importServers({ ...OPTIONS, files: [file], cwd })
  const { config } = await loadConfig({ file: join(cwd, 'gateway.yaml'), cwd, environment })
  return { ...found, loaded: config.upstreams, cwd }
}

const HOSTILE = [
  '${exec:touch owned}',
  '${file:key}',
  '${keyring:key}',
  '${TOKEN:-${exec:touch owned}}',
  '${NO_SUCH:-${file:key}}',
  '$${exec:touch owned}',
  '$$${file:key}',
  '${x${exec:touch owned}}',
  '${exec:touch owned',
  '${{exec:touch owned}}',
  '${input:${exec:touch owned}}',
  '${env:${file:key}}',
  '$${workspaceFolder}{file:key}',
  '${ exec:touch owned}',
  '{env:exec:touch owned}',
  '$(touch owned)',
]
const web = {
  url: 'https://web.example.com/mcp',
  headers: Object.fromEntries(HOSTILE.map((text, i) => [`X-${i}`, text])),
}
const local = { command: 'node', args: HOSTILE, env: { A: '${exec:touch owned}' }, cwd: '${file:key}' }
const FORMATS: readonly (readonly [string, Record<string, unknown>])[] = [
  ['.mcp.json', { mcpServers: { web, local } }],
  ['.vscode/mcp.json', { servers: { web, local } }],
  ['amp.json', { 'amp.mcpServers': { web, local } }],
  ['cline_mcp_settings.json', { mcpServers: { web, local } }],
  ['.gemini/settings.json', { mcpServers: { web: { ...web, httpUrl: web.url, url: undefined }, local } }],
  ['crush.json', { mcp: { web, local } }],
  // There `{file:…}` is a form of the client's own.
  [
    'opencode.json',
    JSON.parse(JSON.stringify({ mcp: { web, local } }).replaceAll('}{file:key}', '}')) as Record<string, unknown>,
  ],
  ['zed.json', { context_servers: { web, local } }],
  ['goose.json', { extensions: { web: { ...web, uri: web.url, url: undefined }, local } }],
  [
    'continue.json',
    {
      mcpServers: [
        { name: 'web', ...web },
        { name: 'local', ...local },
      ],
    },
  ],
  ['codex.toml', { mcp_servers: { web: { url: web.url, http_headers: web.headers }, local } }],
  [
    'codex.json',
    {
      mcp_servers: {
        web: {
          url: web.url,
          env_http_headers: { A: 'exec:touch owned', B: 'file:key' },
          bearer_token_env_var: 'exec:touch owned',
        },
        local: {
          command: 'node',
          env_vars: ['exec:touch owned', 'file:key'],
          env_keys: ['TOKEN', 'file:key'],
        },
      },
    },
  ],
  [
    'split.json',
    {
      localServers: { local: { ...local, workingDirectory: '${exec:touch owned}' } },
      remoteTools: ['${exec:touch owned}'],
    },
  ],
]

for (const [file, settings] of FORMATS)
  test(`nothing in a client's settings runs a command or reads a file of the gateway's: ${file}`, async t => {
    const { loaded, cwd } = await imported(t, file, settings)

    assert.equal(existsSync(join(cwd, 'owned')), false)
    assert.doesNotMatch(JSON.stringify(loaded), /private-key/)
  })

test('"gateway init" takes no command out of the settings of a project', async t => {
  const cwd = directory(t)
  writeFileSync(join(cwd, '.mcp.json'), JSON.stringify({ mcpServers: { web, local } }))
  const environment = { ...ENVIRONMENT, HOME: cwd }
  const terminal = { ...createTerminal(process), cwd, environment }
  const { servers } = await findServers(terminal)
  const target = join(cwd, 'gateway.yaml')
  const draft = createDraft(servers, { environment, launcher: 'gateway', target })
  await writeDraft(draft, target, false)

  const { config } = await loadConfig({ file: target, cwd, environment })
  assert.deepEqual(Object.keys(config.upstreams).sort(), ['local', 'web'])
  assert.equal(existsSync(join(cwd, 'owned')), false)
  assert.doesNotMatch(JSON.stringify(config), /private-key/)
})

test('an option that a registry names is plain text', () => {
  const way = parsePackage({
    registryType: 'npm',
    identifier: 'x',
    version: '1.0.0',
    packageArguments: [{ type: 'named', name: '--a=${exec:touch owned}', value: 'b' }],
  })

  assert.ok('upstream' in way)
  assert.deepEqual(way.upstream(new Map()).args, ['-y', 'x@1.0.0', '--a=$${exec:touch owned}', 'b'])
})

test('what a client fills in stays a variable', async t => {
  const args = ['${TOKEN}', '${env:TOKEN}', '${NO_SUCH:-other}']
  const { loaded } = await imported(t, '.mcp.json', { mcpServers: { a: { command: 'node', args } } })

  assert.deepEqual(loaded.a?.type === 'stdio' && loaded.a.args, ['token-of-mine', 'token-of-mine', 'other'])
})

test('a server fills in the variables of its own entry itself', async t => {
  const args = ['mcp-remote', '--header', 'Authorization:${AUTH_HEADER}', '${TOKEN}']
  const env = { AUTH_HEADER: 'Bearer ${TOKEN}', TOKEN: '${TOKEN}' }
  const { loaded } = await imported(t, '.mcp.json', { mcpServers: { a: { command: 'npx', args, env } } })

  assert.ok(loaded.a?.type === 'stdio')
  assert.deepEqual(loaded.a.args.slice(2), ['Authorization:${AUTH_HEADER}', 'token-of-mine'])
  assert.equal(loaded.a.env.AUTH_HEADER, 'Bearer token-of-mine')
})

for (const text of ['${{ secrets.TOKEN }}', '${config:my.token}', '${command:pick}'])
  test(`a server that needs ${text} is switched off, with a note`, async t => {
    const { loaded, notes } = await imported(t, '.vscode/mcp.json', {
      servers: {
        header: { url: 'https://a.example.com/mcp', headers: { A: text } },
        url: { url: `https://${text}/mcp` },
        args: { command: 'node', args: [text] },
        fine: { command: 'node' },
      },
    })

    assert.deepEqual(
      Object.entries(loaded).map(([name, { enabled }]) => [name, enabled]),
      [
        ['header', false],
        ['url', false],
        ['args', false],
        ['fine', true],
      ],
    )
    for (const name of ['header', 'url', 'args'])
      assert.ok(
        notes.some(note => note.startsWith(`${name}: `) && note.includes(text)),
        name,
      )
  })

for (const url of ['unix:///run/server.sock', 'npipe:////./pipe/server', 'localhost:3000/mcp'])
  test(`a server at ${url} is switched off, with a note`, async t => {
    const { loaded, notes } = await imported(t, '.mcp.json', { mcpServers: { a: { type: 'http', url } } })

    assert.equal(loaded.a?.enabled, false)
    assert.ok(notes.some(note => note.includes(url)))
  })

test('a file in the home directory is one there', async t => {
  const cwd = directory(t)
  const settings = { mcp: { a: { url: 'https://a.example.com', headers: { A: '{file:~/key}' } } } }
  const { loaded } = await imported(t, 'opencode.json', settings, cwd, { ...ENVIRONMENT, HOME: cwd })

  assert.equal(loaded.a?.type === 'http' && loaded.a.headers.A, 'private-key')
})

for (const encoding of ['utf-16le', 'utf-16be'] as const)
  for (const mark of ['\uFEFF', ''])
    test(`settings in ${encoding} are read${mark === '' ? ', also without a byte order mark' : ''}`, async t => {
      const bytes = Buffer.from(`${mark}${JSON.stringify({ mcpServers: { a: { command: 'nöde' } } })}`, 'utf16le')
      const { loaded } = await imported(t, '.mcp.json', encoding === 'utf-16le' ? bytes : bytes.swap16())

      assert.equal(loaded.a?.type === 'stdio' && loaded.a.command, 'nöde')
    })

test('variables of an envFile are those of the server, below those of its entry', async t => {
  const cwd = directory(t)
  writeFileSync(join(cwd, '.env'), 'A=from-file\nB="${exec:touch owned}"\nC=c\n')
  const a = { command: 'node', envFile: '${workspaceFolder}/.env', env: { A: 'own' } }
  const { loaded } = await imported(t, '.vscode/mcp.json', { servers: { a } }, cwd)

  assert.ok(loaded.a?.type === 'stdio')
  assert.deepEqual({ ...loaded.a.env }, { A: 'own', B: '${exec:touch owned}', C: 'c' })
  assert.equal(existsSync(join(cwd, 'owned')), false)
})
