import { string as text } from '@oclif/core/flags'
import { CONFIG_FLAGS, CONTROL_FLAGS, GatewayCommand } from '../base-command.ts'

export default class Plan extends GatewayCommand {
  static override summary = 'Say what would change with another configuration, without changing anything.'
  static override description = [
    'Compares with the gateway that runs, or with the present file where none runs: servers started, stopped and kept;',
    'tools added, removed, renamed and changed. Servers that are new are started for it. Exit codes: 0 nothing would change, 6 something would.',
  ].join(' ')
  static override examples = [
    'gateway plan -c new.yaml',
    'gateway plan -c new.yaml --against gateway.yaml --json',
  ]
  static override flags = {
    against: text({
      helpValue: '<file>',
      summary:
        'The configuration in force. Default: that of the gateway that runs with the new file, or the nearest gateway.yaml.',
    }),
    ...CONFIG_FLAGS,
    socket: CONTROL_FLAGS.socket,
  }

  async run(): Promise<number> {
    const { flags } = await this.parse(Plan)
    const { makePlan, planLines, WOULD_CHANGE } = await import('../local/plan.ts')
    const plan = await makePlan(flags, this.terminal)
    if (flags.json) this.terminal.out.json(plan)
    else for (const line of planLines(plan, this.terminal)) this.terminal.out.line(line)
    return plan.changes ? WOULD_CHANGE : 0
  }
}
