import { stripVTControlCharacters } from 'node:util'
import {
  type AskGateway,
  type CommandCall,
  type CommandOutput,
  isObject,
  type JsonObject,
  objectsIn,
  oneLine,
  plainText,
} from '../../src/plugin.ts'

type Printing = Pick<CommandCall, 'out' | 'table'>

const HEALTH = { ready: 'green', unknown: 'dim', needs_auth: 'yellow', unavailable: 'red' } as const

/** A cell without a value. */
const NOTHING = '-'
/** Columns that every terminal has room for; the others go below where they do not fit. */
const NARROW = 4
const BELOW = '    '

/** The agents as people read them: a line for each, and on a narrow terminal what does not fit below it. */
export function agentLines({ agents }: JsonObject, { out, table }: Printing): string[] {
  const rows = objectsIn(agents).map(row => cells(row, out))
  if (rows.length === 0) return ['no agents']
  const head = ['agent', 'health', 'running', 'waiting', 'capabilities', ''].map(text =>
    out.paint('dim', text),
  )
  const width = out.width ?? Infinity
  const wide = table([head, ...rows])
  if (wide.every(line => stripVTControlCharacters(line).length <= width)) return wide
  const [first = '', ...narrow] = table([head, ...rows].map(row => row.slice(0, NARROW)))
  return [first, ...narrow.flatMap((line, at) => [line, ...below(rows[at] ?? [], width)])]
}

function below(row: readonly string[], width: number): string[] {
  const texts = row.slice(NARROW).filter(text => text !== '' && text !== NOTHING)
  return texts.flatMap(text => wrapped(text, width - BELOW.length).map(line => BELOW + line))
}

/** A text in lines of at most so many characters, as far as its words allow. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1) ?? ''} ${word}`
    if (lines.length > 0 && longer.length <= width) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}

function cells(row: JsonObject, out: CommandOutput): string[] {
  const health = textOf(row.health)
  return [
    out.paint('bold', textOf(row.id)),
    out.paint(HEALTH[health as keyof typeof HEALTH], health),
    String(row.running),
    String(row.queued),
    (Array.isArray(row.capabilities) ? row.capabilities : []).map(textOf).join(', ') || NOTHING,
    [textOf(row.why), textOf(row.last_words)].filter(text => text !== '').join(': ') || factsText(row.facts),
  ]
}

function factsText(facts: unknown): string {
  if (!isObject(facts)) return ''
  const can = [
    facts.canResume === true ? 'resumes' : undefined,
    facts.canLoad === true ? 'loads' : undefined,
    facts.mcpHttp === true ? 'calls back' : undefined,
    typeof facts.ownMode === 'string' ? `in its own mode "${facts.ownMode}"` : undefined,
  ].filter(part => part !== undefined)
  return `${textOf(facts.name)} ${textOf(facts.version)}, protocol ${String(facts.protocol)}${can.length > 0 ? `, ${can.join(', ')}` : ''}`.trim()
}

/** True if all agents that were probed can be used. */
export function areReady({ agents }: JsonObject): boolean {
  return objectsIn(agents).every(({ health }) => health === 'ready')
}

/** Lines with the agents that would get a task; with `explain`, also why, and why the others would not. */
export function routeLines(
  { chosen, by, candidates }: JsonObject,
  explain: boolean,
  { out, table }: Printing,
): string[] {
  const names = (Array.isArray(chosen) ? chosen : []).map(textOf)
  if (!explain) return [names[0] ?? 'nobody']
  const first = names.length === 0 ? out.paint('red', 'nobody') : out.paint('bold', names.join(' → '))
  const rows = objectsIn(candidates).map(({ agent, why, fits }) => [
    fits === true ? out.paint('green', '✓') : out.paint('red', '✗'),
    textOf(agent),
    textOf(why),
  ])
  return [`${first} ${out.paint('dim', `by ${textOf(by)}`)}`, ...table(rows, 2)]
}

/** True if any agent could have the task. */
export function hasChosen({ chosen }: JsonObject): boolean {
  return Array.isArray(chosen) && chosen.length > 0
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? oneLine(value) : ''
}

/** Time that one look waits for news, in milliseconds. */
const LOOK_MS = 20_000
const FINAL = new Set(['completed', 'failed', 'cancelled'])

/** The agent, or the work, said no. */
const EXIT_FAILED = 5

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
  return state === 'completed' && is_error !== true ? 0 : EXIT_FAILED
}

function textsOf(value: unknown): string[] {
  return (Array.isArray(value) ? (value as unknown[]) : []).map(line => oneLine(String(line)))
}
