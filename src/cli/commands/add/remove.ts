import { string as argument } from '@oclif/core/args'
import { boolean } from '@oclif/core/flags'
import { CONFIG_FLAGS, GatewayCommand, JSON_FLAG } from '../../base-command.ts'

export default class Remove extends GatewayCommand {
  static override summary = 'Take a server out of gateway.yaml.'
  static override description =
    'Shows the change and asks. Comments elsewhere are kept, and the file before is gateway.yaml.bak.'
  static override examples = ['gateway remove notes', 'gateway remove notes --dry-run']
  static override args = {
    name: argument({ required: true, description: 'Its name among the upstreams.', ignoreStdin: true }),
  }
  static override flags = {
    yes: boolean({ char: 'y', default: false, summary: 'Write without asking.' }),
    'dry-run': boolean({ default: false, summary: 'Show the change and write nothing.' }),
    config: CONFIG_FLAGS.config,
    ...JSON_FLAG,
  }

  async run(): Promise<number> {
    const { args, flags } = await this.parse(Remove)
    const { remove } = await import('../../add/say.ts')
    return remove(args.name, flags, this.terminal, this.host)
  }
}
