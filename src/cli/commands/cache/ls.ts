import { string } from '@oclif/core/flags'
import { CONTROL_FLAGS, GatewayCommand } from '../../base-command.ts'

export default class CacheLs extends GatewayCommand {
  static override summary = 'List what a running gateway has in its cache.'
  static override examples = ['gateway cache ls', 'gateway cache ls --upstream files --json']
  static override flags = {
    upstream: string({ helpValue: '<name>', summary: 'Of this upstream only.' }),
    ...CONTROL_FLAGS,
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(CacheLs)
    const { cacheLines, listCache } = await import('../../remote/cache.ts')
    const listed = await listCache(flags, this.terminal)
    if (flags.json) return this.printJson(listed)
    for (const line of cacheLines(listed, this.terminal.out)) this.terminal.out.line(line)
  }
}
