import type { Answer, Call, Exchange, JsonObject } from '../../../src/plugin.ts'
import { GatewayError, isObject, Payload, refuse, RPC } from '../../../src/plugin.ts'
import type { TaskView } from '../tasks/service.ts'
import type { QuestionAnswer, TaskCaller, TaskRequest } from '../types.ts'
import type { McpDeps } from './callers.ts'
import { findTask, identifyCaller, listTasks, parseWait } from './callers.ts'
import {
  formatAgentRow,
  applyAnswers,
  buildFailure,
  buildInputRequests,
  buildPageAnswer,
  buildStatusAnswer,
  buildTaskAnswer,
  buildTaskList,
  buildToolResult,
  buildUnknownTask,
  canShowForm,
  formatTaskState,
  hasEnded,
  parseAnswer,
} from './task-results.ts'
import type { ToolName } from './schemas.ts'
import { INPUTS, MAX_WAIT_MS, PAGE_BYTES, validateArguments } from './schemas.ts'

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
  const view = await followTask(call, first, { owner: caller.owner, since, ms: parseWait(args) ?? 0 }, parts)
  const from = since ?? Math.max(0, view.seq - MAX_EVENTS)
  return buildStatusAnswer(view, service.events(view.id, caller.owner, from, MAX_EVENTS))
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

/** Interval between progress notifications. */
const PROGRESS_MS = 5000

interface DelegationWait {
  readonly call: Call
  readonly owner: string
  /** True if the task is cancelled with the call, because no other client knows its id. */
  readonly isHeld: boolean
}

/** Waits for a task like `followTask`, and requests input that it needs. Cancelling the call cancels a held task. */
async function waitForTask(parts: McpDeps, first: TaskView, waited: DelegationWait): Promise<Answer> {
  const { call, owner, isHeld } = waited
  const cancelTask = (reason: string): void => {
    if (isHeld) parts.service().cancel(first.id, owner, reason)
  }
  const stopTask = (): void => cancelTask('the gateway is stopping')
  const unlisten = call.onCancel(cancelTask)
  parts.stopping.addEventListener('abort', stopTask)
  const view = await followTask(call, first, { owner, ms: parseWait(call.params?.arguments) ?? MAX_WAIT_MS }, parts)
  unlisten()
  parts.stopping.removeEventListener('abort', stopTask)
  const canAsk = view.questions.length > 0 && canShowForm(call.exchange) && !call.exchange.cancelled
  return canAsk ? requestInput(view, isHeld) : buildTaskAnswer(view)
}

interface FollowOptions {
  readonly owner: string
  readonly ms: number
  /** Known event number; newer events end the wait. */
  readonly since?: number | undefined
}

/** Waits until the task ends, needs input or has news, or the time or the client's patience is over. */
async function followTask(
  call: Call,
  first: TaskView,
  { owner, ms, since }: FollowOptions,
  { clock, service, patience, stopping }: McpDeps,
): Promise<TaskView> {
  const until = clock.now() + Math.min(ms, patience.get(call.exchange) ?? Infinity)
  const gaveUp = new AbortController()
  const unlisten = call.onCancel(() => gaveUp.abort())
  const signal = AbortSignal.any([gaveUp.signal, stopping])
  const reportProgress = createProgressReporter(call.exchange)
  let view = first
  for (
    let remainingMs = until - clock.now();
    remainingMs >= 1 && !hasNews(view, since) && !signal.aborted;
    remainingMs = until - clock.now()
  ) {
    view = (await service().wait(view.id, owner, { ms: Math.min(remainingMs, PROGRESS_MS), since, signal })) ?? view
    if (!hasEnded(view)) reportProgress(view)
  }
  unlisten()
  return view
}

function hasNews(view: TaskView, since: number | undefined): boolean {
  return hasEnded(view) || view.questions.length > 0 || (since !== undefined && view.seq > since)
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

/** Parses the task id from a retry. */
function parseRetry({ params }: Call): { task: string; isHeld: boolean } | undefined {
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

/** Handles `delegate_task`: stores a task, then returns it or its result. */
async function delegateTask(call: Call, args: JsonObject, parts: McpDeps): Promise<Answer> {
  const retried = parseRetry(call)
  if (retried !== undefined) return resumeTask(call, retried, parts)
  return startTask(call, parseRequest(args), parts)
}

/** Starts a task and waits for it. @throws GatewayError only for errors that the caller cannot fix */
async function startTask(call: Call, request: TaskRequest, parts: McpDeps): Promise<Answer> {
  const caller = identifyCaller(call.exchange, parts.tokens)
  const isKept = request.background || call.mayBeTask === true
  const { continues } = request
  if (continues !== undefined && findTask(parts.service(), continues, caller) === undefined) return buildUnknownTask()
  try {
    const view = await parts.service().delegate({ ...scopeRequest(request, caller), background: isKept }, caller)
    if (call.mayBeTask === true) return { task: Payload.of({ ...formatTaskState(view), resultType: 'task' }, 'modern') }
    if (request.background) return buildTaskAnswer(view)
    if (call.exchange.cancelled) parts.service().cancel(view.id, caller.owner, 'the call was cancelled')
    return await waitForTask(parts, view, { call, owner: caller.owner, isHeld: true })
  } catch (error) {
    if (error instanceof GatewayError) return buildFailure(error.message, error.fields.retryAfterMs)
    throw error
  }
}

/** Separates an agent's idempotency keys from its owner's. */
function scopeRequest(request: TaskRequest, { parent }: TaskCaller): TaskRequest {
  const { idempotencyKey } = request
  if (parent === undefined || idempotencyKey === undefined) return request
  return { ...request, idempotencyKey: `${parent.task}:${idempotencyKey}` }
}

/** Handles a retry with the requested input. */
async function resumeTask(
  call: Call,
  { task, isHeld }: { readonly task: string; readonly isHeld: boolean },
  parts: McpDeps,
): Promise<Answer> {
  const caller = identifyCaller(call.exchange, parts.tokens)
  const before = findTask(parts.service(), task, caller)
  if (before === undefined) return buildUnknownTask()
  const { owner } = caller
  applyAnswers(parts.service(), before, caller, call.params?.inputResponses)
  const view = parts.service().view(task, owner) ?? before
  return waitForTask(parts, view, { call, owner, isHeld })
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

/** Builds a follow-up request in the task's session. */
function buildFollowUpRequest(task: string, prompt: string, background: boolean): TaskRequest {
  return { ...parseRequest({ prompt }), continues: task, background }
}
