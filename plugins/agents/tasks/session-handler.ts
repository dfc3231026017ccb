import type { JsonObject } from '../../../src/plugin.ts'
import type { AgentToolCall, SessionSide, SessionUpdate } from '../types/agent.ts'
import type { AgentSettings } from '../types/settings.ts'
import { elicit } from './questions.ts'
import { countEffect, filesOf } from './effects.ts'
import type { LiveTask, TaskContext } from './context.ts'
import { permit } from './permission-requests.ts'

/** Tool calls of one turn whose status is remembered. */
const MAX_CALLS = 1000
const THOUGHT = 500

type Handlers = SessionSide['handlers']
type Handler = (params: JsonObject, signal?: AbortSignal) => Promise<JsonObject>

/** Who stands behind the session of a task: writes down what the agent does, and answers what it asks. */
export function sideOf(
  context: TaskContext,
  live: LiveTask,
  settings: AgentSettings,
  cwd: string,
  handlers: Handlers,
): SessionSide {
  const hear = updates(context, live, settings)
  const elicitation = (params: JsonObject, unwanted?: AbortSignal): Promise<JsonObject> =>
    elicit(context, live, params, settings.permissions.askTimeoutMs, unwanted)
  return {
    update(update) {
      if (!SILENT.has(update.is)) live.hasSigned = true
      hear(update)
    },
    permission(request) {
      live.hasSigned = true
      return permit(context, live, settings, cwd, request)
    },
    handlers: noting(live, [...handlers, ['elicitation/create', elicitation]]),
  }
}

/** Updates that are no sign of work. */
const SILENT: ReadonlySet<SessionUpdate['is']> = new Set(['other'])

function noting(live: LiveTask, handlers: readonly (readonly [string, Handler])[]): Handlers {
  const noted = handlers.map(([method, handle]): [string, Handler] => [
    method,
    (params, signal) => {
      live.hasSigned = true
      return handle(params, signal)
    },
  ])
  return new Map(noted)
}

function updates(
  context: TaskContext,
  live: LiveTask,
  { id, output }: AgentSettings,
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
    if (update.is === 'thought') return output.thoughts ? think(update.text) : undefined
    think('')
    if (update.is === 'text') {
      context.counters.output(id, Buffer.byteLength(update.text))
      journal.say(update.text)
    } else if (update.is === 'content') journal.say(placeholder(update.content))
    else if (update.is === 'tool') heard(live, update.call, statuses)
    else if (update.is === 'plan') planned(live, update.entries)
    else if (update.is === 'usage') journal.usage(update.usage)
    return undefined
  }
}

function heard(live: LiveTask, call: AgentToolCall, statuses: Map<string, string>): void {
  countEffect(live, call)
  for (const file of filesOf(call)) live.journal.changedFile(file)
  if (statuses.get(call.id) === call.status) return
  if (statuses.size < MAX_CALLS) statuses.set(call.id, call.status)
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
