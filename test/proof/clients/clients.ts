import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The gateway as a client knows it: a command that it starts, or an address. */
export type Way = { readonly command: readonly string[] } | { readonly url: string }

/** One run of a client's program, with what its output must show. */
export interface Step {
  readonly args: readonly string[]
  readonly input?: string
  readonly shows: RegExp
}

export interface ClientProgram {
  readonly name: string
  readonly spec: string
  readonly program: string
  /** Writes the client's settings in its scratch home, which is also where it works. */
  configure?(home: string, way: Way): void
  /** Runs before it, such as the client's own command to add a server. */
  prepare?(way: Way): readonly string[]
  connect(way: Way): Step
  call?(way: Way): Step
}

const TOOL = 'everything__echo'
const ECHO = /Echo: hello/

export const CLIENTS: readonly ClientProgram[] = [
  inspector('legacy'),
  inspector('modern'),
  inspector('auto'),
  {
    name: 'Claude Code',
    spec: '@anthropic-ai/claude-code@2.1.330',
    program: 'claude',
    prepare: way =>
      'url' in way
        ? ['mcp', 'add', '--transport', 'http', 'gw', way.url]
        : ['mcp', 'add', 'gw', '--', ...way.command],
    connect: () => ({ args: ['mcp', 'list'], shows: /gw: .*Connected/ }),
  },
  {
    name: 'Gemini CLI',
    spec: '@google/gemini-cli@0.61.0',
    program: 'gemini',
    configure: (home, way) =>
      write(home, '.gemini/settings.json', {
        security: { folderTrust: { enabled: false } },
        mcpServers: { gw: 'url' in way ? { httpUrl: way.url } : pieces(way.command) },
      }),
    connect: () => ({ args: ['mcp', 'list'], shows: /gw: .* - Connected/ }),
  },
  {
    name: 'opencode',
    spec: 'opencode-ai@1.18.33',
    program: 'opencode',
    configure: (home, way) =>
      write(home, 'opencode.json', {
        mcp: { gw: 'url' in way ? { type: 'remote', ...way } : { type: 'local', ...way } },
      }),
    connect: () => ({ args: ['mcp', 'list'], shows: /gw\s+connected/ }),
  },
  {
    name: 'mcporter',
    spec: 'mcporter@0.12.3',
    program: 'mcporter',
    configure: (home, way) =>
      write(home, 'config/mcporter.json', { mcpServers: { gw: 'url' in way ? way : pieces(way.command) } }),
    connect: () => ({ args: ['list', 'gw'], shows: new RegExp(TOOL) }),
    call: () => ({ args: ['call', `gw.${TOOL}`, 'message=hello'], shows: ECHO }),
  },
  {
    name: 'Codex',
    spec: '@openai/codex@0.169.0',
    program: 'codex',
    prepare: way =>
      'url' in way ? ['mcp', 'add', 'gw', '--url', way.url] : ['mcp', 'add', 'gw', '--', ...way.command],
    connect: () => ({ args: ['app-server'], input: CODEX_ASKS, shows: new RegExp(TOOL) }),
  },
]

const CODEX_ASKS = [
  { id: 0, method: 'initialize', params: { clientInfo: { name: 'proof', version: '1' } } },
  { method: 'initialized' },
  { id: 1, method: 'mcpServerStatus/list', params: {} },
]
  .map(message => `${JSON.stringify(message)}\n`)
  .join('')

function inspector(era: string): ClientProgram {
  const args = (way: Way, ...rest: string[]): string[] => [
    '--cli',
    ...('url' in way ? [way.url] : way.command),
    ...['--protocol-era', era, ...rest],
  ]
  return {
    name: `Inspector, ${era}`,
    spec: '@modelcontextprotocol/inspector@2.12.0',
    program: 'mcp-inspector',
    connect: way => ({ args: args(way, '--method', 'tools/list'), shows: new RegExp(TOOL) }),
    call: way => ({
      args: args(way, '--method', 'tools/call', '--tool-name', TOOL, '--tool-arg', 'message=hello'),
      shows: ECHO,
    }),
  }
}

function pieces([command = '', ...args]: readonly string[]): object {
  return { command, args }
}

function write(home: string, file: string, settings: object): void {
  mkdirSync(dirname(join(home, file)), { recursive: true })
  writeFileSync(join(home, file), JSON.stringify(settings))
}
