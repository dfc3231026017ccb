import { boolean, string } from '@oclif/core/flags'
import { CONTROL_FLAGS, GatewayCommand } from '../../base-command.ts'

const { config, env, json } = CONTROL_FLAGS

export default class ServiceInstall extends GatewayCommand {
  static override summary =
    'Run the gateway of a configuration from login on: systemd, launchd, or the Task Scheduler.'
  static override description =
    'Writes the file of the service and has the system take it. It has the PATH of the shell that this is called from, and no secrets of its environment. Exit codes: 0 it runs, 1 the file was written and the system said no.'
  static override examples = [
    'gateway service install',
    'gateway service install --dry-run',
    'gateway service install --platform darwin --dry-run',
  ]
  static override flags = {
    'dry-run': boolean({ summary: 'Print the file, and write nothing.' }),
    platform: string({
      options: ['linux', 'darwin', 'win32'],
      default: process.platform,
      defaultHelp: 'this system',
      summary: 'The system that the service is for.',
    }),
    ...{ config, env, json },
  }

  async run(): Promise<number> {
    const { flags } = await this.parse(ServiceInstall)
    const { sayInstall } = await import('../../service/say.ts')
    return sayInstall(flags, this.terminal, process)
  }
}
