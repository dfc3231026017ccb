import type { Answer, Call, Exchange, JsonObject } from '../../../src/plugin.ts'
import { GatewayError, isObject, Payload } from '../../../src/plugin.ts'
import type { TaskView } from '../tasks/service.ts'
import type { TaskCaller, TaskRequest } from '../types.ts'
import type { McpDeps } from './callers.ts'
import { findTask, identifyCaller } from './callers.ts'
import {
  elicitAnswer,
  canShowForm,
  buildFailure,
  applyAnswers,
  hasEnded,
  buildInputRequests,
  buildTaskAnswer,
  formatTaskState,
  tryAnswer,
  buildUnknownTask,
} from './task-results.ts'

/** Interval between progress notifications. */
export const PROGRESS_MS = 5000

interface DelegationWait {
  readonly call: Call
  readonly owner: string
  /** True if the task is cancelled with the call, because no other client knows its id. */
  readonly isHeld: boolean
}

/**
 * Waits on behalf of a client without task support, until the task ends, needs input, or the client's patience
 * expires. Cancelling the call cancels the task, unless another client knows its id.
 */
export async function waitForTask(parts: McpDeps, first: TaskView, waited: DelegationWait): Promise<Answer> {
  const { call, owner, isHeld } = waited
  const { exchange } = call
  const release = isHeld ? parts.foreground.hold(first.id) : () => false
  const cancelTask = (reason: string): void => {
    if (release()) parts.service().cancel(first.id, owner, reason)
  }
  const unlisten = [call.onCancel(cancelTask), parts.foreground.onEnd(() => cancelTask('the gateway is stopping'))]
  const wait = openWait(call, parts)
  const view = await followTask(parts, first, waited, wait.signal)
  for (const close of [...unlisten, wait.close]) close()
  if (exchange.cancelled) return buildTaskAnswer(view)
  if (view.questions.length > 0 && exchange.session.client.era === 'modern' && canShowForm(exchange)) {
    release()
    return requestInput(view, isHeld)
  }
  if (!hasEnded(view)) parts.foreground.release(view.id)
  release()
  return buildTaskAnswer(view)
}

/** Creates a signal that is aborted on cancellation, when the client's patience expires, or on shutdown. */
export function openWait(
  call: Call,
  { foreground, patience }: McpDeps,
): { readonly signal: AbortSignal; close(): void } {
  const gaveUp = new AbortController()
  const giveUp = (): void => gaveUp.abort()
  const closers = [call.onCancel(giveUp), foreground.onEnd(giveUp), patience.trackWait(call.exchange, giveUp)]
  return { signal: gaveUp.signal, close: () => closers.forEach(close => close()) }
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
export function parseRetry({ params }: Call): { task: string; isHeld: boolean } | undefined {
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

/** Resolves when the task ends, needs input that this call cannot request, or the wait is aborted. */
async function followTask(
  parts: McpDeps,
  first: TaskView,
  waited: DelegationWait,
  signal: AbortSignal,
): Promise<TaskView> {
  const refused = new Set<string>()
  const reportProgress = createProgressReporter(waited.call.exchange)
  let view = first
  while (!hasEnded(view) && !signal.aborted) {
    if (view.questions.length > 0) {
      const after = await askClient(parts, view, waited, refused)
      if (after === undefined) break
      view = after
    }
    const wait = { ms: PROGRESS_MS, signal }
    view = (await parts.service().wait(view.id, waited.owner, wait)) ?? view
    if (!hasEnded(view)) reportProgress(view)
  }
  return view
}

/** Asks a legacy client a question; undefined if there is none that it can answer. */
async function askClient(
  { service, tokens }: McpDeps,
  view: TaskView,
  { call: { exchange }, owner }: DelegationWait,
  refused: Set<string>,
): Promise<TaskView | undefined> {
  if (exchange.session.client.era === 'modern' || !canShowForm(exchange)) return undefined
  const question = view.questions.find(({ id }) => !refused.has(id))
  if (question === undefined) return undefined
  const answer = await elicitAnswer(exchange, service(), view, question, owner)
  if (answer !== undefined) tryAnswer(service(), view.id, identifyCaller(exchange, tokens), question.id, answer)
  const after = service().view(view.id, owner) ?? view
  if (after.questions.some(({ id }) => id === question.id)) refused.add(question.id)
  return after
}

/** Sends progress notifications if the client requested them. */
export function createProgressReporter(exchange: Exchange): (view: TaskView) => void {
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
export async function delegateTask(call: Call, args: JsonObject, parts: McpDeps): Promise<Answer> {
  const retried = parseRetry(call)
  if (retried !== undefined) return resumeTask(call, retried, parts)
  return startTask(call, parseRequest(args), parts)
}

/** Starts a task and waits for it. @throws GatewayError only for errors that the caller cannot fix */
export async function startTask(call: Call, request: TaskRequest, parts: McpDeps): Promise<Answer> {
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
export async function resumeTask(
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
    mode: text('mode'),
    model: text('model'),
    timeoutMs: typeof args.timeout_s === 'number' ? args.timeout_s * 1000 : undefined,
    isolation: args.isolation as TaskRequest['isolation'],
    idempotencyKey: text('idempotency_key'),
    background: args.background === true,
  }
}

/** Builds a follow-up request in the task's session. */
export function buildFollowUpRequest(task: string, prompt: string, background: boolean): TaskRequest {
  return { ...parseRequest({ prompt }), continues: task, background }
}
