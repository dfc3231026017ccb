import type { Answer, Call, JsonObject } from '../../../src/plugin.ts'
import { GatewayError, isObject, refuse, RPC } from '../../../src/plugin.ts'
import type { TaskView } from '../tasks/service.ts'
import type { QuestionAnswer } from '../types.ts'
import {
  startTask,
  delegateTask,
  resumeTask,
  buildFollowUpRequest,
  createProgressReporter,
  parseRetry,
  waitForTask,
  openWait,
  PROGRESS_MS,
} from './delegate.ts'
import type { McpDeps } from './callers.ts'
import { findTask, identifyCaller, listTasks, parseWait } from './callers.ts'
import {
  formatAgentRow,
  parseAnswer,
  buildFailure,
  hasEnded,
  buildToolResult,
  buildPageAnswer,
  buildStatusAnswer,
  buildTaskList,
  buildUnknownTask,
} from './task-results.ts'
import type { ToolName } from './schemas.ts'
import { INPUTS, PAGE_BYTES, validateArguments } from './schemas.ts'

type ToolHandler = (call: Call, args: JsonObject, parts: McpDeps) => Answer | Promise<Answer>

/** Limits on events and tasks per response. */
const MAX_EVENTS = 50
const MAX_TASKS = 50

const TOOLS: Readonly<Record<ToolName, ToolHandler>> = {
  delegate_task: delegateTask,
  agent_status: handleStatus,
  agent_cancel: handleCancel,
  agent_reply: handleReply,
  list_agents: (_call, _given, parts) => buildToolResult({ agents: parts.service().agents().map(formatAgentRow) }),
  agent_result: handleResult,
}

/** Handles `tools/call`. Failures become tool results, so that the model can read them. */
export async function callTool(call: Call, parts: McpDeps): Promise<Answer> {
  const { name, arguments: args = {} } = call.params ?? {}
  if (typeof name !== 'string' || !Object.hasOwn(TOOLS, name))
    return refuse(RPC.invalidParams, `Unknown tool: ${String(name)}`)
  if (!isObject(args)) return refuse(RPC.invalidParams, 'Invalid params: "arguments" must be an object')
  const problem = validateArguments(args, INPUTS[name as ToolName])
  if (problem !== undefined) return buildFailure(`Invalid arguments for ${name}: ${problem}`)
  return TOOLS[name as ToolName](call, args, parts)
}

async function handleStatus(call: Call, args: JsonObject, parts: McpDeps): Promise<Answer> {
  const caller = identifyCaller(call.exchange, parts.tokens)
  const service = parts.service()
  if (args.task_id === undefined) return buildTaskList(listTasks(service, caller, MAX_TASKS))
  const since = args.since_seq as number | undefined
  const first = findTask(service, args.task_id, caller)
  if (first === undefined) return buildUnknownTask()
  const { owner } = caller
  const view = await longPoll(call, first, { owner, since, ms: parseWait(args) ?? 0 }, parts)
  const from = since ?? Math.max(0, view.seq - MAX_EVENTS)
  return buildStatusAnswer(view, service.events(view.id, owner, from, MAX_EVENTS))
}

async function longPoll(
  call: Call,
  first: TaskView,
  { owner, since, ms }: { readonly owner: string; readonly since: number | undefined; readonly ms: number },
  parts: McpDeps,
): Promise<TaskView> {
  const { clock, service } = parts
  const until = clock.now() + ms
  const { signal, close } = openWait(call, parts)
  const reportProgress = createProgressReporter(call.exchange)
  let view = first
  for (
    let remainingMs = ms;
    remainingMs > 0 && !hasNews(view, since) && !signal.aborted;
    remainingMs = until - clock.now()
  ) {
    view = (await service().wait(view.id, owner, { ms: Math.min(remainingMs, PROGRESS_MS), since, signal })) ?? view
    if (!hasEnded(view)) reportProgress(view)
  }
  close()
  return view
}

function hasNews(view: TaskView, since: number | undefined): boolean {
  if (hasEnded(view) || view.state === 'interrupted') return true
  return view.questions.length > 0 || (since !== undefined && view.seq > since)
}

function handleCancel({ exchange }: Call, args: JsonObject, parts: McpDeps): Answer {
  const caller = identifyCaller(exchange, parts.tokens)
  const service = parts.service()
  const view = findTask(service, args.task_id, caller)
  if (view === undefined) return buildUnknownTask()
  const { id } = view
  const reason = typeof args.reason === 'string' && args.reason !== '' ? args.reason : 'cancelled by its owner'
  const isCancelled = service.cancel(id, caller.owner, reason)
  const state = service.view(id, caller.owner)?.state ?? 'cancelled'
  return buildToolResult({ task_id: id, state, cancelled: isCancelled })
}

async function handleReply(call: Call, args: JsonObject, parts: McpDeps): Promise<Answer> {
  const retried = parseRetry(call)
  if (retried !== undefined) return resumeTask(call, retried, parts)
  const caller = identifyCaller(call.exchange, parts.tokens)
  const view = findTask(parts.service(), args.task_id, caller)
  if (view === undefined) return buildUnknownTask()
  if (typeof args.prompt === 'string') return startTask(call, buildFollowUpRequest(view.id, args.prompt, false), parts)
  const question = findQuestion(view, args.question_id)
  return 'why' in question ? buildFailure(question.why) : answerAndWait(call, args, view, question.id, parts)
}

async function answerAndWait(
  call: Call,
  args: JsonObject,
  { id }: TaskView,
  question: string,
  parts: McpDeps,
): Promise<Answer> {
  const { owner, identity } = identifyCaller(call.exchange, parts.tokens)
  const answer = parseAnswer({ action: 'accept', ...args }) ?? CANCELLED
  try {
    const view = parts.service().answerQuestion(id, owner, question, answer, identity)
    return await waitForTask(parts, view, { call, owner, isHeld: false })
  } catch (error) {
    if (error instanceof GatewayError) return buildFailure(error.message)
    throw error
  }
}

const CANCELLED: QuestionAnswer = { action: 'cancel' }

function findQuestion({ questions, state, id }: TaskView, questionId: unknown): { id: string } | { why: string } {
  const matches = questionId === undefined ? questions : questions.filter(question => question.id === questionId)
  const [one, second] = matches
  if (second !== undefined) return { why: `${matches.length} questions are open: select one with "question_id"` }
  if (one !== undefined) return { id: one.id }
  const which = questionId === undefined ? '' : ' with this id'
  return {
    why: `task ${id} is ${state} and has no open question${which}; use "prompt" to continue its session`,
  }
}

function handleResult({ exchange }: Call, args: JsonObject, parts: McpDeps): Answer {
  const caller = identifyCaller(exchange, parts.tokens)
  const { task_id, what = 'text', offset = 0, max_bytes = PAGE_BYTES } = args
  const service = parts.service()
  const view = findTask(service, task_id, caller)
  if (view === undefined) return buildUnknownTask()
  const page = service.readPage(view.id, caller.owner, what as 'text', Number(offset), Number(max_bytes))
  if (page === undefined) return buildFailure(`task ${view.id} has no ${String(what)}`)
  return buildPageAnswer(view, String(what), Number(offset), page)
}
