import { string } from '@oclif/core/args'
import { boolean } from '@oclif/core/flags'
import { ASK_FLAGS, GatewayCommand } from '../base-command.ts'

export default class Tools extends GatewayCommand {
  static override summary = 'List the tools that clients see.'
  static override description =
    'Asks the gateway that runs with the configuration, or one of its own where none runs.'
  static override examples = [
    'gateway tools',
    "gateway tools 'files__*'",
    'gateway tools search --json',
    'gateway tools --tokens',
  ]
  static override args = {
    pattern: string({ description: 'A glob, or a part of the name.', ignoreStdin: true }),
  }
  static override flags = {
    ...ASK_FLAGS,
    tokens: boolean({
      summary: 'Estimate what each tool costs the context of a model, the dearest first, with sums.',
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Tools)
    const { costLines, costsOf, listTools, toolLines } = await import('../local/tools.ts')
    const tools = await listTools(flags, args.pattern, this.terminal)
    if (flags.tokens) {
      const costs = costsOf(tools)
      if (flags.json) return this.terminal.out.json(costs)
      for (const line of costLines(costs, this.terminal)) this.terminal.out.line(line)
      return
    }
    if (flags.json) return this.terminal.out.json({ tools })
    for (const line of toolLines(tools, this.terminal)) this.terminal.out.line(line)
  }
}
