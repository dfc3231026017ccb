import { string } from '@oclif/core/args'
import { CONFIG_FLAGS, GatewayCommand } from '../base-command.ts'

export default class Errors extends GatewayCommand {
  static override summary = 'Explain the errors of the gateway and of its plugins.'
  static override description =
    'With a configuration in reach, the plugins that it names are loaded for theirs. Exit codes: 0 shown, 2 no such error.'
  static override examples = ['gateway errors', 'gateway errors GW_UPSTREAM_START', 'gateway errors --json']
  static override args = { code: string({ description: 'This one only.', ignoreStdin: true }) }
  static override flags = CONFIG_FLAGS

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Errors)
    const { errorLines, knownErrors, oneError } = await import('../local/errors.ts')
    const all = await knownErrors(flags, this.terminal)
    const shown = args.code === undefined ? all : oneError(args.code, all)
    if (flags.json) return this.terminal.out.json(shown)
    for (const line of errorLines(shown, this.terminal.out)) this.terminal.out.line(line)
  }
}
