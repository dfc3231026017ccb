import { GatewayCommand } from '../../base-command.ts'
import { SERVICE_FLAGS } from './flags.ts'

export default class ServiceStatus extends GatewayCommand {
  static override summary = 'Show whether the service of a configuration is installed and runs.'
  static override description = 'Exit codes: 0 it runs, 4 it does not.'
  static override examples = ['gateway service status']
  static override flags = SERVICE_FLAGS

  async run(): Promise<number> {
    const { flags } = await this.parse(ServiceStatus)
    const { sayServiceStatus } = await import('../../service/say.ts')
    return sayServiceStatus(flags, this.terminal, this.host)
  }
}
