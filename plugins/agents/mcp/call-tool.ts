import type { Answer, Call, Exchange, JsonObject } from '../../../src/plugin.ts'
import { createUpstreamAnswer, GatewayError, isObject, Payload, refuse, RPC } from '../../../src/plugin.ts'
import { hasEnded } from '../store/task-store.ts'
import type { TaskService, TaskView } from '../tasks/service.ts'
import { isWaitOver } from '../tasks/service.ts'
import type { TaskCaller, TaskRequest } from '../types.ts'
import type { McpDeps } from './callers.ts'
import { findTask, identifyCaller, listTasks } from './callers.ts'
import {
  applyAnswers,
  buildFailure,
  buildInputRequests,
  buildPageAnswer,
  buildStatusAnswer,
  buildTaskAnswer,
  buildTaskList,
  buildToolResult,
  canShowForm,
  formatTaskDetails,
  formatTaskState,
  parseAnswer,
  UNKNOWN_TASK,
} from './task-results.ts'
import type { ToolName } from './schemas.ts'
import { INPUTS, MAX_WAIT_MS, PAGE_BYTES, TOOL_LIST, validateArguments } from './schemas.ts'

/** A call of one of the tools, with validated arguments. */
interface ToolCall {
  readonly call: Call
  readonly args: JsonObject
  readonly caller: TaskCaller
  readonly parts: McpDeps
}

type ToolHandler = (tool: ToolCall) => Answer | Promise<Answer>

/** Limits on events and tasks per response. */
const MAX_EVENTS = 50
const MAX_TASKS = 50

const TOOLS: Readonly<Record<ToolName, ToolHandler>> = {
  delegate_task: tool => startTask(tool, parseRequest(tool.args)),
  agent_status: handleStatus,
  agent_cancel: forTask(handleCancel),
  agent_reply: forTask(handleReply),
  list_agents: ({ parts }) => buildToolResult({ agents: parts.service().agents() }),
  agent_result: forTask(handleResult),
}

/** Handles a call to the agents. */
export function handleCall(call: Call, parts: McpDeps): Answer | Promise<Answer> {
  switch (call.method) {
    case 'tools/list':
      return { result: TOOL_LIST }
    case 'tools/call':
      return callTool(call, parts)
    case 'tasks/get':
    case 'tasks/update':
    case 'tasks/cancel':
      return handleTaskMethod(call, parts)
    default:
      return refuse(RPC.methodNotFound, `Method not found: ${call.method}`)
  }
}

/** Handles a method of the tasks extension. */
function handleTaskMethod({ method, params, exchange }: Call, { service, tokens }: McpDeps): Answer {
  const responses = params?.inputResponses
  if (method === 'tasks/update' && !isObject(responses))
    return refuse(RPC.invalidParams, 'Invalid params: "inputResponses" must be an object')
  const caller = identifyCaller(exchange, tokens)
  const view = findTask(service(), params?.taskId, caller)
  if (view === undefined) return refuse(RPC.invalidParams, UNKNOWN_TASK)
  if (method === 'tasks/get') return createUpstreamAnswer(formatTaskDetails(view, exchange))
  if (method === 'tasks/update') applyAnswers(service(), view, caller, responses)
  else service().cancel(view.id, caller.owner, 'cancelled by the client')
  return createUpstreamAnswer({})
}

/** Handles `tools/call`. Failures become tool results, so that the model can read them. */
async function callTool(call: Call, parts: McpDeps): Promise<Answer> {
  const { name, arguments: args = {} } = call.params ?? {}
  if (typeof name !== 'string' || !Object.hasOwn(TOOLS, name))
    return refuse(RPC.invalidParams, `Unknown tool: ${String(name)}`)
  if (!isObject(args)) return refuse(RPC.invalidParams, 'Invalid params: "arguments" must be an object')
  const problem = validateArguments(args, INPUTS[name as ToolName])
  if (problem !== undefined) return buildFailure(`Invalid arguments for ${name}: ${problem}`)
  const tool = { call, args, parts, caller: identifyCaller(call.exchange, parts.tokens) }
  const retried = parseRetry(call)
  try {
    return await (retried === undefined ? TOOLS[name as ToolName](tool) : resumeTask(tool, retried))
  } catch (error) {
    if (error instanceof GatewayError) return buildFailure(error.message, error.fields.retryAfterMs)
    throw error
  }
}

