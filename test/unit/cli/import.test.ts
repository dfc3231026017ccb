import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { stringify as toToml } from 'smol-toml'
import { formatImport, importServers, type ImportResult } from '../../../src/cli/servers/import.ts'
import { findServers } from '../../../src/cli/servers/find-servers.ts'
import { createDraft, writeDraft } from '../../../src/cli/servers/init.ts'
import { readSettings } from '../../../src/cli/servers/formats.ts'
import { createTerminal } from '../../../src/cli/output/terminal.ts'
import { parsePackage } from '../../../src/cli/servers/launch-options.ts'
import type { LoadedConfig } from '../../../src/config/index.ts'
import { loadConfig } from '../../../src/gateway/load-config.ts'
import { isObject, type JsonObject } from '../../../src/protocol/json/json.ts'
import { runCommand } from '../../fixtures/run-command.ts'
import { directoryWith } from '../../fixtures/sandbox.ts'
import { silentTerminal } from '../fixtures/silent-terminal.ts'

const FIXTURES = join(import.meta.dirname, '../../fixtures')
const CORPUS = join(FIXTURES, 'client-corpus')
const OPTIONS = { output: 'gateway.yaml', force: true, dryRun: false, remote: 'https://tools.example.com/mcp' }
const URL = 'https://web.example.com/mcp'

interface Loaded extends ImportResult {
  readonly cwd: string
  /** What was written, read as the gateway reads it. */
  readonly loaded: LoadedConfig['config']['upstreams']
}

/** What a client's settings become. */
async function imported(
  t: TestContext,
  file: string,
  settings: object,
  files: Readonly<Record<string, string>> = {},
): Promise<ImportResult & { readonly cwd: string }> {
  const text = file.endsWith('.toml') ? toToml(settings) : JSON.stringify(settings)
  const cwd = directoryWith(t, { key: 'private-key', ...files, [file]: text })
  if (Buffer.isBuffer(settings)) writeFileSync(join(cwd, file), settings)
  return { ...(await importServers({ ...OPTIONS, files: [file], cwd })), cwd }
}

async function loaded(...[t, file, settings, files]: Parameters<typeof imported>): Promise<Loaded> {
  const found = await imported(t, file, settings, files)
  return { ...found, loaded: await upstreamsIn(found.cwd) }
}

async function upstreamsIn(cwd: string, more: object = {}): Promise<Loaded['loaded']> {
  const environment = { PATH: process.env.PATH, HOME: cwd, TOKEN: 'token-of-mine', ...more }
  return (await loadConfig({ file: join(cwd, 'gateway.yaml'), cwd, environment })).config.upstreams
}

describe('settings of real clients', () => {
  /** All that says the same as nothing. */
  const DEFAULTS: Readonly<Record<string, (value: unknown) => boolean>> = {
    type: value =>
      'stdio local remote http streamable-http streamable_http streamableHttp sse ws'
        .split(' ')
        .includes(String(value)),
    transport: value => ['stdio', 'http', 'streamable-http'].includes(String(value)),
    enabled: value => value === true,
    disabled: value => value === false,
    tools: value => Array.isArray(value) && value.includes('*'),
  }

  /** Every map of servers, or list of them, in a client's settings. */
  function serversIn(value: unknown): JsonObject[] {
    if (Array.isArray(value)) return value.flatMap(serversIn)
    if (!isObject(value)) return []
    const isServer = ['command', 'cmd', 'url', 'uri', 'serverUrl', 'httpUrl'].some(key => key in value)
    // Servers of other projects are named as a whole.
    const inner = Object.entries(value).filter(([key]) => key !== 'projects')
    return isServer ? [value] : inner.flatMap(([, one]) => serversIn(one))
  }

  function isNothing(key: string, value: unknown): boolean {
    const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0
    return isEmpty || value === null || (Object.hasOwn(DEFAULTS, key) && DEFAULTS[key]?.(value) === true)
  }

  /** The keys of one server that are neither in what was written nor named to the user. */
  async function lostOf(settings: JsonObject, server: JsonObject, cwd: string): Promise<string[]> {
    const read = (): Promise<ImportResult> => {
      writeFileSync(join(cwd, 'settings.json'), JSON.stringify(settings))
      return importServers({ ...OPTIONS, dryRun: true, files: ['settings.json'], cwd })
    }
    const whole = await read()
    const lost: string[] = []
    for (const [key, value] of Object.entries(server)) {
      if (isNothing(key, value)) continue
      Reflect.deleteProperty(server, key)
      const without = await read().catch(() => undefined)
      server[key] = value
      const isNamed = whole.notes.some(note => note.includes(`"${key}"`)) || whole.left.includes(key)
      if (!isNamed && without?.text === whole.text) lost.push(key)
    }
    return lost
  }

  const files = readdirSync(CORPUS)
  test('are sixty files or more, of twelve clients or more', () => {
    assert.ok(files.length >= 60, String(files.length))
    assert.ok(new Set(files.map(file => file.replace(/-\d+\.\w+$/, ''))).size >= 12)
  })

  for (const name of files)
    test(`lose no key: ${name}`, async t => {
      const settings = await readSettings(join(CORPUS, name))
      const servers = serversIn(settings)
      assert.ok(servers.length > 0)
      const cwd = directoryWith(t, {})
      for (const server of servers) assert.deepEqual(await lostOf(settings, server, cwd), [])
    })
})

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
const web = { url: URL, headers: Object.fromEntries(HOSTILE.map((text, i) => [`X-${i}`, text])) }
const local = { command: 'node', args: HOSTILE, env: { A: '${exec:touch owned}' }, cwd: '${file:key}' }
const CODEX = {
  web: {
    url: URL,
    env_http_headers: { A: 'exec:touch owned', B: 'file:key' },
    bearer_token_env_var: 'exec:touch owned',
  },
  local: { command: 'node', env_vars: ['exec:touch owned', 'file:key'], env_keys: ['TOKEN', 'file:key'] },
}
const SPLIT = {
  localServers: { local: { ...local, workingDirectory: '${exec:touch owned}' } },
  remoteTools: ['${exec:touch owned}'],
}

