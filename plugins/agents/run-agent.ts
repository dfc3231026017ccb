import {
  oneLine,
  plainText,
  type AskGateway,
  type CommandCall,
  type JsonObject,
  objectsIn,
} from '../../src/plugin.ts'

/** Time that one look waits for news, in milliseconds. */
const LOOK_MS = 20_000
const FINAL = new Set(['completed', 'failed', 'cancelled'])

/** The agent, or the work, said no. */
const SAID_NO = 5

type Watching = Pick<CommandCall, 'err' | 'fillIn' | 'onInterrupt'>

/** Delegates one task and stays with it to its end: what happens goes to stderr, as it happens. Gives the task as it is then. */
export async function runAgent(ask: AskGateway, given: JsonObject, call: Watching): Promise<JsonObject> {
  const { task_id: task } = await ask('agents.run', given)
  const release = call.onInterrupt(() => void ask('agents.cancel', { task }).catch(() => undefined))
  try {
    const ended = await follow(ask, String(task), call)
    return { ...ended, ...(ended.has_diff === true ? await placeOf(ask, String(task)) : {}) }
  } finally {
    release()
  }
}

/** Branch and directory of what was changed in a worktree, as the first line of the diff names them. */
async function placeOf(ask: AskGateway, task: string): Promise<JsonObject> {
  const { text } = await ask('agents.output', { task, what: 'diff' })
  const [, place] = /^# (on branch .*)$/m.exec(String(text).split('\n', 1)[0] ?? '') ?? []
  return place === undefined ? {} : { changes: place }
}

async function follow(ask: AskGateway, task: string, call: Watching): Promise<JsonObject> {
  const { err } = call
  let since = 0
  for (;;) {
    const now = await ask('agents.status', { task, since, waitMs: LOOK_MS })
    for (const event of objectsIn(now.events)) {
      since = Math.max(since, Number(event.seq))
      err.line(err.paint('dim', oneLine(`${String(event.kind)}: ${String(event.text)}`)))
    }
    if (FINAL.has(String(now.state))) return whole(now)
    for (const question of objectsIn(now.questions)) await reply(ask, task, question, call)
  }
}

function whole({ events: _events, ...task }: JsonObject): JsonObject {
  return task
}

/** Asks the person at the terminal; where nobody sits there, nothing is allowed. */
async function reply(
  ask: AskGateway,
  task: string,
  question: JsonObject,
  { err, fillIn }: Watching,
): Promise<void> {
  const [first = '', ...more] = String(question.message).split('\n').map(plainText)
  for (const line of [`${err.paint('yellow', 'asks')} ${first}`, ...more]) err.line(line)
  const content = await fillIn(question.schema)
  if (content === undefined) err.line(err.paint('dim', 'declined'))
  const answer = content === undefined ? { action: 'decline' } : { action: 'accept', content }
  try {
    await ask('agents.reply', { task, question: question.question_id, ...answer })
  } catch (error) {
    // Out of time, or answered by somebody else: the task goes on, and so do we.
    err.line(err.paint('dim', oneLine(error instanceof Error ? error.message : String(error))))
  }
}

/** Text of the agent, and the facts of the task to show below it. */
export function taskLines(
  task: JsonObject,
  { out, err }: Pick<CommandCall, 'out' | 'err'>,
): { text: string; facts: string[] } {
  const { text, task_id, state, why, agent, routed_by, denied, warnings, truncated, bytes_total, changes } =
    task
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
    ...(textsOf(task.files_changed).length === 0
      ? []
      : [`changed ${textsOf(task.files_changed).join(', ')}`]),
    ...(typeof changes === 'string' ? [oneLine(changes)] : []),
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
