import { string } from '@oclif/core/args'
import { string as text } from '@oclif/core/flags'
import { ASK_FLAGS, GatewayCommand } from '../base-command.ts'

export default class Explain extends GatewayCommand {
  static override summary = 'Say what would come of a call of a tool, step by step, without calling it.'
  static override description = [
    'Asks the gateway that runs with the configuration, or one of its own where none runs: whose tool it is, which',
    'rules it meets, what is kept, which limits it counts on, and who would answer. Nothing is called or counted.',
    'Arguments are a JSON object in --args, or KEY=VALUE after the name of the tool, or both, as for gateway call.',
  ].join(' ')
  static override examples = [
    'gateway explain files__read_file path=README.md',
    'gateway explain files__write_file --as key:ci --args \'{"path":"/etc/passwd"}\'',
    'gateway explain web__search --client cursor --json',
  ]
  static override usage =
    'explain TOOL [KEY=VALUE...] [--args <json>] [--as <who>] [--scope <scope>...] [--client <name>] [--profile <name>] [-c <file>] [--env <name>] [--set <key=value>...] [--fresh] [--json]'
  static override strict = false
  static override args = {
    tool: string({ required: true, description: 'The name, as clients know it.', ignoreStdin: true }),
  }
  static override flags = {
    as: text({
      helpValue: '<who>',
      summary: 'The caller: key:<name>, token:<subject>, or anonymous, the default.',
    }),
    scope: text({
      helpValue: '<scope>',
      multiple: true,
      multipleNonGreedy: true,
      summary: 'A scope of the caller, in the place of those of its key.',
    }),
    client: text({ helpValue: '<name>', summary: 'The name of the client program, such as cursor.' }),
    profile: text({ helpValue: '<name>', summary: 'The profile that the client connects to.' }),
    args: text({
      helpValue: '<json>',
      summary: 'The arguments of the call as a JSON object; - reads them from stdin.',
    }),
    ...ASK_FLAGS,
  }

  async run(): Promise<void> {
    const { args, argv, flags } = await this.parse(Explain)
    const { explainTool, explanationLines } = await import('../local/explain.ts')
    const pairs = (argv as string[]).slice(1)
    const { readArguments } = await import('../local/call.ts')
    const isGiven = flags.args !== undefined || pairs.length > 0
    const given = isGiven
      ? await readArguments({ json: flags.args, pairs, stdin: this.host.stdin })
      : undefined
    const explanation = await explainTool(args.tool, given, flags, this.terminal)
    if (flags.json) return this.terminal.out.json(explanation)
    for (const line of explanationLines(explanation, this.terminal)) this.terminal.out.line(line)
  }
}