for (const [file, settings] of [
  ['.mcp.json', { mcpServers: { web, local } }],
  ['.vscode/mcp.json', { servers: { web, local } }],
  ['amp.json', { 'amp.mcpServers': { web, local } }],
  ['cline_mcp_settings.json', { mcpServers: { web, local } }],
  ['.gemini/settings.json', { mcpServers: { web: { ...web, httpUrl: URL, url: undefined }, local } }],
  ['crush.json', { mcp: { web, local } }],
  // There `{file:…}` is a form of the client's own.
  ['opencode.json', JSON.parse(JSON.stringify({ mcp: { web, local } }).replaceAll('}{file:key}', '}')) as object],
  ['zed.json', { context_servers: { web, local } }],
  ['goose.json', { extensions: { web: { ...web, uri: URL, url: undefined }, local } }],
  ['continue.json', { mcpServers: Object.entries({ web, local }).map(([name, server]) => ({ name, ...server })) }],
  ['codex.toml', { mcp_servers: { web: { url: URL, http_headers: web.headers }, local } }],
  ['codex.json', { mcp_servers: CODEX }],
  ['split.json', SPLIT],
] as const)
  test(`nothing in a client's settings runs a command or reads a file of the gateway's: ${file}`, async t => {
    const { loaded: upstreams, cwd } = await loaded(t, file, settings)

    assert.equal(existsSync(join(cwd, 'owned')), false)
    assert.doesNotMatch(JSON.stringify(upstreams), /private-key/)
  })

test('"gateway init" takes no command out of the settings of a project', async t => {
  const cwd = directoryWith(t, { key: 'private-key', '.mcp.json': JSON.stringify({ mcpServers: { web, local } }) })
  const environment = { PATH: process.env.PATH, HOME: cwd, TOKEN: 'token-of-mine' }
  const { servers } = await findServers({ ...createTerminal(process), cwd, environment })
  const target = join(cwd, 'gateway.yaml')
  await writeDraft(createDraft(servers, { environment, launcher: 'gateway', target }), target, false)

  const upstreams = await upstreamsIn(cwd)
  assert.deepEqual(Object.keys(upstreams).sort(), ['local', 'web'])
  assert.equal(existsSync(join(cwd, 'owned')), false)
  assert.doesNotMatch(JSON.stringify(upstreams), /private-key/)
})

test('an option that a registry names is plain text', () => {
  const way = parsePackage({
    ...{ registryType: 'npm', identifier: 'x', version: '1.0.0' },
    packageArguments: [{ type: 'named', name: '--a=${exec:touch owned}', value: 'b' }],
  })

  assert.ok('upstream' in way)
  assert.deepEqual(way.upstream(new Map()).args, ['-y', 'x@1.0.0', '--a=$${exec:touch owned}', 'b'])
})

