/** One part of the program: the files it holds, and the other parts that it may import. */
export interface Part {
  readonly part: string
  readonly path: RegExp
  /** All that belongs there, in a few words. */
  readonly holds: string
  readonly may: readonly string[]
}

/** The parts that a plugin is written against: what `src/plugin.ts` names, and below. */
export const CONTRACT = ['util', 'protocol', 'errors', 'config types', 'api'] as const

/** The parts of the program; a file belongs to the first one whose path fits. ARCHITECTURE.md lists them. */
export const PARTS: readonly Part[] = [
  {
    part: 'config types',
    path: /^src\/config\/config\.gen\.ts$/,
    holds: 'types of gateway.yaml, generated from the schema',
    may: [],
  },
  { part: 'util', path: /^src\/util\//, holds: 'small pure helpers, independent of MCP', may: [] },
  {
    part: 'protocol',
    path: /^src\/protocol\//,
    holds: 'JSON-RPC and MCP messages; `era/` translates between protocol versions',
    may: ['util'],
  },
  {
    part: 'errors',
    path: /^src\/errors\//,
    holds: 'the table of error codes, and the error class',
    may: ['util', 'protocol'],
  },
  {
    part: 'gateway api',
    path: /^src\/api\/gateway\.ts$/,
    holds: 'the gateway as the CLI and the control socket see it',
    may: [...CONTRACT, 'config', 'hooks', 'plugin'],
  },
  {
    part: 'api',
    path: /^src\/api\//,
    holds: 'shared types: exchange, session, upstream, listener, gate, plugin',
    may: ['util', 'protocol', 'errors', 'config types'],
  },
  {
    part: 'config',
    path: /^src\/config\//,
    holds: 'reads and checks gateway.yaml; `source/` finds and parses it, `checks/` are checks beyond the schema',
    may: ['util', 'errors', 'config types'],
  },
  {
    part: 'hooks',
    path: /^src\/hooks\//,
    holds: 'the hooks and their guards, based on tapable',
    may: ['util', 'protocol', 'errors', 'api', 'config types'],
  },
  {
    part: 'plugin',
    path: /^src\/plugin\.ts$/,
    holds: 'the API of plugins: `tapgate/plugin`',
    may: [...CONTRACT, 'hooks'],
  },
  {
    part: 'core',
    path: /^src\/core\//,
    holds: 'pipeline, catalog, router, tasks, client requests, notifications',
    may: [...CONTRACT, 'hooks'],
  },
  { part: 'store', path: /^src\/store\//, holds: 'state files', may: ['util', 'errors', 'api'] },
  {
    part: 'net',
    path: /^src\/net\//,
    holds: 'HTTP clients, guarded fetch, WebSockets, write timeouts and Unix sockets, for listeners and upstreams',
    may: [...CONTRACT],
  },
  {
    part: 'processes',
    path: /^src\/processes\//,
    holds: 'starts, limits, sandboxes and cleans up server processes',
    may: ['util', 'errors', 'config types', 'api', 'net'],
  },
  {
    part: 'listeners',
    path: /^src\/listeners\//,
    holds: 'transports of clients: stdio, HTTP, SSE, WebSocket, in-process',
    may: [...CONTRACT, 'plugin', 'net', 'gateway api'],
  },
  {
    part: 'upstreams',
    path: /^src\/upstreams\//,
    holds: 'connections to MCP servers: stdio, HTTP, SSE, WebSocket',
    may: [...CONTRACT, 'plugin', 'net', 'processes'],
  },
  {
    part: 'page',
    path: /^plugins\/ui\/page\//,
    holds: 'the dashboard page, bundled into one file',
    may: ['plugins'],
  },
  { part: 'plugins', path: /^plugins\//, holds: 'one folder for each feature', may: ['plugin'] },
  {
    part: 'plugin-host',
    path: /^src\/plugin-host\//,
    holds: 'finds, configures and installs plugins',
    may: [...CONTRACT, 'hooks', 'plugin', 'config'],
  },
  {
    part: 'gateway',
    path: /^src\/(gateway\/|index\.ts$)/,
    holds: 'assembles, reloads and describes the gateway',
    may: [
      ...CONTRACT,
      'hooks',
      'plugin',
      'config',
      'core',
      'store',
      'net',
      'processes',
      'listeners',
      'upstreams',
      'plugins',
      'plugin-host',
      'gateway api',
    ],
  },
  {
    part: 'control',
    path: /^src\/control\//,
    holds: 'the control socket of a running gateway',
    may: [...CONTRACT, 'net', 'gateway api'],
  },
  {
    part: 'testing',
    path: /^src\/testing\//,
    holds: 'a test kit for users: `tapgate/testing`',
    may: [...CONTRACT, 'plugin', 'config', 'gateway api', 'gateway'],
  },
  {
    part: 'cli',
    path: /^src\/cli\//,
    holds: 'the commands; oclif is only in `commands/`',
    may: [...CONTRACT, 'plugin', 'config', 'plugin-host', 'gateway api', 'gateway', 'control'],
  },
]

/** A vendor, and the only places that may load it; its types may be named anywhere. */
export const HOMES: readonly { vendor: RegExp; homes: RegExp }[] = [
  { vendor: /^tapable$/, homes: /^src\/hooks\// },
  { vendor: /^(yaml|cosmiconfig)(\/|$)/, homes: /^src\/config\// },
  { vendor: /^ajv(\/|$)/, homes: /^src\/(config|plugin-host)\// },
  {
    vendor: /^(@modelcontextprotocol\/|ws$|eventsource-parser(\/|$))/,
    homes: /^src\/(net|listeners|upstreams|testing)\//,
  },
  { vendor: /^undici$/, homes: /^src\/(testing|net)\// },
  { vendor: /^jose(\/|$)/, homes: /^plugins\/(auth|oauth)\// },
  { vendor: /^oauth4webapi$/, homes: /^plugins\/oauth\// },
  { vendor: /^(preact|htm)(\/|$)/, homes: /^plugins\/ui\/page\// },
  { vendor: /^@redis\/client$/, homes: /^plugins\/cluster\/redis\// },
  { vendor: /^re2js$/, homes: /^plugins\/redact\// },
  { vendor: /^@oclif\//, homes: /^src\/cli\// },
]

/** Something of the process that is global, and the only places that may touch it. */
export const GLOBALS: readonly { access: RegExp; homes: RegExp }[] = [
  { access: /^process\.(env|cwd|argv|chdir)$/, homes: /^src\/(cli\/|config\/interpolate\.ts$)/ },
  {
    access: /^(process\.stdout|console\.\w+)$/,
    homes: /^src\/(cli\/|listeners\/stdio\/stdio-listener\.ts$)/,
  },
  // Whoever wants to know what the system can do asks `util/platform`; the others say its name.
  { access: /^process\.platform$/, homes: /^src\/util\/platform\.ts$/ },
]

/** The part a file belongs to. */
export function partOf(file: string): string | undefined {
  return PARTS.find(({ path }) => path.test(file))?.part
}
