import { isObject, type JsonObject } from '../../protocol/json/json.ts'
import { convert } from './server.ts'
import { escape } from './tokens.ts'

/** Adds a server on a pipe to a client: a command of its own, or what to write into its settings. */
interface Way {
  /** Tells the client of settings by the name of their file, or by what `import` made of them. */
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

/** Next step of the owner of these settings, so that the client uses the gateway in place of its servers. */
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

/** Receives notes on what becomes of the servers. */
export interface Hearing {
  note(name: string, text: string): void
  leave(name: string, key: string): void
}

/** A file that says which tools are remote and which servers are local. */
export function isSplit(settings: JsonObject): boolean {
  return isObject(settings.localServers) || Array.isArray(settings.remoteTools)
}

/** The configuration of a local gateway in front of a remote one, with the names as they are. */
export function splitConfig(
  settings: JsonObject,
  remote: string,
  directory: string,
  { note, leave }: Hearing,
): JsonObject {
  const locals = Object.entries(isObject(settings.localServers) ? settings.localServers : {})
  const upstreams: JsonObject = {}
  for (const [name, server] of locals) {
    if (!isObject(server)) continue
    const { workingDirectory, ...rest } = server
    const isProject = isProjectRoot(workingDirectory)
    const converted = convert(
      isProject ? rest : server,
      { placeholders: 'braces', timeout: 'either', inputs: new Map(), directory },
      { note: text => note(name, text), leave: key => leave(name, key) },
    )
    if ('why' in converted) note(name, `left out: ${converted.why}`)
    else upstreams[name] = { ...converted.upstream, prefix: '', ...(isProject ? { cwd: 'project' } : {}) }
  }
  const tools = Array.isArray(settings.remoteTools)
    ? settings.remoteTools.map(tool => escape(String(tool)))
    : undefined
  if (tools === undefined) return { upstreams }
  upstreams.remote = { type: 'http', url: remote, prefix: '', tools: { allow: tools } }
  return { upstreams, sessionHeaders: { upstreams: ['remote'] } }
}

/** `project_root` is where the client works. */
function isProjectRoot(value: unknown): boolean {
  return typeof value === 'string' && /^\$?\{?project_?root\}?$/i.test(value)
}
