import { Flags } from '@oclif/core'
import { CONFIG_FLAGS, GatewayCommand } from '../base-command.ts'

export default class Validate extends GatewayCommand {
  static override summary = 'Check a configuration: all that serve does, short of starting anything.'
  static override description =
    'With --online each server is started, greeted and asked for its lists, and nothing else; the gateway that runs is left alone. ' +
    'Exit codes: 0 valid, 2 wrong usage, 3 invalid configuration, 4 a plugin failed to set up, or a server did not answer.'
  static override examples = [
    'gateway validate',
    'gateway validate --config gateway.yaml --env production --json',
    'gateway validate --online --within 30s',
    'gateway validate --set listeners.main.port=9000',
  ]
  static override flags = {
    ...CONFIG_FLAGS,
    exec: Flags.boolean({ summary: 'Run the commands of ${exec:…} and ${keyring:…} too.' }),
    online: Flags.boolean({
      summary:
        'Start the servers too, and say what is there: handshakes, names and schemas for each client, tokens.',
    }),
    within: Flags.string({
      summary: 'Time that servers have to start, with --online; 60s.',
      helpValue: '<duration>',
    }),
  }

  async run(): Promise<number> {
    const { flags } = await this.parse(Validate)
    const { sayValidation } = await import('../local/validate.ts')
    return sayValidation(flags, this.terminal)
  }
}
