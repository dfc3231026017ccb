import { string } from '@oclif/core/flags'
import { CONFIG_FLAGS, GatewayCommand } from '../../base-command.ts'

const { config, env, json } = CONFIG_FLAGS

export default class Bundle extends GatewayCommand {
  static override summary = 'Write a .mcpb that connects Claude Desktop to the gateway of a configuration.'
  static override description = [
    'The bundle holds the relay of gateway attach, so the application shares its servers with all other clients of this',
    'machine; where no gateway runs, one is started. It names files of this machine, and holds no secrets.',
  ].join(' ')
  static override examples = [
    'gateway bundle',
    'gateway bundle --config team/gateway.yaml --name team --profile readers',
  ]
  static override flags = {
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
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Bundle)
    const { sayBundle } = await import('../../bundle/say.ts')
    return sayBundle(flags, this.terminal, this.host)
  }
}
