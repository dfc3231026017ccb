import { string } from '@oclif/core/flags'
import { CONTROL_FLAGS, GatewayCommand } from '../../base-command.ts'

const { config, env, json } = CONTROL_FLAGS

export default class ServiceUninstall extends GatewayCommand {
  static override summary = 'Stop the service of a configuration, and remove it.'
  static override description = 'Exit codes: 0 it is gone, 4 there was none.'
  static override examples = ['gateway service uninstall']
  static override flags = {
    platform: string({
      options: ['linux', 'darwin', 'win32'],
      default: process.platform,
      defaultHelp: 'this system',
      summary: 'The system that the service is for.',
    }),
    ...{ config, env, json },
  }

  async run(): Promise<number> {
    const { flags } = await this.parse(ServiceUninstall)
    const { sayUninstall } = await import('../../service/say.ts')
    return sayUninstall(flags, this.terminal, process)
  }
}
