import { boolean } from '@oclif/core/flags'
import { GatewayCommand } from '../../base-command.ts'
import { SERVICE_FLAGS } from './flags.ts'

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
    ...SERVICE_FLAGS,
  }

  async run(): Promise<number> {
    const { flags } = await this.parse(ServiceInstall)
    const { sayInstall } = await import('../../service/say.ts')
    return sayInstall(flags, this.terminal, this.host)
  }
}
