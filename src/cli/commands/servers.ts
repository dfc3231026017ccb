import { string } from '@oclif/core/flags'
import { booleanFlag, CONFIG_FLAGS, createCommand, JSON_FLAG, optionalArgument, requiredArgument } from '../command.ts'

const { config, env, json } = CONFIG_FLAGS
const args = { client: optionalArgument('Client names.') }

export const CLIENT_COMMANDS = {
  connect: createCommand({
    summary: 'Connect editors, agents and desktop apps to the gateway.',
    description: [
      'Without a client, lists those on this machine. Shows the change to the settings file and asks before writing. Comments,',
      'other entries and file modes are preserved. Undo with gateway disconnect.',
      'Exit codes: 0 written or already connected, 9 some settings were not changed.',
    ],
    examples: [
      'gateway connect',
      'gateway connect cursor claude-code',
      'gateway connect --all --yes',
      'gateway connect vscode --scope project --dry-run',
      'gateway connect cursor --http http://127.0.0.1:8080/mcp',
    ],
    takesRest: true,
    args,
    flags: {
      yes: booleanFlag({ char: 'y', summary: 'Write without asking.' }),
      all: booleanFlag({ summary: 'Connect all installed clients.' }),
      name: string({ default: 'gateway', helpValue: '<name>', summary: 'Name of the entry.' }),
      scope: string({
        options: ['user', 'project'],
        default: 'user',
        summary: 'Write user or project settings.',
      }),
      http: string({ helpValue: '<url>', summary: 'Connect to this URL instead of gateway attach.' }),
      'dry-run': booleanFlag({ summary: 'Print the changes without writing them.' }),
      ...{ config, env, json },
    },
    async run({ positionals, flags, terminal, host }) {
      const { runConnect } = await import('../servers/connect-command.ts')
      const scope = flags.scope === 'project' ? 'project' : 'user'
      return runConnect(positionals, { ...flags, scope }, terminal, host)
    },
  }),

  disconnect: createCommand({
    summary: 'Undo gateway connect.',
    description: [
      'Restores settings files byte for byte if they were not changed since; otherwise removes only the entry.',
      'A changed entry is kept. Exit codes: 0 removed, 9 some entries were kept.',
    ],
    examples: ['gateway disconnect cursor', 'gateway disconnect --all'],
    takesRest: true,
    args,
    flags: {
      all: booleanFlag({ summary: 'Disconnect all connected clients.' }),
      ...JSON_FLAG,
    },
    run: async ({ positionals, flags, terminal }) =>
      (await import('../servers/connect-command.ts')).runDisconnect(positionals, flags, terminal),
  }),
}

const REGISTRY_FLAGS = {
  registry: string({
    helpValue: '<url|file>',
    summary: 'Registry: URL of its API, or a saved file. Default: "registry" in gateway.yaml.',
  }),
}
const yes = booleanFlag({ char: 'y', default: false, summary: 'Write without asking.' })
const output = string({
  char: 'o',
  default: 'gateway.yaml',
  helpValue: '<file>',
  summary: 'Output file.',
})

function repeatableFlag(helpValue: string, summary: string) {
  return string({ multiple: true, multipleNonGreedy: true, helpValue, summary })
}

