import { string } from '@oclif/core/flags'
import { createCommand, CONFIG_FLAGS, JSON_FLAG, optionalArgument, booleanFlag } from '../command.ts'

const { config, env, json } = CONFIG_FLAGS
const args = { client: optionalArgument('Client names.') }

export const CLIENT_COMMANDS = {
  connect: createCommand({
    summary: 'Connect editors, agents and desktop apps to the gateway.',
    description: [
      'Without a client, lists those on this machine. Shows the change to the settings file and asks before writing. Comments,',
      'other entries and file modes are preserved. Undo with gateway disconnect.',
      'Exit codes: 0 written or already connected, 1 some settings were not changed.',
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
      export: booleanFlag({ summary: 'Print install links and settings snippets without writing them.' }),
      ...{ config, env, json },
    },
    async run({ positionals, flags, terminal, host }) {
      const { runConnect } = await import('../clients/connect-command.ts')
      const scope = flags.scope === 'project' ? 'project' : 'user'
      return runConnect(positionals, { ...flags, scope }, terminal, host)
    },
  }),

  disconnect: createCommand({
    summary: 'Undo gateway connect.',
    description: [
      'Restores settings files byte for byte if they were not changed since; otherwise removes only the entry.',
      'A changed entry is kept. Exit codes: 0 removed, 1 some entries were kept.',
    ],
    examples: ['gateway disconnect cursor', 'gateway disconnect --all', 'gateway disconnect --all --dry-run'],
    takesRest: true,
    args,
    flags: {
      all: booleanFlag({ summary: 'Disconnect all connected clients.' }),
      'dry-run': booleanFlag({ summary: 'Print the changes without writing them.' }),
      ...JSON_FLAG,
    },
    run: async ({ positionals, flags, terminal }) =>
      (await import('../clients/connect-command.ts')).runDisconnect(positionals, flags, terminal),
  }),
}