/** Makes a handler for the task with id `task_id`. */
function forTask(run: (tool: ToolCall, view: TaskView) => Answer | Promise<Answer>): ToolHandler {
  return tool => {
    const view = findTask(tool.parts.service(), tool.args.task_id, tool.caller)
    return view === undefined ? buildFailure(UNKNOWN_TASK) : run(tool, view)
  }
}

function handleStatus(tool: ToolCall): Answer | Promise<Answer> {
  const { args, caller, parts } = tool
  if (args.task_id === undefined) return buildTaskList(listTasks(parts.service(), caller, MAX_TASKS))
  return forTask(reportStatus)(tool)
}

async function reportStatus(tool: ToolCall, first: TaskView): Promise<Answer> {
  const { args, caller, parts } = tool
  const since = args.since_seq as number | undefined
  const view = await followTask(tool, first, { since, ms: Number(args.wait_ms ?? 0), isHeld: false })
  const from = since ?? Math.max(0, view.seq - MAX_EVENTS)
  return buildStatusAnswer(view, parts.service().events(view.id, caller.owner, from, MAX_EVENTS))
}

function handleCancel({ args, caller: { owner }, parts }: ToolCall, { id }: TaskView): Answer {
  const service = parts.service()
  const reason = typeof args.reason === 'string' && args.reason !== '' ? args.reason : 'cancelled by its owner'
  const cancelled = service.cancel(id, owner, reason)
  return buildToolResult({ task_id: id, state: service.view(id, owner)?.state ?? 'cancelled', cancelled })
}

async function handleReply(tool: ToolCall, view: TaskView): Promise<Answer> {
  const { args, caller, parts } = tool
  if (typeof args.prompt === 'string') {
    const request = { ...parseRequest({ prompt: args.prompt }), continues: view.id }
    return startTask(tool, request)
  }
  const question = findQuestion(view, args.question_id)
  if ('why' in question) return buildFailure(question.why)
  const answer = parseAnswer({ action: 'accept', ...args }) ?? { action: 'cancel' }
  const answered = parts.service().answerQuestion(view.id, caller.owner, question.id, answer, caller.identity)
  return waitForTask(tool, answered, false)
}

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

function handleResult({ args, caller, parts }: ToolCall, view: TaskView): Answer {
  const { what = 'text', offset = 0, max_bytes = PAGE_BYTES } = args
  const page = parts.service().readPage(view.id, caller.owner, what as 'text', Number(offset), Number(max_bytes))
  if (page === undefined) return buildFailure(`task ${view.id} has no ${String(what)}`)
  return buildPageAnswer(view, String(what), Number(offset), page)
}

/** Interval between progress notifications. */
const PROGRESS_MS = 5000

/** Waits for a task like `followTask`, and requests input that it needs. */
async function waitForTask(tool: ToolCall, first: TaskView, isHeld: boolean): Promise<Answer> {
  const { exchange } = tool.call
  const view = await followTask(tool, first, { ms: Number(tool.args.wait_ms ?? MAX_WAIT_MS), isHeld })
  const canAsk = view.questions.length > 0 && canShowForm(exchange) && !exchange.cancelled
  return canAsk ? requestInput(view, isHeld) : buildTaskAnswer(view)
}

interface FollowOptions {
  readonly ms: number
  /** Known event number; newer events end the wait. */
  readonly since?: number | undefined
  /** True if the task is cancelled with the call, because no other client knows its id. */
  readonly isHeld: boolean
}

/** Waits until the task ends, needs input or has news, or the time or the client's patience is over. */
async function followTask(
  { call, caller: { owner }, parts: { clock, service, patience, stopping } }: ToolCall,
  first: TaskView,
  { ms, since, isHeld }: FollowOptions,
): Promise<TaskView> {
  const until = clock.now() + Math.min(ms, patience.get(call.exchange) ?? Infinity)
  const gaveUp = new AbortController()
  const unlisten = call.onCancel(reason => gaveUp.abort(reason))
  const signal = AbortSignal.any([gaveUp.signal, stopping])
  const reportProgress = createProgressReporter(call.exchange)
  let view = first
  while (until - clock.now() >= 1 && !isWaitOver(view, since) && !signal.aborted) {
    const pauseMs = Math.min(until - clock.now(), PROGRESS_MS)
    view = (await service().wait(view.id, owner, { ms: pauseMs, since, signal })) ?? view
    if (!hasEnded(view.state)) reportProgress(view)
  }
  unlisten()
  return isHeld && signal.aborted ? cancelTask(service(), view, owner, String(signal.reason)) : view
}

