import { CONFIG_FLAGS, GatewayCommand } from '../gateway-command.ts'

export default class Validate extends GatewayCommand {
  static override summary = 'Check a configuration: all that serve does, short of starting anything.'
  static override description =
    'Exit codes: 0 valid, 2 wrong usage, 3 invalid configuration, 4 a plugin failed to set up.'
  static override examples = [
    'gateway validate',
    'gateway validate --config gateway.yaml --env production --json',
    'gateway validate --set listeners.main.port=9000',
  ]
  static override flags = CONFIG_FLAGS

  async run(): Promise<void> {
    const { flags } = await this.parse(Validate)
    const { validate, validationLine, warningLines } = await import('../validate.ts')
    const validation = await validate(flags, this.terminal)
    if (flags.json) return this.printJson(validation)
    for (const line of warningLines(validation.warnings, this.terminal)) this.terminal.err.line(line)
    this.terminal.out.line(validationLine(validation, this.terminal))
  }
}
