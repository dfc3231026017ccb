import { boolean } from '@oclif/core/flags'
import { CONFIG_FLAGS, GatewayCommand } from '../../base-command.ts'

export default class Up extends GatewayCommand {
  static override summary = 'Start the gateway of a configuration in the background.'
  static override description = [
    'There is one for each configuration of a user; where it runs, nothing is done. All clients that attach share it and',
    'its servers. It opens the listeners of the configuration too, and writes a log.',
  ].join(' ')
  static override examples = ['gateway up', 'gateway up --config gateway.yaml --env production']
  static override flags = {
    'until-idle': boolean({ hidden: true, summary: 'Stop when no client has been there for shutdown.idle.' }),
    ...CONFIG_FLAGS,
  }

  async run(): Promise<number> {
    const { flags } = await this.parse(Up)
    const { sayUp } = await import('../../background/up.ts')
    return sayUp(flags, this.terminal, this.host)
  }
}
