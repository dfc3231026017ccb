import { string } from '@oclif/core/args'
import { ASK_FLAGS, GatewayCommand } from '../base-command.ts'

export default class Tools extends GatewayCommand {
  static override summary = 'List the tools that clients see.'
  static override description =
    'Asks the gateway that runs with the configuration, or one of its own where none runs.'
  static override examples = ['gateway tools', "gateway tools 'files__*'", 'gateway tools search --json']
  static override args = {
    pattern: string({ description: 'A glob, or a part of the name.', ignoreStdin: true }),
  }
  static override flags = ASK_FLAGS

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Tools)
    const { listTools, toolLines } = await import('../local/tools.ts')
    const tools = await listTools(flags, args.pattern, this.terminal)
    if (flags.json) return this.printJson({ tools })
    for (const line of toolLines(tools, this.terminal)) this.terminal.out.line(line)
  }
}
