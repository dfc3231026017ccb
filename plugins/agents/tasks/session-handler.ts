import type { JsonObject } from '../../../src/plugin.ts'
import type {
  AgentToolCall,
  PermissionOutcome,
  PermissionRequest,
  SessionSide,
  SessionUpdate,
  Verdict,
} from '../types.ts'
import type { AgentSettings } from '../settings.ts'
import { ask, elicit } from './questions.ts'
import type { LiveTask, TaskContext } from './context.ts'
import { lineOf } from '../store/journal.ts'
import { callInOneLine, permissionQuestion } from '../permissions.ts'

/** Kinds of calls that only look; one of any other kind, or of none, may change something. */
const HARMLESS: ReadonlySet<string> = new Set(['read', 'search', 'think', 'fetch', 'switch_mode'])

const CHANGING: ReadonlySet<string> = new Set(['edit', 'delete', 'move'])

const ALLOW = 'allow'

const SCHEMA = {
  type: 'object',
  properties: { decision: { type: 'string', title: 'Decision', enum: [ALLOW, 'deny'] } },
  required: ['decision'],
}

/** Tool calls of one turn whose status is remembered. */
const MAX_CALLS = 1000

const THOUGHT = 500

/** Handler of a task's session: writes down what the agent does, and answers its requests. */
export function sideOf(
  context: TaskContext,
  live: LiveTask,
  settings: AgentSettings,
  cwd: string,
): SessionSide {
  const unasked = new Unasked(context, live, settings, cwd)
  const hear = updates(context, live, settings, unasked)
  return {
    update(update) {
      if (!SILENT.has(update.is)) live.hasSigned = true
      hear(update)
    },
    permission(request) {
      live.hasSigned = true
      unasked.wasAsked(request.call)
      return permit(context, live, settings, cwd, request)
    },
    elicit(params, signal) {
      live.hasSigned = true
      return elicit(context, live, params, settings.permissions.askTimeoutMs, signal)
    },
  }
}

/** Updates that are no sign of work. */
const SILENT: ReadonlySet<SessionUpdate['is']> = new Set(['other', 'health'])

/** Calls that an agent makes without asking, as its own settings or mode allow them: nothing stops them, a warning names those that a rule denies. */
class Unasked {
  readonly #context: TaskContext
  readonly #live: LiveTask
  readonly #settings: AgentSettings
  readonly #cwd: string
  readonly #asked = new Set<string>()
  #left = MAX_CALLS

  constructor(context: TaskContext, live: LiveTask, settings: AgentSettings, cwd: string) {
    this.#context = context
    this.#live = live
    this.#settings = settings
    this.#cwd = cwd
  }

