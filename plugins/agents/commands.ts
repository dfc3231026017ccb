import type { CommandCall, JsonObject, PluginCommands, PluginApi } from '../../src/plugin.ts'
import { gatewayError, GatewayError, isObject, filterObjects, toOneLine, sanitizeText } from '../../src/plugin.ts'

type RunVerb = PluginApi['control']
type PrintDeps = Pick<CommandCall, 'out' | 'table'>

const HEALTH = { ready: 'green', unknown: 'dim', needs_auth: 'yellow', unavailable: 'red' } as const

const HEAD = ['agent', 'health', 'running', 'waiting', 'capabilities', 'details']

/** Formats agents as a table; the details are the problem, or what the agent supports. */
function formatAgents({ agents }: JsonObject, { out, table }: PrintDeps): string[] {
  const rows = filterObjects(agents).map(row => {
    const health = formatCell(row.health)
    const problem = [row.why, row.last_words].map(formatCell).filter(Boolean).join(': ')
    return [
      out.paint('bold', formatCell(row.id)),
      out.paint(HEALTH[health as keyof typeof HEALTH], health),
      String(row.running),
      String(row.queued),
      toTexts(row.capabilities).join(', ') || '-',
      problem || formatFacts(row.facts),
    ]
  })
  return rows.length === 0 ? ['no agents'] : table([HEAD.map(text => out.paint('dim', text)), ...rows])
}

function formatFacts(facts: unknown): string {
  if (!isObject(facts)) return ''
  const { name, version, protocol, canResume, canLoad, mcpHttp, ownMode } = facts
  return [
    `${formatCell(name)} ${formatCell(version)}`.trim(),
    `protocol ${String(protocol)}`,
    ...(canResume === true ? ['resumes'] : []),
    ...(canLoad === true ? ['loads'] : []),
    ...(mcpHttp === true ? ['calls back'] : []),
    ...(typeof ownMode === 'string' ? [`default mode "${toOneLine(ownMode)}"`] : []),
  ].join(', ')
}

/** True if all probed agents are usable. */
function areReady({ agents }: JsonObject): boolean {
  return filterObjects(agents).every(({ health }) => health === 'ready')
}

function formatCell(value: unknown): string {
  return typeof value === 'string' ? toOneLine(value) : ''
}

/** Long-poll duration in milliseconds. */
const LOOK_MS = 20_000
const FINAL = new Set(['completed', 'failed', 'cancelled'])

type FollowDeps = Pick<CommandCall, 'err' | 'promptForm' | 'onInterrupt'>

/** Delegates a task, follows it to its end and prints events to stderr. Returns the final task. */
export async function runAgent(ask: RunVerb, taskParams: JsonObject, call: FollowDeps): Promise<JsonObject> {
  const { task_id: task } = await ask('agents.run', taskParams)
  const release = call.onInterrupt(() => void ask('agents.cancel', { task }).catch(() => undefined))
  try {
    const result = await followTask(ask, String(task), call)
    return { ...result, ...(result.has_diff === true ? await findWorktree(ask, String(task)) : {}) }
  } finally {
    release()
  }
}

/** Returns branch and directory from the first line of the diff. */
async function findWorktree(ask: RunVerb, task: string): Promise<JsonObject> {
  const { text } = await ask('agents.output', { task, what: 'diff' })
  const [, branchNote] = /^# (on branch .*)$/m.exec(String(text).split('\n', 1)[0] ?? '') ?? []
  return branchNote === undefined ? {} : { changes: branchNote }
}

async function followTask(ask: RunVerb, task: string, call: FollowDeps): Promise<JsonObject> {
  const { err } = call
  let since = 0
  for (;;) {
    const now = await ask('agents.status', { task, since, waitMs: LOOK_MS })
    for (const event of filterObjects(now.events)) {
      since = Math.max(since, Number(event.seq))
      err.line(err.paint('dim', toOneLine(`${String(event.kind)}: ${String(event.text)}`)))
    }
    if (FINAL.has(String(now.state))) return omitEvents(now)
    for (const question of filterObjects(now.questions)) await answerQuestion(ask, task, question, call)
  }
}

function omitEvents({ events: _events, ...task }: JsonObject): JsonObject {
  return task
}

/** Asks the user at the terminal; without a terminal, denies the request. */
async function answerQuestion(
  ask: RunVerb,
  task: string,
  question: JsonObject,
  { err, promptForm }: FollowDeps,
): Promise<void> {
  const [first = '', ...more] = String(question.message).split('\n').map(sanitizeText)
  for (const line of [`${err.paint('yellow', 'asks')} ${first}`, ...more]) err.line(line)
  const content = await promptForm(question.schema)
  if (content === undefined) err.line(err.paint('dim', 'declined'))
  const answer = content === undefined ? { action: 'decline' } : { action: 'accept', content }
  try {
    await ask('agents.reply', { task, question: question.question_id, ...answer })
  } catch (error) {
    // Timed out or already answered; continue to follow the task.
    err.line(err.paint('dim', toOneLine(error instanceof Error ? error.message : String(error))))
  }
}