describe('what a client fills in', () => {
  test('stays a variable, but for those of its own entry, which a server fills in itself', async t => {
    const args = ['${TOKEN}', '${env:TOKEN}', '${NO_SUCH:-other}', 'Authorization:${AUTH_HEADER}']
    const env = { AUTH_HEADER: 'Bearer ${TOKEN}' }
    const { a } = (await loaded(t, '.mcp.json', { mcpServers: { a: { command: 'npx', args, env } } })).loaded

    assert.ok(a?.type === 'stdio')
    assert.deepEqual(a.args, ['token-of-mine', 'token-of-mine', 'other', 'Authorization:${AUTH_HEADER}'])
    assert.equal(a.env.AUTH_HEADER, 'Bearer token-of-mine')
  })

  for (const text of ['${{ secrets.TOKEN }}', '${config:my.token}', '${command:pick}'])
    test(`and nobody else can, as ${text}, switches its server off, with a note`, async t => {
      const servers = {
        header: { url: 'https://a.example.com/mcp', headers: { A: text } },
        args: { command: 'node', args: [text] },
        fine: { command: 'node' },
      }
      const { loaded: upstreams, notes } = await loaded(t, '.vscode/mcp.json', { servers })

      const off = Object.keys(upstreams).filter(name => upstreams[name]?.enabled === false)
      assert.deepEqual(off, ['header', 'args'])
      for (const name of off)
        assert.ok(
          notes.some(note => note.startsWith(`${name}: `) && note.includes(text)),
          name,
        )
    })

  for (const url of ['unix:///run/server.sock', 'npipe:////./pipe/server', 'localhost:3000/mcp'])
    test(`a server at ${url} is skipped, with a note`, async t => {
      const mcpServers = { a: { type: 'http', url }, b: { command: 'node' } }
      const { upstreams, notes } = await imported(t, '.mcp.json', { mcpServers })

      assert.deepEqual(upstreams, ['b'])
      assert.ok(notes.some(note => note.startsWith('a: skipped') && note.includes(url)))
    })

  test('from a file in the home directory is one there', async t => {
    const settings = { mcp: { a: { url: 'https://a.example.com', headers: { A: '{file:~/key}' } } } }
    const { a } = (await loaded(t, 'opencode.json', settings)).loaded

    assert.equal(a?.type === 'http' && a.headers.A, 'private-key')
  })

  test('from an envFile are variables of the server, below those of its entry', async t => {
    const files = { '.env': 'A=from-file\nB="${exec:touch owned}"\nC=c\n' }
    const a = { command: 'node', envFile: '${workspaceFolder}/.env', env: { A: 'own' } }
    const { loaded: upstreams, cwd } = await loaded(t, '.vscode/mcp.json', { servers: { a } }, files)

    assert.ok(upstreams.a?.type === 'stdio')
    assert.deepEqual({ ...upstreams.a.env }, { A: 'own', B: '${exec:touch owned}', C: 'c' })
    assert.equal(existsSync(join(cwd, 'owned')), false)
  })
})

