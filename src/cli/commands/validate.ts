import { Flags } from '@oclif/core'
import { CONFIG_FLAGS, GatewayCommand } from '../base-command.ts'

export default class Validate extends GatewayCommand {
  static override summary = 'Check a configuration: all that serve does, short of starting anything.'
  static override description =
    'Exit codes: 0 valid, 2 wrong usage, 3 invalid configuration, 4 a plugin failed to set up.'
  static override examples = [
    'gateway validate',
    'gateway validate --config gateway.yaml --env production --json',
    'gateway validate --set listeners.main.port=9000',
  ]
  static override flags = {
    ...CONFIG_FLAGS,
    exec: Flags.boolean({ summary: 'Run the commands of ${exec:…} and ${keyring:…} too.' }),
  }

  async run(): Promise<number> {
    const { flags } = await this.parse(Validate)
    const { sayValidation } = await import('../local/validate.ts')
    return sayValidation(flags, this.terminal)
  }
}
