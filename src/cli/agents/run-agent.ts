import { isObject, type JsonObject } from '../../protocol/json/json.ts'
import type { AskAgents } from './agents.ts'
import { filledIn } from '../local/fill-in.ts'
import { oneLine, plainText } from '../output/plain-text.ts'
import type { Terminal } from '../output/terminal.ts'

/** How long one look waits for news, in milliseconds. */
const LOOK_MS = 20_000
const FINAL = new Set(['completed', 'failed', 'cancelled'])

/** The agent, or the work, said no. */
const SAID_NO = 5
const INTERRUPTED = 130

/** Delegates one task and stays with it to its end: what happens goes to stderr, as it happens. Gives the task as it is then. */
export async function runAgent(
  ask: AskAgents,
  given: JsonObject,
  terminal: Terminal,
  host: NodeJS.Process,
): Promise<JsonObject> {
  const { task_id: task } = await ask('agents.run', given)
  let wanted = false
  const stop = (): void => {
    if (wanted) host.exit(INTERRUPTED)
    wanted = true
    void ask('agents.cancel', { task }).catch(() => undefined)
  }
  host.on('SIGINT', stop)
  try {
    return await follow(ask, String(task), terminal, host)
  } finally {
    host.off('SIGINT', stop)
  }
}

async function follow(
  ask: AskAgents,
  task: string,
  terminal: Terminal,
  host: NodeJS.Process,
): Promise<JsonObject> {
  let since = 0
  for (;;) {
    const now = await ask('agents.status', { task, since, waitMs: LOOK_MS })
    for (const event of listOf(now.events)) {
      since = Math.max(since, Number(event.seq))
      terminal.err.line(terminal.err.paint('dim', oneLine(`${String(event.kind)}: ${String(event.text)}`)))
    }
    if (FINAL.has(String(now.state))) return whole(now)
    for (const question of listOf(now.questions)) await reply(ask, task, question, terminal, host)
  }
}

function whole({ events: _events, ...task }: JsonObject): JsonObject {
  return task
}

/** Whoever sits at the terminal decides; where nobody does, nothing is allowed. */
async function reply(
  ask: AskAgents,
  task: string,
  question: JsonObject,
  { err }: Terminal,
  host: NodeJS.Process,
): Promise<void> {
  const [first = '', ...more] = String(question.message).split('\n').map(plainText)
  for (const line of [`${err.paint('yellow', 'asks')} ${first}`, ...more]) err.line(line)
  const content = host.stdin.isTTY ? await filledIn(question.schema, host) : undefined
  if (content === undefined) err.line(err.paint('dim', 'declined'))
  const answer = content === undefined ? { action: 'decline' } : { action: 'accept', content }
  try {
    await ask('agents.reply', { task, question: question.question_id, ...answer })
  } catch (error) {
    // Out of time, or answered by somebody else: the task goes on, and so do we.
    err.line(err.paint('dim', oneLine(error instanceof Error ? error.message : String(error))))
  }
}

/** What the agent said, and below it what is to be known of it. */
export function taskLines(task: JsonObject, { out, err }: Terminal): { text: string; facts: string[] } {
  const { text, task_id, state, why, agent, routed_by, denied, warnings, truncated, bytes_total } = task
  const said = typeof text === 'string' ? text : ''
  const about = [
    `task ${String(task_id)} ${String(state)}`,
    typeof agent === 'string' ? agent : 'no agent',
    String(routed_by),
  ]
  const lines = [
    err.paint('dim', oneLine(about.join(' · '))),
    ...(typeof why === 'string' ? [oneLine(why)] : []),
    ...(truncated === true ? [`cut: it said ${String(bytes_total)} bytes`] : []),
    ...textsOf(denied).map(line => `${err.paint('yellow', 'denied')} ${line}`),
    ...textsOf(warnings).map(line => `${err.paint('yellow', 'warning')} ${line}`),
  ]
  return { text: out.width === undefined ? said : plainText(said), facts: lines }
}

/** 0, or 5 where the work did not come to a good end. */
export function taskExitCode({ state, is_error }: JsonObject): number {
  return state === 'completed' && is_error !== true ? 0 : SAID_NO
}

function textsOf(value: unknown): string[] {
  return (Array.isArray(value) ? (value as unknown[]) : []).map(line => oneLine(String(line)))
}

function listOf(value: unknown): JsonObject[] {
  return (Array.isArray(value) ? value : []).filter(isObject)
}
