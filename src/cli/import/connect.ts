import type { JsonObject } from '../../protocol/json/json.ts'

/** How a client is told of a server on a pipe: a command of its own, or what to write into its settings. */
interface Way {
  /** Whose settings these are: by what their file is called, or by what `import` made of them. */
  readonly fits: RegExp
  line(args: readonly string[]): string
}

const NAME = 'gateway'
const COMMAND = 'gateway'

const WAYS: readonly Way[] = [
  { fits: /codex/i, line: args => `codex mcp add ${NAME} -- ${shell(args)}` },
  { fits: /\.gemini\b/, line: args => `gemini mcp add ${NAME} ${shell(args)}` },
  { fits: /\.copilot\b/, line: args => `copilot mcp add ${NAME} -- ${shell(args)}` },
  { fits: /\.claude\.json$|\.mcp\.json$/, line: args => `claude mcp add ${NAME} -- ${shell(args)}` },
  { fits: /VS Code/, line: args => `code --add-mcp '${JSON.stringify({ name: NAME, ...entry(args) })}'` },
  { fits: /opencode/i, line: args => setting('mcp', { type: 'local', command: [COMMAND, ...args] }) },
  { fits: /Crush/, line: args => setting('mcp', { type: 'stdio', ...entry(args) }) },
  { fits: /Zed/, line: args => setting('context_servers', { source: 'custom', ...entry(args) }) },
  {
    fits: /Goose/,
    line: args => setting('extensions', { type: 'stdio', enabled: true, cmd: COMMAND, args }),
  },
  { fits: /Continue/, line: args => `mcpServers: [${JSON.stringify({ name: NAME, ...entry(args) })}]` },
  { fits: /Amp/, line: args => setting('amp.mcpServers', entry(args)) },
]

/** What the owner of these settings does next, so that the client uses the gateway in place of its servers. */
export function connectLine(settings: string, format: string, config: string): string {
  const args = ['serve', '--stdio', '-c', config]
  const way = WAYS.find(({ fits }) => fits.test(settings)) ?? WAYS.find(({ fits }) => fits.test(format))
  return way === undefined ? setting('mcpServers', entry(args)) : way.line(args)
}

function entry(args: readonly string[]): JsonObject {
  return { command: COMMAND, args: [...args] }
}

function setting(key: string, value: JsonObject): string {
  return `${JSON.stringify(key)}: ${JSON.stringify({ [NAME]: value })}`
}

function shell(args: readonly string[]): string {
  return [COMMAND, ...args]
    .map(arg => (/^[\w./:@=-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`))
    .join(' ')
}
