import { boolean } from '@oclif/core/flags'
import { CONTROL_FLAGS, GatewayCommand } from '../../base-command.ts'

export default class Status extends GatewayCommand {
  static override summary = 'Show whether the gateway of a configuration runs, and where its log is.'
  static override description = 'Exit codes: 0 it runs, 4 it does not.'
  static override examples = ['gateway status', 'gateway status --json']
  static override flags = {
    'to-attach': boolean({ hidden: true, summary: 'Say where clients attach, and nothing else.' }),
    ...CONTROL_FLAGS,
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Status)
    const { attachable, status, statusLines } = await import('../../background/up.ts')
    if (flags['to-attach']) return this.terminal.out.json(await attachable(flags, this.terminal))
    const now = await status(flags, this.terminal)
    if (flags.json) return this.terminal.out.json(now)
    for (const line of statusLines(now, this.terminal)) this.terminal.out.line(line)
  }
}