  wasAsked({ id }: AgentToolCall): void {
    if (this.#asked.size < MAX_CALLS) this.#asked.add(id)
  }

  /** Compares a call that is over with the rules. One that failed after a denial may be what was denied, by another id. */
  compare(call: AgentToolCall): void {
    const isOver =
      call.status === 'completed' || (call.status === 'failed' && this.#live.deniedBy === undefined)
    const { id, permissions } = this.#settings
    // The default is for what is asked: agents look at files all the time, and ask for none.
    const mayDeny = permissions.rules.some(rule => rule.do === 'deny')
    if (!isOver || !mayDeny || this.#asked.has(call.id) || this.#left-- <= 0) return
    const { parts, environment } = this.#context
    const { do: verdict, by } = parts.containment.decide(call, { ...permissions, default: 'ask' }, this.#cwd)
    if (verdict === 'deny')
      this.#live.journal.warn(
        `${id} did not ask for what ${by} denies: ${callInOneLine(call, environment.hide)}`,
      )
  }
}

function updates(
  context: TaskContext,
  live: LiveTask,
  { id, output }: AgentSettings,
  unasked: Unasked,
): (update: SessionUpdate) => void {
  const { journal } = live
  const statuses = new Map<string, string>()
  let thought = ''
  const think = (text: string): void => {
    thought += text
    if (thought.length < THOUGHT && text !== '') return
    if (thought.trim() !== '') journal.event('thought', thought)
    thought = ''
  }
  return update => {
    if (update.is === 'health') return void (live.isBroken = update.isBroken)
    if (update.is === 'thought') return output.thoughts ? think(update.text) : undefined
    think('')
    if (update.is === 'text') {
      context.counters.output(id, Buffer.byteLength(update.text))
      journal.say(update.text)
    } else if (update.is === 'content') journal.say(placeholder(update.content))
    else if (update.is === 'tool') onToolCall(live, update.call, statuses, unasked)
    else if (update.is === 'plan') planned(live, update.entries)
    else if (update.is === 'usage') journal.usage(update.usage)
    return undefined
  }
}

function onToolCall(
  live: LiveTask,
  call: AgentToolCall,
  statuses: Map<string, string>,
  unasked: Unasked,
): void {
  countEffect(live, call)
  for (const file of filesOf(call)) live.journal.changedFile(file)
  if (statuses.get(call.id) === call.status) return
  if (statuses.size < MAX_CALLS) statuses.set(call.id, call.status)
  unasked.compare(call)
  const name = `${call.kind ?? 'other'}: ${call.title}`
  live.journal.event('tool', `${name} – ${call.status}`)
  live.journal.progress(name)
}

function planned({ journal }: LiveTask, entries: readonly JsonObject[]): void {
  const steps = entries.map(({ status, content }) => `[${String(status)}] ${String(content)}`)
  journal.event('plan', steps.join('; '))
  const current = entries.findIndex(({ status }) => status === 'in_progress')
  if (current >= 0)
    journal.progress(`step ${current + 1} of ${entries.length}: ${String(entries[current]?.content)}`)
}

/** Text is all that is kept of what an agent says; the rest is named. */
function placeholder({ type, uri, name }: JsonObject): string {
  const what = typeof uri === 'string' ? uri : typeof name === 'string' ? name : ''
  return `\n[${String(type)}${what === '' ? '' : ` ${what}`}]\n`
}

/** Answers what an agent asks to do: by rule, or as its owner says. Never rejects, and never grants more than once. */
async function permit(
  context: TaskContext,
  live: LiveTask,
  settings: AgentSettings,
  cwd: string,
  request: PermissionRequest,
): Promise<PermissionOutcome> {
  try {
    if (isGone(live, request)) return 'cancelled'
    const verdict = context.parts.containment.decide(request.call, settings.permissions, cwd)
    const decided = verdict.do === 'ask' ? await asked(context, live, settings, request, verdict) : verdict
    if (isGone(live, request) || decided === 'ended') return 'cancelled'
    return answer(context, live, settings, request, decided)
  } catch (error) {
    context.environment.log.error('a permission could not be decided, and is denied', { error })
    return answer(context, live, settings, request, { do: 'deny', by: 'the gateway failed to decide' })
  }
}

/** True once nobody waits for the answer any more. */
function isGone({ controller, isLate }: LiveTask, { signal }: PermissionRequest): boolean {
  return controller.signal.aborted || isLate || signal?.aborted === true
}

interface Decided extends Verdict {
  /** Author of the answer, where it was no rule. */
  readonly who?: 'owner' | 'time'
}

async function asked(
  context: TaskContext,
  live: LiveTask,
  settings: AgentSettings,
  { call, signal }: PermissionRequest,
  { by }: Verdict,
): Promise<Decided | 'ended'> {
  const message = permissionQuestion(settings.id, call, context.environment.hide)
  const question = { kind: 'permission', message, schema: SCHEMA } as const
  const outcome = await ask(context, live, question, settings.permissions.askTimeoutMs, signal)
  if (outcome === 'ended') return 'ended'
  if (outcome === 'late') return { do: 'deny', by: 'nobody answered in time', who: 'time' }
  const isAllowed = outcome.action === 'accept' && outcome.content.decision === ALLOW
  return {
    do: isAllowed ? 'allow' : 'deny',
    by: `${by}, and its owner ${isAllowed ? 'allowed' : 'denied'} it`,
    who: 'owner',
  }
}

function answer(
  context: TaskContext,
  live: LiveTask,
  settings: AgentSettings,
  { call, options }: PermissionRequest,
  decided: Decided,
): PermissionOutcome {
  const { journal } = live
  const offered = (kind: string): string | undefined => options.find(option => option.kind === kind)?.optionId
  const allowing = decided.do === 'allow' ? offered('allow_once') : undefined
  const line = `${callInOneLine(call, context.environment.hide)} (${decided.by})`
  record(context, live, settings.id, { call, isAllowed: allowing !== undefined, by: decided.by })
  context.counters.permission(settings.id, allowing === undefined ? 'deny' : 'allow', call.kind ?? 'unknown')
  if (allowing !== undefined) {
    // The record comes first: what was allowed may have happened, whatever becomes of us.
    countEffect(live, call)
    journal.event('permission', `allowed: ${line}`)
    return { optionId: allowing }
  }
  const why = decided.do === 'allow' ? `${line}: it offered no way to allow it once` : line
  journal.event('permission', `denied: ${why}`)
  live.deniedBy = decided.who ?? 'policy'
  journal.deny(lineOf(context, why))
  const refusing = offered('reject_once') ?? offered('reject_always')
  return refusing === undefined ? 'cancelled' : { optionId: refusing }
}

/** Gives an audit who allowed what. */
function record(
  { environment }: TaskContext,
  live: LiveTask,
  agent: string,
  { call, isAllowed, by }: { call: PermissionRequest['call']; isAllowed: boolean; by: string },
): void {
  environment.record?.({
    kind: 'permission',
    name: callInOneLine(call, environment.hide),
    outcome: isAllowed ? 'allowed' : 'denied',
    fields: { agent, task: live.record.id, by },
  })
}

/** Notes on disk, once, that an agent may have changed something: from then on nobody else may begin the task anew. */
function countEffect(live: LiveTask, { kind }: AgentToolCall): void {
  if (live.hadEffect || (kind !== undefined && HARMLESS.has(kind))) return
  live.hadEffect = true
  live.journal.effect()
}

/** The files that a call of an agent has changed. */
function filesOf({ kind, status, paths, content }: AgentToolCall): readonly string[] {
  if (status !== 'completed') return []
  const diffs = content
    .map(({ type, path }) => (type === 'diff' && typeof path === 'string' ? path : undefined))
    .filter(path => path !== undefined)
  return kind !== undefined && CHANGING.has(kind) ? wholePaths([...paths, ...diffs]) : diffs
}

/** Without bare names of files whose paths are there: some agents name a file so once it is written. */
function wholePaths(files: readonly string[]): readonly string[] {
  return files.filter(file => file.startsWith('/') || !files.some(other => other.endsWith(`/${file}`)))
}
