import { string as text } from '@oclif/core/args'
import { boolean } from '@oclif/core/flags'
import { GatewayCommand, JSON_FLAG } from '../../base-command.ts'

export default class Disconnect extends GatewayCommand {
  static override summary = 'Take back what gateway connect has written.'
  static override description = [
    'Settings that nobody has changed since then are as they were, byte for byte; from others the entry alone is removed.',
    'An entry that was changed is left. Exit codes: 0 it is gone, 1 something was left.',
  ].join(' ')
  static override examples = [
    'gateway disconnect cursor',
    'gateway disconnect --all',
    'gateway disconnect --all --dry-run',
  ]
  static override strict = false
  static override args = { client: text({ description: 'Names of clients.', ignoreStdin: true }) }
  static override flags = {
    all: boolean({ summary: 'Every client that was connected.' }),
    'dry-run': boolean({ summary: 'Show what would change.' }),
    ...JSON_FLAG,
  }

  async run(): Promise<number> {
    const { argv, flags } = await this.parse(Disconnect)
    const { sayDisconnect } = await import('../../clients/say.ts')
    return sayDisconnect(argv.map(String), flags, this.terminal)
  }
}