describe('what a client names', () => {
  const COMMAND = {
    command: 'node',
    args: ['--key', '$API_KEY'],
    env: { A: '$API_KEY', B: '${B:-b}', C: 'pa$$wd' },
  }
  const WEB = { httpUrl: URL, headers: { Authorization: 'Bearer $WEB_TOKEN' } }
  for (const [file, settings] of [
    ['.gemini/settings.json', { mcpServers: { local: COMMAND } }],
    ['.qwen/settings.json', { mcpServers: { local: COMMAND } }],
    ['settings.json', { mcpServers: { local: COMMAND, web: WEB } }],
    ['crush.json', { $schema: 'https://charm.land/crush.json', mcp: { local: COMMAND } }],
  ] as const)
    test(`by $NAME becomes a variable of the environment: ${file}`, async t => {
      const { text, variables, tokens } = await imported(t, file, settings)

      for (const line of [/- --key\n +- \$\{API_KEY\}/, /A: \$\{API_KEY\}/, /B: \$\{B:-b\}/, /C: pa\$\$wd/])
        assert.match(text, line)
      if (file === 'settings.json') assert.match(text, /Authorization: Bearer \$\{WEB_TOKEN\}/)
      assert.ok(variables.includes('API_KEY'))
      assert.deepEqual(tokens.places, [])
    })

  const folder = '${workspaceFolder}'
  for (const [what, file, settings, said] of [
    [
      'what became of a folder, but not of one in a key that is left out,',
      '.vscode/mcp.json',
      {
        servers: {
          kept: { command: 'node', args: [`${folder}/server.js`] },
          left: { command: 'node', envFile: `${folder}/.env` },
          none: { envFile: `${folder}/.env` },
        },
      },
      [
        'kept: ${workspaceFolder} became ".", the directory of gateway.yaml',
        'left: "envFile" is not supported and was skipped',
        'none: skipped: it has neither a command nor a URL',
      ],
    ],
  ] as const)
    test(`${what} is named`, async t => {
      assert.deepEqual([...(await imported(t, file, settings)).notes].sort(), said)
    })

  test('as an input of its user has its default here too, or is named', async t => {
    const inputs = [
      { type: 'promptString', id: 'host', default: 'db.example.com' },
      { type: 'pickString', id: 'mode', options: ['ro', 'rw'], default: 'ro' },
      { type: 'promptString', id: 'token', password: true, default: 'hunter2' },
      { type: 'promptString', id: 'odd', default: 'a}b' },
      { type: 'promptString', id: 'plain' },
    ]
    const env = Object.fromEntries(inputs.map(({ id }) => [id, `\${input:${id}}`]))
    const settings = { inputs, servers: { db: { command: 'db', env } } }
    const { text, notes, variables } = await imported(t, '.vscode/mcp.json', settings)

    for (const line of [/host: \$\{HOST:-db\.example\.com\}/, /mode: \$\{MODE:-ro\}/, /token: \$\{TOKEN\}/])
      assert.match(text, line)
    assert.match(text, /odd: \$\{ODD\}/)
    assert.doesNotMatch(text + notes.join(), /hunter2/)
    assert.deepEqual(variables, ['ODD', 'PLAIN', 'TOKEN'])
    const ends = [', with its default', ', with its default', ', without its default', ', without its default', '']
    const became = inputs.map(
      ({ id }, i) =>
        `db: \${input:${id}}, an input of the client, became the variable ${id.toUpperCase()}${ends[i] ?? ''}`,
    )
    assert.deepEqual(notes, became)
    const inside = await imported(t, 'settings.json', { mcp: settings })
    assert.equal(inside.text.replace('settings.json', 'mcp.json'), text)
  })
})

/** Settings that a client may have, and all that must be told of them in the file or the notes. */
const TOLD: readonly (readonly [what: string, file: string, settings: object, words: readonly (string | RegExp)[]])[] =
  [
    ...(
      [
        ['arguments beside a command that is a list', { command: ['npx', '-y'], args: ['web'] }, ['-y', 'web']],
        ['arguments that are one text', { command: 'npx', args: '-y web' }, ['"args" is not supported']],
        ['an argument that is a map', { command: 'npx', args: [{ a: 1 }] }, ['"args" is not supported']],
        ['an environment that is a list', { command: 'npx', env: ['A=1'] }, ['"env" is not supported']],
        [
          'variables that are nothing, a map and a number',
          { command: 'npx', env: { A: null, B: 'kept', C: { b: 1 }, D: 2 } },
          ['"env.A" is not supported', 'B: kept', '"env.C" is not supported', 'D: "2"'],
        ],
        [
          'a header that is nothing',
          { url: URL, headers: { A: null, B: 'kept' } },
          ['"headers.A" is not supported', 'B: kept'],
        ],
        ['a working directory that is no text', { command: 'npx', cwd: 7 }, ['"cwd" is not supported']],
        ['a second address', { url: URL, serverUrl: `${URL}/2` }, [URL, '"serverUrl" is not supported']],
        ['a type for addresses', { type: 'sse', command: 'npx' }, ['"type" is sse']],
        ['a command beside a transport', { command: 'npx', transport: { type: 'stdio' } }, ['command: npx']],
      ] as const
    ).map(([what, odd, words]) => [what, '.mcp.json', { mcpServers: { odd } }, words] as const),
    [
      'a command that is a map',
      'zed.json',
      { context_servers: { odd: { command: { path: 'zed', args: ['-x'], env: { A: '1' } } } } },
      ['command: zed', '-x', 'A: "1"'],
    ],
    [
      'a bearer token of Codex beside other headers',
      'codex.json',
      {
        mcp_servers: {
          web: {
            http_headers: { 'X-Team': 'blue' },
            env_http_headers: { 'X-Trace': 'TRACE' },
            bearer_token_env_var: 'WEB_TOKEN',
            url: URL,
          },
        },
      },
      ['Authorization: Bearer ${WEB_TOKEN}', 'X-Team: blue', 'X-Trace: ${TRACE}'],
    ],
    [
      'what Codex keeps as text, its limits and its tools',
      'codex.toml',
      {
        mcp_servers: {
          files: {
            ...{ command: 'node', args: ['${LITERAL}'], enabled_tools: ['read_file'], enabled: false },
            ...{ startup_timeout_sec: 20, tool_timeout_sec: 91 },
          },
        },
      },
      ['$${LITERAL}', 'startupTimeout: 20s', 'timeout: 91s', 'enabled: false', /allow:\n +- read_file/],
    ],
    // A timeout is counted as its client counts it.
    ...(
      [
        ['config.yaml', 'extensions', 3600, /^ +timeout: 3600s$/m],
        ['cline_mcp_settings.json', 'mcpServers', 1800, /^ +timeout: 1800s$/m],
        ['.roo/mcp.json', 'mcpServers', 3600, /^ +timeout: 3600s$/m],
        ['rooveterinaryinc.roo-cline/settings/mcp_settings.json', 'mcpServers', 3600, /3600s/],
        ['crush.json', 'mcp', 1200, /^ +startupTimeout: 1200s$/m],
        ['.crush.json', 'mcp', 30, /^ +startupTimeout: 30s$/m],
        ['opencode.json', 'mcp', 900, /^ +timeout: 900$/m],
        ['.gemini/settings.json', 'mcpServers', 900, /^ +timeout: 900$/m],
        ['.mcp.json', 'mcpServers', 60_000, /^ +timeout: 60000$/m],
        ['.mcp.json', 'mcpServers', 60, /^ +timeout: 60s$/m],
      ] as const
    ).map(([file, key, timeout, line]) => {
      const server = key === 'extensions' ? { cmd: 'node', timeout } : { command: 'node', timeout }
      return [`a timeout of ${timeout} in ${file}`, file, { [key]: { a: server } }, [line]] as const
    }),
  ]