/** Formats the agent's text and the task summary. */
function formatTask(
  task: JsonObject,
  { out, err }: Pick<CommandCall, 'out' | 'err'>,
): { text: string; facts: string[] } {
  const { text, task_id, state, why, agent, routed_by, denied, warnings, truncated, bytes_total, changes } = task
  const answerText = typeof text === 'string' ? text : ''
  const about = [
    `task ${String(task_id)} ${String(state)}`,
    typeof agent === 'string' ? agent : 'no agent',
    String(routed_by),
  ]
  const lines = [
    err.paint('dim', toOneLine(about.join(' · '))),
    ...(typeof why === 'string' ? [toOneLine(why)] : []),
    ...(truncated === true ? [`truncated: ${String(bytes_total)} bytes in total`] : []),
    ...toTexts(denied).map(line => `${err.paint('yellow', 'denied')} ${line}`),
    ...(toTexts(task.files_changed).length === 0 ? [] : [`changed ${toTexts(task.files_changed).join(', ')}`]),
    ...(typeof changes === 'string' ? [toOneLine(changes)] : []),
    ...toTexts(warnings).map(line => `${err.paint('yellow', 'warning')} ${line}`),
  ]
  return { text: out.width === undefined ? answerText : sanitizeText(answerText), facts: lines }
}

/** Returns 0, or 5 if the task failed. */
function taskExitCode({ state, is_error }: JsonObject): number {
  return state === 'completed' && is_error !== true ? 0 : EXIT_FAILED
}

function toTexts(value: unknown): string[] {
  return (Array.isArray(value) ? (value as unknown[]) : []).map(line => toOneLine(String(line)))
}

/** Exit code if an agent or task failed. */
const EXIT_FAILED = 8

/** Flags that affect routing. */
const TASK_FLAGS: PluginCommands[string]['flags'] = {
  agent: { char: 'a', value: '<id>', summary: 'This agent.' },
  type: { value: '<type>', summary: 'Task type, for routing rules.' },
  capability: {
    value: '<name>',
    multiple: true,
    summary: 'Required capability; repeatable.',
  },
  cwd: { value: '<directory>', summary: 'Working directory. Default: the first of agents.roots.' },
}

const PROMPT = { prompt: { required: true, description: 'Instructions for the agent.' } }

export const commands: PluginCommands = {
  'agents list': {
    summary: 'List coding agents with health and load.',
    examples: ['gateway agents list', 'gateway agents list --json'],
    gateway: 'any',
    async run(call) {
      const listed = await connectToAgents(call, 'alone', ask => ask('agents.list'))
      call.print(listed, () => formatAgents(listed, call))
    },
  },
  'agents probe': {
    summary: 'Start coding agents and check that they work.',
    description:
      'Without names, probes all agents. Exit codes: 0 all usable, 8 at least one unusable, 2 wrong usage, 3 invalid configuration.',
    usage: 'agents probe [AGENT...] [-c <file>] [--env <name>] [--socket <file>] [--json]',
    examples: ['gateway agents probe', 'gateway agents probe gemini --json'],
    gateway: 'any',
    takesRest: true,
    async run(call) {
      const params = call.rest.length === 0 ? {} : { agents: [...call.rest] }
      const probed = await connectToAgents(call, 'alone', ask => ask('agents.probe', params))
      call.print(probed, () => formatAgents(probed, call))
      return areReady(probed) ? 0 : EXIT_FAILED
    },
  },
  'agents run': {
    summary: 'Delegate one task to a coding agent and wait for it.',
    description: [
      "Progress goes to stderr, the agent's text to stdout. Ctrl-C cancels the task. Questions are asked",
      'at the terminal; without one, they are declined.',
      'Exit codes: 0 completed, 8 failed, 2 wrong usage, 3 invalid configuration.',
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
        summary: 'Working location: in place, or in a git worktree.',
      },
    },
    async run(call) {
      const { isolation } = call.flags
      const taskParams = { ...parseTask(call), ...(isolation === undefined ? {} : { isolation }) }
      const task = await connectToAgents(call, 'whole', ask => runAgent(ask, taskParams, call))
      const { text, facts } = formatTask(task, call)
      call.print(task, () => (text === '' ? [] : [text]))
      if (call.flags.json !== true) for (const line of facts) call.err.line(line)
      return taskExitCode(task)
    },
  },
}

/** Explains how to configure agents if there are none. */
async function connectToAgents(
  call: CommandCall,
  which: 'alone' | 'whole',
  use: (ask: RunVerb) => Promise<JsonObject>,
): Promise<JsonObject> {
  try {
    return await call.withGateway(which, use)
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'GW_VERB_UNKNOWN') throw error
    throw gatewayError('GW_USAGE', { what: 'no agents are configured: add them under "agents:"' })
  }
}

/** Builds the `delegate_task` arguments. */
function parseTask({ args, flags }: CommandCall): JsonObject {
  const { agent, type, capability, cwd } = flags
  return {
    prompt: args.prompt,
    ...(agent === undefined ? {} : { agent }),
    ...(type === undefined ? {} : { task_type: type }),
    ...(capability === undefined ? {} : { capabilities: capability }),
    ...(cwd === undefined ? {} : { cwd }),
  }
}
