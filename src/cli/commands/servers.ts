import { string } from '@oclif/core/flags'
import {
  createCommand,
  CONFIG_FLAGS,
  JSON_FLAG,
  optionalArgument,
  requiredArgument,
  booleanFlag,
} from '../command.ts'

const { config } = CONFIG_FLAGS
const REGISTRY_FLAGS = {
  registry: string({
    helpValue: '<url|file>',
    summary:
      'The registry: URL of its API, or a file that it was saved in. Default: "registry" of gateway.yaml.',
  }),
}
const yes = booleanFlag({ char: 'y', default: false, summary: 'Write without asking.' })
const output = string({
  char: 'o',
  default: 'gateway.yaml',
  helpValue: '<file>',
  summary: 'Where to write the configuration.',
})

function repeatableFlag(helpValue: string, summary: string) {
  return string({ multiple: true, multipleNonGreedy: true, helpValue, summary })
}

/** Commands that write servers into a configuration. */
export const SERVER_COMMANDS = {
  init: createCommand({
    summary: 'Make one gateway of the servers that clients on this machine have, and connect them to it.',
    description: [
      'Finds the settings of clients, takes each server once, moves secrets into files of their own, writes a configuration,',
      'starts it in the background and connects the clients. Asks before it writes. Where no client has a server it offers',
      'three to begin with. Exit codes: 0 done, 1 you said no, or something went wrong after it was written, 2 it could not be written.',
    ],
    examples: [
      'gateway init',
      'gateway init --dry-run',
      'gateway init --yes --json',
      'gateway init --starter files --no-connect',
    ],
    flags: {
      output,
      yes: booleanFlag({ char: 'y', summary: 'Do not ask: take all servers, and connect all clients.' }),
      'dry-run': booleanFlag({ summary: 'Print the configuration, and write nothing.' }),
      starter: string({
        options: ['files', 'memory', 'everything'],
        summary: 'Begin with this server, in place of those of clients.',
      }),
      'no-start': booleanFlag({ summary: 'Do not start the gateway.' }),
      'no-connect': booleanFlag({ summary: 'Leave the settings of clients as they are.' }),
      force: booleanFlag({ summary: 'Overwrite a configuration that is there.' }),
      ...JSON_FLAG,
    },
    run: async ({ flags, terminal, host }) =>
      (await import('../init/init-command.ts')).runInit(flags, terminal, host),
  }),

  import: createCommand({
    summary: "Write a gateway.yaml from clients' lists of MCP servers.",
    description: [
      'Reads the files of Claude, Cursor, VS Code, Gemini, Codex, opencode, Windsurf, Zed, Goose and others (JSON, TOML, YAML),',
      'and servers-config.json with local and remote tools. Says what it could not carry over.',
    ],
    examples: [
      'gateway import ~/.claude.json',
      'gateway import ~/.codex/config.toml .vscode/mcp.json --secrets secrets',
      'gateway import .vscode/mcp.json --dry-run',
      'gateway import servers-config.json --remote https://tools.example.com/mcp',
    ],
    takesRest: true,
    args: { file: requiredArgument('The file to read; more may follow.') },
    flags: {
      output,
      force: booleanFlag({ summary: 'Overwrite a file that exists.' }),
      'dry-run': booleanFlag({ summary: 'Print the configuration instead of writing it.' }),
      remote: string({
        default: '${REMOTE_GATEWAY_URL}',
        helpValue: '<url>',
        summary: 'Where the remote tools of servers-config.json are served.',
      }),
      secrets: string({
        helpValue: '<directory>',
        summary: 'Put each token into a file of its own there, for the owner only, and refer to it.',
      }),
      ...JSON_FLAG,
    },
    async run({ words, flags, terminal, print }) {
      const { importServers, formatImport } = await import('../import/import.ts')
      const { cwd, environment, err } = terminal
      const options = { ...flags, dryRun: flags['dry-run'], files: words, cwd, environment }
      const imported = await importServers(options)
      print(imported, () => formatImport(imported, terminal))
      if (!flags.json) for (const note of imported.notes) err.line(`${err.paint('yellow', 'note')} ${note}`)
    },
  }),

  search: createCommand({
    summary: 'Look for servers in a registry.',
    description:
      'All of the words must be in the name or the description. The last column but one says how it can be added.',
    examples: [
      'gateway search github issues --registry https://registry.example.com',
      'gateway search database --json',
    ],
    takesRest: true,
    args: { words: requiredArgument('A word; more may follow.') },
    flags: { ...REGISTRY_FLAGS, config, ...JSON_FLAG },
    run: async ({ words, flags, terminal }) =>
      (await import('../add/add-command.ts')).runSearch(words, flags, terminal),
  }),

  add: createCommand({
    summary: 'Add a server to gateway.yaml: from a registry, a package, an image, a URL or a command.',
    description: [
      'Shows the change, starts the server once (in a sandbox where there is one), shows its tools, and then asks.',
      'Comments are kept, and the file before is gateway.yaml.bak. What does not start is not added, but with --no-start.',
    ],
    usage:
      'add [<what>] [--env-var <key=value>...] [--header <line>...] [--name <name>] [-- COMMAND | ARGS...]',
    examples: [
      'gateway add io.github.owner/server',
      'gateway add npm:@modelcontextprotocol/server-memory@2026.1.26',
      "gateway add https://mcp.example.com/mcp --header 'Authorization: Bearer ${WEB_TOKEN}'",
      'gateway add npm:@modelcontextprotocol/server-filesystem@2026.1.14 -- /home/me/notes',
      'gateway add openapi:./petstore.json --name pets --server https://petstore.example.com/v1',
      'gateway add --name notes --yes -- node ./notes.js',
    ],
    takesCommand: true,
    args: { what: optionalArgument('A name of the registry, npm:, pypi:, docker:, openapi:, or a URL.') },
    flags: {
      yes,
      name: string({
        helpValue: '<name>',
        summary: 'Its name among the upstreams. Default: made of its own.',
      }),
      'env-var': repeatableFlag(
        '<key=value>',
        'A variable of its environment; a token goes into a file for you alone.',
      ),
      header: repeatableFlag('<line>', "A header, as 'Name: value'; a token goes into a file for you alone."),
      arg: repeatableFlag('<name=value>', 'A value that its registry entry asks for.'),
      server: string({
        helpValue: '<url>',
        summary: 'For openapi: the URL that paths are appended to. Default: the one that its document names.',
      }),
      kind: string({
        helpValue: '<kind>',
        options: ['remote', 'npm', 'pypi', 'oci', 'nuget', 'sse'],
        summary: 'Which of several ways to run it. Default: the first, remote ones ahead.',
      }),
      'no-start': booleanFlag({ default: false, summary: 'Add it without having started it.' }),
      'no-sandbox': booleanFlag({
        default: false,
        summary: 'Run it without a sandbox, also where there is one.',
      }),
      'dry-run': booleanFlag({
        default: false,
        summary: 'Show the change, and neither start nor write anything.',
      }),
      ...REGISTRY_FLAGS,
      config,
      ...JSON_FLAG,
    },
    async run({ args, flags, words: [, more], passthrough, terminal, host }) {
      const { createUsageError } = await import('../add/add-target.ts')
      if (more !== undefined)
        throw createUsageError(`"${more}" is one thing too many; a command, or arguments, stand behind --`)
      const { runAdd } = await import('../add/add-command.ts')
      return runAdd({ what: args.what, command: passthrough, flags }, terminal, host)
    },
  }),

  remove: createCommand({
    summary: 'Take a server out of gateway.yaml.',
    description:
      'Shows the change and asks. Comments elsewhere are kept, and the file before is gateway.yaml.bak.',
    examples: ['gateway remove notes', 'gateway remove notes --dry-run'],
    args: { name: requiredArgument('Its name among the upstreams.') },
    flags: {
      yes,
      'dry-run': booleanFlag({ default: false, summary: 'Show the change and write nothing.' }),
      config,
      ...JSON_FLAG,
    },
    run: async ({ args, flags, terminal, host }) =>
      (await import('../add/add-command.ts')).runRemove(args.name, flags, terminal, host),
  }),
}
