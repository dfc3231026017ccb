import { boolean, string } from '@oclif/core/flags'
import { CONTROL_FLAGS, GatewayCommand } from '../../base-command.ts'

export default class CachePurge extends GatewayCommand {
  static override summary = 'Take entries out of the cache of a running gateway.'
  static override description = 'Takes out what fits all that is given; --all takes out everything.'
  static override examples = [
    'gateway cache purge --upstream files',
    'gateway cache purge --name files__read_file',
    'gateway cache purge --all',
  ]
  static override flags = {
    upstream: string({ helpValue: '<name>', summary: 'Of this upstream.' }),
    name: string({ helpValue: '<name>', summary: 'Of this tool, prompt or resource.' }),
    tag: string({ helpValue: '<tag>', summary: 'With this tag.' }),
    all: boolean({ exclusive: ['upstream', 'name', 'tag'], summary: 'Everything.' }),
    ...CONTROL_FLAGS,
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(CachePurge)
    const { purgeCache, purgeLine } = await import('../../remote/cache.ts')
    const purged = await purgeCache(flags, this.terminal)
    if (flags.json) return this.printJson(purged)
    this.terminal.out.line(purgeLine(purged))
  }
}
