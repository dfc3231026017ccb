import { string } from '@oclif/core/args'
import { CONTROL_FLAGS, GatewayCommand } from '../base-command.ts'

export default class Restart extends GatewayCommand {
  static override summary = 'Stop one upstream of a running gateway and start it again.'
  static override description =
    'Exit codes: 0 it started, 2 no such upstream, 4 it did not start, or no gateway runs.'
  static override examples = ['gateway restart files', 'gateway restart files --config gateway.yaml']
  static override args = {
    upstream: string({ required: true, description: 'Name of the upstream.', ignoreStdin: true }),
  }
  static override flags = CONTROL_FLAGS

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Restart)
    const { steer, steerLine } = await import('../remote/steer.ts')
    const status = await steer('restart', args.upstream, flags, this.terminal)
    if (flags.json) return this.terminal.out.json(status)
    this.terminal.out.line(steerLine(status, this.terminal))
  }
}
