import { string } from '@oclif/core/args'
import { CONTROL_FLAGS, GatewayCommand } from '../base-command.ts'

export default class Start extends GatewayCommand {
  static override summary = 'Start one upstream of a running gateway.'
  static override description =
    'Exit codes: 0 it started, 2 no such upstream, 4 it did not start, or no gateway runs.'
  static override examples = ['gateway start files', 'gateway start files --config gateway.yaml']
  static override args = {
    upstream: string({ required: true, description: 'Name of the upstream.', ignoreStdin: true }),
  }
  static override flags = CONTROL_FLAGS

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Start)
    const { steer, steerLine } = await import('../remote/steer.ts')
    const status = await steer('start', args.upstream, flags, this.terminal)
    if (flags.json) return this.terminal.out.json(status)
    this.terminal.out.line(steerLine(status, this.terminal))
  }
}