describe('it is carried or named', () => {
  for (const [what, file, settings, words] of TOLD)
    test(what, async t => {
      const { text, notes } = await imported(t, file, settings)

      const all = `${text}\n${notes.join('\n')}`
      for (const word of words) assert.ok(typeof word === 'string' ? all.includes(word) : word.test(all), all)
    })

  const mcpServers = { files: { command: 'files' }, web: { command: 'web' }, db: { command: 'db' } }
  for (const [what, settings, off] of [
    ['that are excluded', { mcp: { excluded: ['files'] } }, ['files']],
    ['that are not allowed', { mcp: { allowed: ['web', 'files'] } }, ['db']],
    ['that are allowed and excluded', { mcp: { allowed: ['web'], excluded: ['web'] } }, ['files', 'web', 'db']],
    ['but none where none is named', { mcp: { allowed: [], excluded: [] } }, []],
  ] as const)
    test(`which servers Gemini does not use: those ${what}`, async t => {
      const upstreams = (await loaded(t, '.gemini/settings.json', { ...settings, mcpServers })).loaded

      assert.deepEqual(
        Object.keys(upstreams).filter(name => upstreams[name]?.enabled === false),
        off,
      )
    })
})

describe('tokens and several clients', () => {
  const FILES = {
    '.mcp.json': JSON.stringify({
      mcpServers: {
        web: { type: 'http', url: URL, headers: { Authorization: 'Bearer literal-token-1' } },
        files: { command: 'npx', args: ['files'], env: { FILES_KEY: 'literal-key-2', MODE: 'read' } },
      },
    }),
    'codex.toml': `[mcp_servers.files]
command = "npx"
args = ["files"]
env = { FILES_KEY = "literal-key-2", MODE = "read" }
[mcp_servers.web]
url = "https://other.example.com/mcp"
bearer_token_env_var = "WEB_TOKEN"
`,
  }

  test('become one gateway, the same server once, and it is said that tokens were copied', async t => {
    const cwd = directoryWith(t, FILES)
    const found = await importServers({ ...OPTIONS, files: ['.mcp.json', 'codex.toml'], cwd })
    const text = formatImport(found, silentTerminal({ cwd, environment: {} })).join('\n')

    assert.deepEqual(found.upstreams, ['web', 'files', 'web-2'])
    assert.deepEqual(found.notes, ['web: renamed to "web-2"'])
    const copied = /copied 2 tokens \(web: headers.Authorization, files: env.FILES_KEY\) into gateway.yaml.*--secrets/
    assert.match(text, copied)
    assert.match(text, /^ {2}gateway connect \S+ --scope project -c gateway\.yaml$/m)
    assert.match(text, /^ {2}gateway connect -c gateway\.yaml$/m)
  })

  for (const isAbsolute of [false, true])
    test(`go into files for the owner only, in ${isAbsolute ? 'an absolute' : 'a relative'} directory`, async t => {
      const cwd = directoryWith(t, FILES)
      const secrets = isAbsolute ? join(cwd, 'secrets') : 'secrets'
      const { text } = await importServers({ ...OPTIONS, files: ['.mcp.json'], cwd, secrets })

      assert.doesNotMatch(text, /literal/)
      const file = join(cwd, 'secrets/web-headers-authorization')
      assert.equal(readFileSync(file, 'utf8'), 'literal-token-1')
      if (process.platform !== 'win32') assert.equal(statSync(file).mode & 0o777, 0o600)
      const upstreams = await upstreamsIn(cwd)
      assert.ok(upstreams.web?.type === 'http' && upstreams.files?.type === 'stdio')
      assert.equal(upstreams.web.headers.Authorization, 'Bearer literal-token-1')
      assert.deepEqual({ ...upstreams.files.env }, { FILES_KEY: 'literal-key-2', MODE: 'read' })
    })
})

