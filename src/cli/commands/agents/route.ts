import { string as argument } from '@oclif/core/args'
import { boolean } from '@oclif/core/flags'
import { AGENTS_FLAGS, TASK_FLAGS, taskOf } from '../../agents/agent-flags.ts'
import { GatewayCommand } from '../../base-command.ts'

export default class AgentsRoute extends GatewayCommand {
  static override summary = 'Show which coding agent would get a task, without giving it to anybody.'
  static override description =
    'Exit codes: 0 somebody would, 5 nobody can, 2 wrong usage, 3 invalid configuration.'
  static override examples = [
    'gateway agents route "review the login" --explain',
    'gateway agents route "find a leak" --capability review --json',
  ]
  static override args = {
    prompt: argument({ required: true, description: 'What is to be done.', ignoreStdin: true }),
  }
  static override flags = {
    ...TASK_FLAGS,
    explain: boolean({ char: 'x', summary: 'Say why, and why the others would not.' }),
    ...AGENTS_FLAGS,
  }

  async run(): Promise<number> {
    const { args, flags } = await this.parse(AgentsRoute)
    const { hasChosen, routeLines, withAgents } = await import('../../agents/agents.ts')
    const task = taskOf(args.prompt, flags)
    const decided = await withAgents(flags, this.terminal, { upstreams: false }, ask =>
      ask('agents.route', task),
    )
    if (flags.json) this.printJson(decided)
    else
      for (const line of routeLines(decided, flags.explain, this.terminal.out)) this.terminal.out.line(line)
    return hasChosen(decided) ? 0 : 5
  }
}
