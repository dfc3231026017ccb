import { AGENTS_FLAGS } from '../../agents/agent-flags.ts'
import { GatewayCommand } from '../../base-command.ts'

export default class AgentsList extends GatewayCommand {
  static override summary = 'List the coding agents: health, load, and what is left of their limits.'
  static override examples = ['gateway agents list', 'gateway agents list --json']
  static override flags = { ...AGENTS_FLAGS }

  async run(): Promise<void> {
    const { flags } = await this.parse(AgentsList)
    const { agentLines, withAgents } = await import('../../agents/agents.ts')
    const listed = await withAgents(flags, this.terminal, { upstreams: false }, ask => ask('agents.list'))
    if (flags.json) return this.printJson(listed)
    for (const line of agentLines(listed, this.terminal.out)) this.terminal.out.line(line)
  }
}
