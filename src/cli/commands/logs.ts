import { string } from '@oclif/core/args'
import { boolean, integer } from '@oclif/core/flags'
import { CONTROL_FLAGS, GatewayCommand } from '../base-command.ts'

export default class Logs extends GatewayCommand {
  static override summary = 'Show what an upstream of a running gateway wrote on stderr.'
  static override examples = [
    'gateway logs files',
    'gateway logs files --follow',
    'gateway logs files --lines 20',
  ]
  static override args = {
    upstream: string({ required: true, description: 'Name of the upstream.', ignoreStdin: true }),
  }
  static override flags = {
    follow: boolean({ char: 'f', summary: 'Go on with each new line, through restarts and reloads.' }),
    lines: integer({
      char: 'n',
      default: 100,
      min: 0,
      max: 10_000,
      helpValue: '<number>',
      summary: 'How many of the last lines.',
    }),
    ...CONTROL_FLAGS,
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Logs)
    const { followLines, logText, recentLines } = await import('../remote/steer.ts')
    if (flags.follow) return followLines(args.upstream, flags, this.terminal)
    const lines = await recentLines(args.upstream, flags, this.terminal)
    if (flags.json) return this.terminal.out.json({ lines })
    for (const line of lines) this.terminal.out.line(logText(line, this.terminal))
  }
}
