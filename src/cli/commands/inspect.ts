import { boolean } from '@oclif/core/flags'
import { ASK_FLAGS, GatewayCommand } from '../base-command.ts'

export default class Inspect extends GatewayCommand {
  static override summary = 'Show the effective configuration, the graph and who owns which name.'
  static override description = [
    'Asks the gateway that runs with the configuration. Where none runs it starts the upstreams,',
    'but no listener, and waits until each is ready or has failed.',
    'Secrets are not shown.',
  ].join(' ')
  static override examples = [
    'gateway inspect',
    'gateway inspect --offline --origins',
    'gateway inspect --json',
  ]
  static override flags = {
    live: boolean({ allowNo: true, default: true, summary: 'Start the upstreams and show what they offer.' }),
    offline: boolean({
      exclusive: ['live'],
      summary: 'Start nothing: configuration, plugins and hooks only.',
    }),
    origins: boolean({ summary: 'Say of each value where it comes from.' }),
    ...ASK_FLAGS,
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Inspect)
    const { inspect, inspectionLines } = await import('../local/inspect.ts')
    const inspection = await inspect(flags, flags.live && !flags.offline, this.terminal)
    if (flags.json) return this.terminal.out.json(inspection)
    for (const line of inspectionLines(inspection, flags.origins, this.terminal)) this.terminal.out.line(line)
  }
}