/** Commands that add servers to a configuration, or search for them. */
export const SERVER_COMMANDS = {
  init: createCommand({
    summary: 'Create a gateway from the servers of installed clients, and connect the clients.',
    description: [
      'Finds client settings, merges their servers, moves secrets into separate files, writes a configuration, starts the',
      'gateway in the background and connects the clients. Asks before writing. If no client has servers, --starter',
      'adds one. Exit codes: 0 done, 9 declined, or a later step failed, 2 not written.',
    ],
    examples: [
      'gateway init',
      'gateway init --dry-run',
      'gateway init --yes --json',
      'gateway init --starter files --no-connect',
    ],
    flags: {
      output,
      yes: booleanFlag({ char: 'y', summary: 'Do not ask: use all servers and connect all clients.' }),
      'dry-run': booleanFlag({ summary: 'Print the configuration without writing it.' }),
      starter: string({
        options: ['files', 'memory', 'everything'],
        summary: 'Start with this server instead of those of clients.',
      }),
      'no-start': booleanFlag({ summary: 'Do not start the gateway.' }),
      'no-connect': booleanFlag({ summary: 'Do not change client settings.' }),
      move: booleanFlag({
        exclusive: ['no-connect'],
        summary: 'Remove the servers from the clients, so that each runs once; gateway disconnect restores them.',
      }),
      force: booleanFlag({ summary: 'Replace an existing configuration, which is kept as gateway.yaml.bak.' }),
      ...JSON_FLAG,
    },
    run: async ({ flags, terminal, host }) => (await import('../servers/init.ts')).runInit(flags, terminal, host),
  }),

  import: createCommand({
    summary: "Create gateway.yaml from a client's MCP settings.",
    description: [
      'Reads settings of Claude, Cursor, VS Code, Gemini, Codex, opencode, Windsurf, Zed, Goose and others (JSON, TOML, YAML),',
      'and servers-config.json with local and remote tools. Reports settings that could not be converted.',
    ],
    examples: [
      'gateway import ~/.claude.json',
      'gateway import ~/.codex/config.toml .vscode/mcp.json --secrets secrets',
      'gateway import .vscode/mcp.json --dry-run',
      'gateway import servers-config.json --remote https://tools.example.com/mcp',
    ],
    takesRest: true,
    args: { file: requiredArgument('Settings file; repeatable.') },
    flags: {
      output,
      force: booleanFlag({ summary: 'Overwrite an existing file.' }),
      'dry-run': booleanFlag({ summary: 'Print the configuration without writing it.' }),
      remote: string({
        default: '${REMOTE_GATEWAY_URL}',
        helpValue: '<url>',
        summary: 'URL of the remote tools of servers-config.json.',
      }),
      secrets: string({
        helpValue: '<directory>',
        summary: 'Move tokens into separate files in this directory, readable only by you.',
      }),
      ...JSON_FLAG,
    },
    async run({ positionals, flags, terminal, print }) {
      const { importServers, formatImport } = await import('../servers/import.ts')
      const { cwd, environment, err } = terminal
      const options = { ...flags, dryRun: flags['dry-run'], files: positionals, cwd, environment }
      const imported = await importServers(options)
      print(imported, () => formatImport(imported, terminal))
      if (!flags.json) for (const note of imported.notes) err.line(`${err.paint('yellow', 'note')} ${note}`)
    },
  }),

  search: createCommand({
    summary: 'Search a registry for servers.',
    description: 'All words must occur in the name or description. The third column shows how to add the server.',
    examples: [
      'gateway search github issues --registry https://registry.example.com',
      'gateway search database --json',
    ],
    takesRest: true,
    args: { words: requiredArgument('Search words.') },
    flags: { ...REGISTRY_FLAGS, config, ...JSON_FLAG },
    run: async ({ positionals, flags, terminal }) =>
      (await import('../servers/add-command.ts')).runSearch(positionals, flags, terminal),
  }),

  add: createCommand({
    summary: 'Add a server from a registry, a package, an image, a URL or a command.',
    description: [
      'Shows the change, starts the server once (in a sandbox if available), lists its tools and asks before writing.',
      'Preserves comments and saves the previous file as gateway.yaml.bak. Servers that fail to start need --no-start.',
    ],
    usage: 'add [<what>] [--env-var <key=value>...] [--header <line>...] [--name <name>] [-- COMMAND | ARGS...]',
    examples: [
      'gateway add io.github.owner/server',
      'gateway add npm:@modelcontextprotocol/server-memory@2026.1.26',
      "gateway add https://mcp.example.com/mcp --header 'Authorization: Bearer ${WEB_TOKEN}'",
      'gateway add npm:@modelcontextprotocol/server-filesystem@2026.1.14 -- /home/me/notes',
      'gateway add openapi:./petstore.json --name pets --server https://petstore.example.com/v1',
      'gateway add --name notes --yes -- node ./notes.js',
    ],
    takesCommand: true,
    args: { what: optionalArgument('Registry name, npm:, pypi:, docker:, openapi:, or a URL.') },
    flags: {
      yes,
      name: string({
        helpValue: '<name>',
        summary: 'Upstream name. Default: derived from the server.',
      }),
      'env-var': repeatableFlag(
        '<key=value>',
        'Environment variable of the server; secrets are moved to a file readable only by you.',
      ),
      header: repeatableFlag('<line>', "Header as 'Name: value'; secrets are moved to a file readable only by you."),
      arg: repeatableFlag('<name=value>', 'Value of a registry input.'),
      server: string({
        helpValue: '<url>',
        summary: 'Base URL of an openapi: document. Default: the server of the document.',
      }),
      kind: string({
        helpValue: '<kind>',
        options: ['remote', 'npm', 'pypi', 'oci', 'nuget', 'sse'],
        summary: 'Package kind, if several are available. Default: the first; remote before packages.',
      }),
      'no-start': booleanFlag({ default: false, summary: 'Add the server without starting it.' }),
      'no-sandbox': booleanFlag({
        default: false,
        summary: 'Run the server without a sandbox.',
      }),
      'dry-run': booleanFlag({
        default: false,
        summary: 'Print the change without starting or writing anything.',
      }),
      ...REGISTRY_FLAGS,
      config,
      ...JSON_FLAG,
    },
    async run({ args, flags, positionals: [, more], passthrough, terminal, host }) {
      const { createUsageError } = await import('../servers/add.ts')
      if (more !== undefined)
        throw createUsageError(`unexpected argument "${more}"; put a command or arguments after --`)
      const { runAdd } = await import('../servers/add-command.ts')
      return runAdd({ targetText: args.what, command: passthrough, flags }, terminal, host)
    },
  }),

  remove: createCommand({
    summary: 'Remove a server from gateway.yaml.',
    description:
      'Shows the change and asks before writing. Preserves other comments and saves the previous file as gateway.yaml.bak.',
    examples: ['gateway remove notes', 'gateway remove notes --dry-run'],
    args: { name: requiredArgument('Upstream name.') },
    flags: {
      yes,
      'dry-run': booleanFlag({ default: false, summary: 'Print the change without writing it.' }),
      config,
      ...JSON_FLAG,
    },
    run: async ({ args, flags, terminal, host }) =>
      (await import('../servers/add-command.ts')).runRemove(args.name, flags, terminal, host),
  }),
}
