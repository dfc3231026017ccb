import { string as argument } from '@oclif/core/args'
import { string } from '@oclif/core/flags'
import { AGENTS_FLAGS, TASK_FLAGS, taskOf } from '../../agents/agent-flags.ts'
import { GatewayCommand } from '../../base-command.ts'

export default class AgentsRun extends GatewayCommand {
  static override summary = 'Give one task to a coding agent and wait for it.'
  static override description = [
    'What happens goes to stderr, what the agent says to stdout. Ctrl-C cancels the task. What the agent asks is answered',
    'at the terminal; where there is none, it is declined.',
    'Exit codes: 0 done, 5 it came to no good end, 2 wrong usage, 3 invalid configuration.',
  ].join(' ')
  static override examples = [
    'gateway agents run "review the login"',
    'gateway agents run "fix the tests" --agent codex --isolation worktree --json',
  ]
  static override args = {
    prompt: argument({ required: true, description: 'What is to be done.', ignoreStdin: true }),
  }
  static override flags = {
    ...TASK_FLAGS,
    isolation: string({
      options: ['none', 'worktree'],
      summary: 'Where it works: in place, or in a git worktree.',
    }),
    ...AGENTS_FLAGS,
  }

  async run(): Promise<number> {
    const { args, flags } = await this.parse(AgentsRun)
    const { withAgents } = await import('../../agents/agents.ts')
    const { runAgent, taskExitCode, taskLines } = await import('../../agents/run-agent.ts')
    const { isolation } = flags
    const given = { ...taskOf(args.prompt, flags), ...(isolation === undefined ? {} : { isolation }) }
    const task = await withAgents(flags, this.terminal, { upstreams: true }, ask =>
      runAgent(ask, given, this.terminal, process),
    )
    const { text, facts } = taskLines(task, this.terminal)
    if (flags.json) this.printJson(task)
    else {
      if (text !== '') this.terminal.out.line(text)
      for (const line of facts) this.terminal.err.line(line)
    }
    return taskExitCode(task)
  }
}
