import { string } from '@oclif/core/args'
import { CONTROL_FLAGS, GatewayCommand } from '../base-command.ts'

export default class Stop extends GatewayCommand {
  static override summary = 'Stop one upstream of a running gateway, until it is started by name.'
  static override description = 'Calls under way end with an error. gateway down stops the gateway itself.'
  static override examples = ['gateway stop files', 'gateway stop files --config gateway.yaml']
  static override args = {
    upstream: string({ required: true, description: 'Name of the upstream.', ignoreStdin: true }),
  }
  static override flags = CONTROL_FLAGS

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Stop)
    const { steer, steerLine } = await import('../remote/steer.ts')
    const status = await steer('stop', args.upstream, flags, this.terminal)
    if (flags.json) return this.terminal.out.json(status)
    this.terminal.out.line(steerLine(status, this.terminal))
  }
}
