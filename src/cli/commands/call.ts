import { string as argument } from '@oclif/core/args'
import { string } from '@oclif/core/flags'
import { ASK_FLAGS, GatewayCommand } from '../base-command.ts'

export default class Call extends GatewayCommand {
  static override summary = 'Call one tool, as a client would.'
  static override description = [
    'Goes through the gateway that runs with the configuration, or one of its own where none runs.',
    'Arguments are a JSON object in --args, or KEY=VALUE after the name of the tool, or both.',
    'Exit codes: 0 the tool answered, 2 wrong usage or no such tool, 3 invalid configuration,',
    '4 its server did not start, 5 the tool or its server said no.',
  ].join(' ')
  static override usage =
    'call TOOL [KEY=VALUE...] [--args <json>] [-c <file>] [--env <name>] [--set <key=value>...] [--fresh] [--socket <file>] [--json]'
  static override examples = [
    'gateway call files__read_file path=README.md',
    `gateway call memory__search_nodes --args '{"query": "gateway"}'`,
    'gateway call web__search --args - --json < arguments.json',
  ]
  static override strict = false
  static override args = {
    tool: argument({
      required: true,
      description: 'Name of the tool, as clients see it.',
      ignoreStdin: true,
    }),
  }
  static override flags = {
    args: string({
      char: 'a',
      helpValue: '<json>',
      summary: 'Its arguments as a JSON object; - reads them from stdin.',
    }),
    ...ASK_FLAGS,
  }

  async run(): Promise<number> {
    const { args, argv, flags } = await this.parse(Call)
    const { callTool } = await import('../local/call.ts')
    const { readArguments } = await import('../local/call.ts')
    const pairs = (argv as string[]).slice(1)
    const given = await readArguments({ json: flags.args, pairs, stdin: this.host.stdin })
    const result = await callTool(flags, args.tool, given, this.terminal)
    const { exitCode, resultLines } = await import('../local/call.ts')
    if (flags.json) this.terminal.out.json(result)
    else for (const line of resultLines(result, this.terminal.out)) this.terminal.out.line(line)
    return exitCode(result)
  }
}
