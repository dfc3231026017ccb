import { string as argument } from '@oclif/core/args'
import { string } from '@oclif/core/flags'
import { CONFIG_FLAGS, GatewayCommand, JSON_FLAG } from '../../base-command.ts'

/** The registry that is asked, for commands that ask one. */
export const REGISTRY_FLAGS = {
  registry: string({
    helpValue: '<url|file>',
    summary:
      'The registry: URL of its API, or a file that it was saved in. Default: "registry" of gateway.yaml.',
  }),
}

export default class Search extends GatewayCommand {
  static override summary = 'Look for servers in a registry.'
  static override description =
    'All of the words must be in the name or the description. The last column but one says how it can be added.'
  static override examples = [
    'gateway search github issues --registry https://registry.example.com',
    'gateway search database --json',
  ]
  static override strict = false
  static override args = {
    words: argument({ required: true, description: 'A word; more may follow.', ignoreStdin: true }),
  }
  static override flags = { ...REGISTRY_FLAGS, config: CONFIG_FLAGS.config, ...JSON_FLAG }

  async run(): Promise<number> {
    const { argv, flags } = await this.parse(Search)
    const { search } = await import('../../add/say.ts')
    return search(argv.map(String), flags, this.terminal)
  }
}