describe('gateway import', () => {
  const SETTINGS = join(FIXTURES, 'client-settings')
  const CLAUDE = join(SETTINGS, 'claude.json')

  test('keeps the names of a file with local and remote tools, and labels the session', async t => {
    const cwd = directoryWith(t, {})
    const { code, stderr } = await runCommand(['import', join(SETTINGS, 'servers-config.json'), '--json'], { cwd })
    assert.equal(code, 0, stderr)
    const environment = { HOME: '/home/me', REMOTE_GATEWAY_URL: OPTIONS.remote }
    const { config } = await loadConfig({ file: join(cwd, 'gateway.yaml'), cwd, environment })
    const { files, remote } = config.upstreams
    assert.ok(files?.type === 'stdio' && remote?.type === 'http')
    assert.deepEqual([files.prefix, files.cwd, remote.prefix, remote.url], ['', 'project', '', OPTIONS.remote])
    assert.deepEqual(files.tools?.allow, ['read_file', 'write_file'])
    assert.deepEqual(remote.tools?.allow, ['web_search', 'memory_store'])
    const { sessionHeaders } = config as { sessionHeaders?: object }
    assert.deepEqual(sessionHeaders, { header: 'X-Session-ID', upstreams: ['remote'] })
  })

  test('overwrites nothing unless told to, writes for the owner only, and on a dry run nothing', async t => {
    const cwd = directoryWith(t, { 'gateway.yaml': 'version: 1\n' })
    const refused = await runCommand(['import', CLAUDE], { cwd })
    const dry = await runCommand(['import', CLAUDE, '--dry-run'], { cwd })
    assert.deepEqual([refused.code, dry.code], [2, 0])
    assert.match(refused.stderr, /gateway\.yaml/)
    assert.match(dry.stdout, /^# yaml-language-server: /)
    assert.equal(readFileSync(join(cwd, 'gateway.yaml'), 'utf8'), 'version: 1\n')
    const forced = await runCommand(['import', CLAUDE, '--force', '--json'], { cwd })
    assert.match(readFileSync(join(cwd, 'gateway.yaml'), 'utf8'), /issue-tracker:/)
    assert.equal(statSync(join(cwd, 'gateway.yaml')).mode & 0o777, 0o600)
    const { variables, notes } = JSON.parse(forced.stdout) as ImportResult
    assert.deepEqual([variables, notes], [['TRACKER_TOKEN'], ['Issue Tracker: renamed to "issue-tracker"']])
  })

  test('says what is wrong with a file that it cannot read', async t => {
    const cwd = directoryWith(t, {
      'broken.json': '{\n "mcpServers": {\n "a" "b" } }',
      'empty.json': '{}',
      'none.json': '{"mcpServers":{"a":{"url":5}}}',
    })
    for (const [file, why] of [
      ['broken.json', /cannot import .*broken\.json: line 3: ColonExpected/],
      ['empty.json', /no servers found: expected mcpServers/],
      ['none.json', /no server could be converted/],
      ['missing.json', /no such file/],
    ] as const)
      assert.match((await runCommand(['import', file], { cwd })).stderr, why)
  })
})