function cancelTask(service: TaskService, view: TaskView, owner: string, reason: string): TaskView {
  return service.cancel(view.id, owner, reason) ? (service.view(view.id, owner) ?? view) : view
}

/** Requests input from the client; the retry returns the task id in sealed state. */
function requestInput(view: TaskView, isHeld: boolean): Answer {
  const requestState = JSON.stringify({ task: view.id, isHeld })
  return {
    input: Payload.of(
      { resultType: 'input_required', inputRequests: buildInputRequests(view), requestState },
      'modern',
    ),
  }
}

interface RetriedTask {
  readonly task: string
  readonly isHeld: boolean
}

/** Parses the task id from a retry. */
function parseRetry({ params }: Call): RetriedTask | undefined {
  const state = params?.requestState
  if (typeof state !== 'string') return undefined
  try {
    const value = JSON.parse(state) as unknown
    if (!isObject(value) || typeof value.task !== 'string') return undefined
    return { task: value.task, isHeld: value.isHeld === true }
  } catch {
    return undefined
  }
}

/** Sends progress notifications if the client requested them. */
function createProgressReporter(exchange: Exchange): (view: TaskView) => void {
  const meta = exchange.params?._meta
  const progressToken = isObject(meta) ? meta.progressToken : undefined
  if (progressToken === undefined) return () => undefined
  let progress = 0
  return ({ state, progress: message, agent }) =>
    exchange.emit({
      method: 'notifications/progress',
      params: {
        progressToken,
        progress: ++progress,
        message: message ?? `${state}${agent === undefined ? '' : ` on ${agent}`}`,
      },
    })
}

/** Stores a task, then returns it or waits for its result. @throws GatewayError */
async function startTask(tool: ToolCall, request: TaskRequest): Promise<Answer> {
  const { call, caller, parts } = tool
  const { continues, background } = request
  if (continues !== undefined && findTask(parts.service(), continues, caller) === undefined)
    return buildFailure(UNKNOWN_TASK)
  const isKept = background || call.mayBeTask === true
  const view = await parts.service().delegate({ ...scopeRequest(request, caller), background: isKept }, caller)
  if (call.mayBeTask === true) return { task: Payload.of({ ...formatTaskState(view), resultType: 'task' }, 'modern') }
  if (background) return buildTaskAnswer(view)
  if (call.exchange.cancelled) parts.service().cancel(view.id, caller.owner, 'the call was cancelled')
  return waitForTask(tool, view, true)
}

/** Separates an agent's idempotency keys from its owner's. */
function scopeRequest(request: TaskRequest, { parent }: TaskCaller): TaskRequest {
  const { idempotencyKey } = request
  if (parent === undefined || idempotencyKey === undefined) return request
  return { ...request, idempotencyKey: `${parent.task}:${idempotencyKey}` }
}

/** Handles a retry with the requested input. */
async function resumeTask(tool: ToolCall, { task, isHeld }: RetriedTask): Promise<Answer> {
  const { call, caller, parts } = tool
  const before = findTask(parts.service(), task, caller)
  if (before === undefined) return buildFailure(UNKNOWN_TASK)
  applyAnswers(parts.service(), before, caller, call.params?.inputResponses)
  return waitForTask(tool, parts.service().view(task, caller.owner) ?? before, isHeld)
}

/** Parses `delegate_task` arguments that were validated before. */
export function parseRequest(args: JsonObject): TaskRequest {
  const text = (key: string): string | undefined => args[key] as string | undefined
  const texts = (key: string): readonly string[] => (args[key] as readonly string[] | undefined) ?? []
  return {
    prompt: String(args.prompt),
    agent: text('agent'),
    taskType: text('task_type'),
    capabilities: texts('capabilities'),
    cwd: text('cwd'),
    files: texts('files'),
    continues: text('continues'),
    model: text('model'),
    timeoutMs: typeof args.timeout_s === 'number' ? args.timeout_s * 1000 : undefined,
    isolation: args.isolation as TaskRequest['isolation'],
    idempotencyKey: text('idempotency_key'),
    background: args.background === true,
  }
}
