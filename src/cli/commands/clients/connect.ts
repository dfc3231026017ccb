import { string as text } from '@oclif/core/args'
import { boolean, string } from '@oclif/core/flags'
import { CONFIG_FLAGS, GatewayCommand } from '../../base-command.ts'

const { config, env, json } = CONFIG_FLAGS

export default class Connect extends GatewayCommand {
  static override summary = 'Write the gateway into the settings of clients: editors, agents, desktops.'
  static override description = [
    'Without a client it lists those of this machine. What would change is shown first, and asked about. Comments, other',
    'entries and the mode of a file stay; an entry of somebody else is never touched. gateway disconnect takes it back.',
    'Exit codes: 0 written, or there already; 1 some settings were left as they are.',
  ].join(' ')
  static override examples = [
    'gateway connect',
    'gateway connect cursor claude-code',
    'gateway connect --all --yes',
    'gateway connect vscode --scope project --dry-run',
    'gateway connect cursor --http http://127.0.0.1:8080/mcp',
    'gateway connect cursor --export',
  ]
  static override strict = false
  static override args = { client: text({ description: 'Names of clients.', ignoreStdin: true }) }
  static override flags = {
    yes: boolean({ char: 'y', summary: 'Do not ask.' }),
    all: boolean({ summary: 'Every client of this machine.' }),
    name: string({ default: 'gateway', helpValue: '<name>', summary: 'Name of the entry.' }),
    scope: string({
      options: ['user', 'project'],
      default: 'user',
      summary: "The user's settings, or the project's.",
    }),
    http: string({ helpValue: '<url>', summary: 'Connect to this URL, in place of gateway attach.' }),
    'dry-run': boolean({ summary: 'Show what would change.' }),
    export: boolean({ summary: 'Print links and snippets, and write nothing.' }),
    ...{ config, env, json },
  }

  async run(): Promise<number> {
    const { argv, flags } = await this.parse(Connect)
    const { sayConnect } = await import('../../clients/say.ts')
    const scope = flags.scope === 'project' ? 'project' : 'user'
    return sayConnect(argv.map(String), { ...flags, scope }, this.terminal, this.host)
  }
}
