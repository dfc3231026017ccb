import { AGENTS_FLAGS } from '../../agents/agent-flags.ts'
import { GatewayCommand } from '../../base-command.ts'

export default class AgentsProbe extends GatewayCommand {
  static override summary = 'Start coding agents far enough to hear what they can do.'
  static override description =
    'Without names: all of them. Exit codes: 0 all can be used, 5 one cannot, 2 wrong usage, 3 invalid configuration.'
  static override usage = 'agents probe [AGENT...] [-c <file>] [--env <name>] [--socket <file>] [--json]'
  static override examples = ['gateway agents probe', 'gateway agents probe gemini --json']
  static override strict = false
  static override flags = { ...AGENTS_FLAGS }

  async run(): Promise<number> {
    const { flags, argv } = await this.parse(AgentsProbe)
    const { agentLines, areReady, withAgents } = await import('../../agents/agents.ts')
    const agents = argv as string[]
    const params = agents.length === 0 ? {} : { agents }
    const probed = await withAgents(flags, this.terminal, { upstreams: false }, ask =>
      ask('agents.probe', params),
    )
    if (flags.json) this.printJson(probed)
    else for (const line of agentLines(probed, this.terminal.out)) this.terminal.out.line(line)
    return areReady(probed) ? 0 : 5
  }
}
