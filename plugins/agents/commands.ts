import {
  gatewayError,
  GatewayError,
  type AskGateway,
  type CommandCall,
  type CommandFlag,
  type JsonObject,
  type PluginCommands,
} from '../../src/plugin.ts'

/** Exit code where an agent, or the work, came to no good end. */
const EXIT_FAILED = 5

/** Flags of a task that decide who gets it. */
const TASK_FLAGS: Readonly<Record<string, CommandFlag>> = {
  agent: { char: 'a', value: '<id>', summary: 'This agent.' },
  type: { value: '<type>', summary: 'Type of the task; rules may choose by it.' },
  capability: {
    value: '<name>',
    multiple: true,
    summary: 'What the agent must be able to do; may be given again.',
  },
  cwd: { value: '<directory>', summary: 'Where the task works. Default: the first of agents.roots.' },
}

const PROMPT = { prompt: { required: true, description: 'What is to be done.' } }

export const commands: PluginCommands = {
  'agents list': {
    summary: 'List the coding agents: health and load.',
    examples: ['gateway agents list', 'gateway agents list --json'],
    gateway: 'any',
    async run(call) {
      const { agentLines } = await import('./command-output.ts')
      const listed = await withAgents(call, 'alone', ask => ask('agents.list'))
      call.print(listed, () => agentLines(listed, call))
    },
  },
  'agents probe': {
    summary: 'Start coding agents far enough to hear what they can do.',
    description:
      'Without names: all of them. Exit codes: 0 all can be used, 5 one cannot, 2 wrong usage, 3 invalid configuration.',
    usage: 'agents probe [AGENT...] [-c <file>] [--env <name>] [--socket <file>] [--json]',
    examples: ['gateway agents probe', 'gateway agents probe gemini --json'],
    gateway: 'any',
    takesRest: true,
    async run(call) {
      const { agentLines, areReady } = await import('./command-output.ts')
      const params = call.rest.length === 0 ? {} : { agents: [...call.rest] }
      const probed = await withAgents(call, 'alone', ask => ask('agents.probe', params))
      call.print(probed, () => agentLines(probed, call))
      return areReady(probed) ? 0 : EXIT_FAILED
    },
  },
  'agents run': {
    summary: 'Give one task to a coding agent and wait for it.',
    description: [
      'What happens goes to stderr, what the agent says to stdout. Ctrl-C cancels the task. What the agent asks is answered',
      'at the terminal; where there is none, it is declined.',
      'Exit codes: 0 done, 5 it came to no good end, 2 wrong usage, 3 invalid configuration.',
    ].join(' '),
    examples: [
      'gateway agents run "review the login"',
      'gateway agents run "fix the tests" --agent codex --isolation worktree --json',
    ],
    args: PROMPT,
    gateway: 'any',
    flags: {
      ...TASK_FLAGS,
      isolation: {
        options: ['none', 'worktree'],
        summary: 'Where it works: in place, or in a git worktree.',
      },
    },
    async run(call) {
      const { runAgent, taskExitCode, taskLines } = await import('./command-output.ts')
      const { isolation } = call.flags
      const given = { ...taskOf(call), ...(isolation === undefined ? {} : { isolation }) }
      const task = await withAgents(call, 'whole', ask => runAgent(ask, given, call))
      const { text, facts } = taskLines(task, call)
      call.print(task, () => (text === '' ? [] : [text]))
      if (call.flags.json !== true) for (const line of facts) call.err.line(line)
      return taskExitCode(task)
    },
  },
  'agents route': {
    summary: 'Show which coding agent would get a task, without giving it to anybody.',
    description: 'Exit codes: 0 somebody would, 5 nobody can, 2 wrong usage, 3 invalid configuration.',
    examples: [
      'gateway agents route "review the login" --explain',
      'gateway agents route "find a leak" --capability review --json',
    ],
    args: PROMPT,
    gateway: 'any',
    flags: {
      ...TASK_FLAGS,
      explain: { type: 'boolean', char: 'x', summary: 'Say why, and why the others would not.' },
    },
    async run(call) {
      const { hasChosen, routeLines } = await import('./command-output.ts')
      const decided = await withAgents(call, 'alone', ask => ask('agents.route', taskOf(call)))
      call.print(decided, () => routeLines(decided, call.flags.explain === true, call))
      return hasChosen(decided) ? 0 : EXIT_FAILED
    },
  },
}

/** Says where agents are configured, to somebody whose gateway has none. */
async function withAgents(
  call: CommandCall,
  which: 'alone' | 'whole',
  use: (ask: AskGateway) => Promise<JsonObject>,
): Promise<JsonObject> {
  try {
    return await call.withGateway(which, use)
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'GW_VERB_UNKNOWN') throw error
    throw gatewayError('GW_USAGE', { what: 'no agents are configured: add them under "agents:"' })
  }
}

/** The same as `delegate_task` has it. */
function taskOf({ args, flags }: CommandCall): JsonObject {
  const { agent, type, capability, cwd } = flags
  return {
    prompt: args.prompt,
    ...(agent === undefined ? {} : { agent }),
    ...(type === undefined ? {} : { task_type: type }),
    ...(capability === undefined ? {} : { capabilities: capability }),
    ...(cwd === undefined ? {} : { cwd }),
  }
}
