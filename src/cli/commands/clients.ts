import { string } from '@oclif/core/flags'
import { createCommand, CONFIG_FLAGS, JSON_FLAG, optionalArgument, booleanFlag } from '../command.ts'

const { config, env, json } = CONFIG_FLAGS
const args = { client: optionalArgument('Names of clients.') }

/** Commands that write the gateway into the settings of clients. */
export const CLIENT_COMMANDS = {
  connect: createCommand({
    summary: 'Write the gateway into the settings of clients: editors, agents, desktops.',
    description: [
      'Without a client it lists those of this machine. What would change is shown first, and asked about. Comments, other',
      'entries and the mode of a file stay; an entry of somebody else is never touched. gateway disconnect takes it back.',
      'Exit codes: 0 written, or there already; 1 some settings were left as they are.',
    ],
    examples: [
      'gateway connect',
      'gateway connect cursor claude-code',
      'gateway connect --all --yes',
      'gateway connect vscode --scope project --dry-run',
      'gateway connect cursor --http http://127.0.0.1:8080/mcp',
      'gateway connect cursor --export',
    ],
    takesRest: true,
    args,
    flags: {
      yes: booleanFlag({ char: 'y', summary: 'Do not ask.' }),
      all: booleanFlag({ summary: 'Every client of this machine.' }),
      name: string({ default: 'gateway', helpValue: '<name>', summary: 'Name of the entry.' }),
      scope: string({
        options: ['user', 'project'],
        default: 'user',
        summary: "The user's settings, or the project's.",
      }),
      http: string({ helpValue: '<url>', summary: 'Connect to this URL, in place of gateway attach.' }),
      'dry-run': booleanFlag({ summary: 'Show what would change.' }),
      export: booleanFlag({ summary: 'Print links and snippets, and write nothing.' }),
      ...{ config, env, json },
    },
    async run({ words, flags, terminal, host }) {
      const { runConnect } = await import('../clients/connect-command.ts')
      const scope = flags.scope === 'project' ? 'project' : 'user'
      return runConnect(words, { ...flags, scope }, terminal, host)
    },
  }),

  disconnect: createCommand({
    summary: 'Take back what gateway connect has written.',
    description: [
      'Settings that nobody has changed since then are as they were, byte for byte; from others the entry alone is removed.',
      'An entry that was changed is left. Exit codes: 0 it is gone, 1 something was left.',
    ],
    examples: ['gateway disconnect cursor', 'gateway disconnect --all', 'gateway disconnect --all --dry-run'],
    takesRest: true,
    args,
    flags: {
      all: booleanFlag({ summary: 'Every client that was connected.' }),
      'dry-run': booleanFlag({ summary: 'Show what would change.' }),
      ...JSON_FLAG,
    },
    run: async ({ words, flags, terminal }) =>
      (await import('../clients/connect-command.ts')).runDisconnect(words, flags, terminal),
  }),

  bundle: createCommand({
    summary: 'Write a .mcpb that connects Claude Desktop to the gateway of a configuration.',
    description: [
      'The bundle holds the relay of gateway attach, so the application shares its servers with all other clients of this',
      'machine; where no gateway runs, one is started. It names files of this machine, and holds no secrets.',
    ],
    examples: ['gateway bundle', 'gateway bundle --config team/gateway.yaml --name team --profile readers'],
    flags: {
      output: string({
        char: 'o',
        helpValue: '<file>',
        summary: 'File to write, in place of an earlier one. Default: <name>.mcpb here.',
      }),
      name: string({
        default: 'gateway',
        helpValue: '<name>',
        summary: 'Name of the extension; another one for each configuration.',
      }),
      profile: string({ helpValue: '<name>', summary: 'The profile that the application gets.' }),
      ...{ config, env, json },
    },
    run: async ({ flags, terminal, host }) =>
      (await import('../bundle/bundle.ts')).runBundle(flags, terminal, host),
  }),
}
