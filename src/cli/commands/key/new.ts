import { string } from '@oclif/core/flags'
import { GatewayCommand, JSON_FLAG } from '../../base-command.ts'

export default class KeyNew extends GatewayCommand {
  static override summary = 'Make an API key: for its holder once, for gateway.yaml as a hash.'
  static override examples = [
    'gateway key new --name ci',
    'gateway key new --name ci --scope tools:read --json',
  ]
  static override flags = {
    name: string({ required: true, helpValue: '<name>', summary: 'What the key is called.' }),
    scope: string({
      multiple: true,
      helpValue: '<scope>',
      summary: 'What it may do; may be given several times.',
    }),
    ...JSON_FLAG,
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(KeyNew)
    const { keyLines, makeKey } = await import('../../scaffold/new-key.ts')
    const made = makeKey(flags.name, flags.scope ?? [])
    if (flags.json) return this.terminal.out.json(made)
    for (const line of keyLines(made, this.terminal)) this.terminal.out.line(line)
  }
}
