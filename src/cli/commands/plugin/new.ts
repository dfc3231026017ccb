import { string as argument } from '@oclif/core/args'
import { boolean, string } from '@oclif/core/flags'
import { GatewayCommand, JSON_FLAG } from '../../base-command.ts'

export default class PluginNew extends GatewayCommand {
  static override summary = 'Write a new plugin with its schema and a test that passes.'
  static override examples = [
    'gateway plugin new redact',
    'gateway plugin new audit-trail --dir packages/plugins',
  ]
  static override args = {
    name: argument({
      required: true,
      description: 'Lower-case letters, digits and dashes.',
      ignoreStdin: true,
    }),
  }
  static override flags = {
    dir: string({ default: 'plugins', helpValue: '<directory>', summary: 'Where to write it.' }),
    force: boolean({ summary: 'Overwrite files that exist.' }),
    ...JSON_FLAG,
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(PluginNew)
    const { newPlugin, nextSteps } = await import('../../scaffold/new-plugin.ts')
    const { name, version, root } = this.config
    const written = await newPlugin({
      ...flags,
      name: args.name,
      cwd: this.terminal.cwd,
      own: { name, version, root },
    })
    if (flags.json) return this.terminal.out.json(written)
    for (const line of nextSteps(written, this.terminal)) this.terminal.out.line(line)
  }
}
