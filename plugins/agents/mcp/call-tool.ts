import type { Answer, Call, JsonObject } from '../../../src/plugin.ts'
import { GatewayError, isObject, refuse, RPC } from '../../../src/plugin.ts'
import type { QuestionAnswer, TaskView } from '../types.ts'
import {
  begin,
  delegateTask,
  goOn,
  nextRequest,
  progressOf,
  taskOfRetry,
  waitFor,
  openWait,
  PROGRESS_MS,
} from './delegate.ts'
import type { McpParts } from './callers.ts'
import { waitOf } from './callers.ts'
import {
  agentRow,
  answerIn,
  failed,
  hasEnded,
  toolResult,
  pageAnswer,
  statusAnswer,
  taskAnswers,
  unknownTask,
} from './results.ts'
import type { ToolName } from './schemas.ts'
import { INPUTS, PAGE_BYTES, problemWith } from './schemas.ts'

type Tool = (call: Call, given: JsonObject, parts: McpParts) => Answer | Promise<Answer>

/** Events in one answer, and tasks in a list. */
const MAX_EVENTS = 50
const MAX_TASKS = 50

const TOOLS: Readonly<Record<ToolName, Tool>> = {
  delegate_task: delegateTask,
  agent_status: status,
  agent_cancel: cancel,
  agent_reply: reply,
  list_agents: (_call, _given, parts) => toolResult({ agents: parts.service().agents().map(agentRow) }),
  agent_result: result,
}

/** `tools/call`. What a tool cannot do it says in its result, where the model reads it. */
export async function callTool(call: Call, parts: McpParts): Promise<Answer> {
  const { name, arguments: given = {} } = call.params ?? {}
  if (typeof name !== 'string' || !Object.hasOwn(TOOLS, name))
    return refuse(RPC.invalidParams, `Unknown tool: ${String(name)}`)
  if (!isObject(given)) return refuse(RPC.invalidParams, 'Invalid params: "arguments" must be an object')
  const problem = problemWith(given, INPUTS[name as ToolName])
  if (problem !== undefined) return failed(`Invalid arguments of ${name}: ${problem}`)
  return TOOLS[name as ToolName](call, given, parts)
}

async function status(call: Call, given: JsonObject, parts: McpParts): Promise<Answer> {
  const caller = parts.callers.callerOf(call.exchange)
  const service = parts.service()
  if (given.task_id === undefined) return taskAnswers(parts.callers.list(service, caller, MAX_TASKS))
  const since = given.since_seq as number | undefined
  const first = parts.callers.find(service, given.task_id, caller)
  if (first === undefined) return unknownTask()
  const { owner } = caller
  const view = await longPoll(call, first, { owner, since, ms: waitOf(given) ?? 0 }, parts)
  const from = since ?? Math.max(0, view.seq - MAX_EVENTS)
  return statusAnswer(view, service.events(view.id, owner, from, MAX_EVENTS))
}

async function longPoll(
  call: Call,
  first: TaskView,
  { owner, since, ms }: { readonly owner: string; readonly since: number | undefined; readonly ms: number },
  parts: McpParts,
): Promise<TaskView> {
  const { clock, service } = parts
  const until = clock.now() + ms
  const { signal, close } = openWait(call, parts)
  const tell = progressOf(call.exchange)
  let view = first
  for (let left = ms; left > 0 && !isNews(view, since) && !signal.aborted; left = until - clock.now()) {
    view = (await service().wait(view.id, owner, { ms: Math.min(left, PROGRESS_MS), since, signal })) ?? view
    if (!hasEnded(view)) tell(view)
  }
  close()
  return view
}

function isNews(view: TaskView, since: number | undefined): boolean {
  if (hasEnded(view) || view.state === 'interrupted') return true
  return view.questions.length > 0 || (since !== undefined && view.seq > since)
}

function cancel({ exchange }: Call, given: JsonObject, parts: McpParts): Answer {
  const caller = parts.callers.callerOf(exchange)
  const service = parts.service()
  const view = parts.callers.find(service, given.task_id, caller)
  if (view === undefined) return unknownTask()
  const { id } = view
  const why =
    typeof given.reason === 'string' && given.reason !== '' ? given.reason : 'its owner cancelled it'
  const isCancelled = service.cancel(id, caller.owner, why)
  const state = service.view(id, caller.owner)?.state ?? 'cancelled'
  return toolResult({ task_id: id, state, cancelled: isCancelled })
}

async function reply(call: Call, given: JsonObject, parts: McpParts): Promise<Answer> {
  const retried = taskOfRetry(call)
  if (retried !== undefined) return goOn(call, retried, parts)
  const caller = parts.callers.callerOf(call.exchange)
  const view = parts.callers.find(parts.service(), given.task_id, caller)
  if (view === undefined) return unknownTask()
  if (typeof given.prompt === 'string') return begin(call, nextRequest(view.id, given.prompt, false), parts)
  const question = questionOf(view, given.question_id)
  return 'why' in question ? failed(question.why) : answerAndWait(call, given, view, question.id, parts)
}

async function answerAndWait(
  call: Call,
  given: JsonObject,
  { id }: TaskView,
  question: string,
  parts: McpParts,
): Promise<Answer> {
  const caller = parts.callers.callerOf(call.exchange)
  // Before it goes on: what goes on may need to know whose it is.
  parts.callers.note(id, caller)
  const after = orWhy(() =>
    parts.service().answer(id, caller.owner, question, answerIn({ action: 'accept', ...given }) ?? CANCELLED),
  )
  if ('why' in after) return failed(after.why)
  const waited = { call, owner: caller.owner, isHeld: false }
  return waitFor(parts, after.value, waited)
}

const CANCELLED: QuestionAnswer = { action: 'cancel' }

/** Turns an error that the caller may mend into a result, for the model to read. */
function orWhy<T>(handler: () => T): { value: T } | { why: string } {
  try {
    return { value: handler() }
  } catch (error) {
    if (error instanceof GatewayError) return { why: error.message }
    throw error
  }
}

function questionOf({ questions, state, id }: TaskView, wanted: unknown): { id: string } | { why: string } {
  const found = wanted === undefined ? questions : questions.filter(question => question.id === wanted)
  const [one, second] = found
  if (second !== undefined) return { why: `it asks ${found.length} things: say which with "question_id"` }
  if (one !== undefined) return { id: one.id }
  const which = wanted === undefined ? '' : ' of that id'
  return { why: `task ${id} is ${state} and asks nothing${which}; "prompt" goes on with its session` }
}

function result({ exchange }: Call, given: JsonObject, parts: McpParts): Answer {
  const caller = parts.callers.callerOf(exchange)
  const { task_id, what = 'text', offset = 0, max_bytes = PAGE_BYTES } = given
  const service = parts.service()
  const view = parts.callers.find(service, task_id, caller)
  if (view === undefined) return unknownTask()
  const page = service.page(view.id, caller.owner, what as 'text', Number(offset), Number(max_bytes))
  if (page === undefined) return failed(`task ${view.id} has no ${String(what)}`)
  return pageAnswer(view, String(what), Number(offset), page)
}
