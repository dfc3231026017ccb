import { GatewayCommand } from '../../base-command.ts'
import { SERVICE_FLAGS } from './flags.ts'

export default class ServiceUninstall extends GatewayCommand {
  static override summary = 'Stop the service of a configuration, and remove it.'
  static override description = 'Exit codes: 0 it is gone, 4 there was none.'
  static override examples = ['gateway service uninstall']
  static override flags = SERVICE_FLAGS

  async run(): Promise<number> {
    const { flags } = await this.parse(ServiceUninstall)
    const { sayUninstall } = await import('../../service/say.ts')
    return sayUninstall(flags, this.terminal, this.host)
  }
}
