import { boolean } from '@oclif/core/flags'
import { ASK_FLAGS, GatewayCommand } from '../base-command.ts'

export default class Doctor extends GatewayCommand {
  static override summary =
    'Look for what is wrong with a gateway, its machine and its clients, and mend what is safe.'
  static override description = [
    'Looks at the configuration, programs, variables, ports, modes of files, what dead gateways have left, the settings',
    'of clients, and the gateway that runs. Exit codes: 0 nothing worse than a note, 1 warnings, 6 errors,',
    '2 wrong usage.',
  ].join(' ')
  static override examples = [
    'gateway doctor',
    'gateway doctor --fix --dry-run',
    'gateway doctor --fix',
    'gateway doctor --online --json',
  ]
  static override flags = {
    online: boolean({
      summary: 'Ask each server what it offers, too; where no gateway runs, that starts them.',
    }),
    fix: boolean({
      summary:
        'Mend what is safe: modes, what dead processes left, missing directories, entries of clients that lead nowhere.',
    }),
    'dry-run': boolean({ dependsOn: ['fix'], summary: 'Say what --fix would do.' }),
    ...ASK_FLAGS,
  }

  async run(): Promise<number> {
    const { flags } = await this.parse(Doctor)
    const { sayDoctor } = await import('../doctor/doctor.ts')
    return sayDoctor(flags, this.terminal, this.host)
  }
}
