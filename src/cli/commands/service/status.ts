import { string } from '@oclif/core/flags'
import { CONTROL_FLAGS, GatewayCommand } from '../../base-command.ts'

const { config, env, json } = CONTROL_FLAGS

export default class ServiceStatus extends GatewayCommand {
  static override summary = 'Show whether the service of a configuration is installed and runs.'
  static override description = 'Exit codes: 0 it runs, 4 it does not.'
  static override examples = ['gateway service status']
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
    const { flags } = await this.parse(ServiceStatus)
    const { sayServiceStatus } = await import('../../service/say.ts')
    return sayServiceStatus(flags, this.terminal, process)
  }
}
