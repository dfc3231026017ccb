import { GatewayError, Payload, type Answer, type Call, type JsonObject } from '../../../src/plugin.ts'
import type { Caller, TaskRequest, TaskView } from '../types/tasks.ts'
import type { McpParts } from './parts.ts'
import { giveAnswers } from './questions.ts'
import { failed, hasEnded, toldTask, unknownTask } from './said.ts'
import { taskState } from './tasks.ts'
import { taskOfRetry, waitFor } from './waiting.ts'

/** What ends within this time is answered at once, also where a task could be made of it. */
const INLINE_MS = 250

/** `delegate_task`: a task on disk first, then whatever this client can be given of it. */
export async function delegateTask(call: Call, given: JsonObject, parts: McpParts): Promise<Answer> {
  const retried = taskOfRetry(call)
  if (retried !== undefined) return goOn(call, given, retried, parts)
  return begin(call, given, requestOf(given), parts)
}

/** A new task, and the wait for it. @throws GatewayError only what is not the caller's to mend */
export async function begin(
  call: Call,
  given: JsonObject,
  request: TaskRequest,
  parts: McpParts,
): Promise<Answer> {
  const caller = parts.callers.callerOf(call.exchange)
  const isKept = request.background || call.mayBeTask === true
  if (request.continues !== undefined && !parts.callers.mayTouch(request.continues, caller))
    return unknownTask()
  try {
    const view = await parts.service().delegate({ ...apart(request, caller), background: isKept }, caller)
    parts.begun(view.id, caller)
    if (call.mayBeTask === true) return await asTask(view, caller.owner, parts)
    if (request.background) return toldTask(view)
    if (call.exchange.cancelled) parts.service().cancel(view.id, caller.owner, 'the call was given up')
    return await waitFor(parts, view, { call, owner: caller.owner, waitMs: waitOf(given), isHeld: true })
  } catch (error) {
    if (error instanceof GatewayError) return failed(error.publicMessage, error.fields.retryAfterMs)
    throw error
  }
}

async function asTask(first: TaskView, owner: string, parts: McpParts): Promise<Answer> {
  const view = (await parts.service().wait(first.id, owner, { ms: INLINE_MS })) ?? first
  if (hasEnded(view)) return toldTask(view)
  return { task: Payload.of({ ...taskState(view), resultType: 'task' }, 'modern') }
}

/** An agent's keys are its own: the same key of its owner is another task. */
function apart(request: TaskRequest, { parent }: Caller): TaskRequest {
  const { idempotencyKey } = request
  if (parent === undefined || idempotencyKey === undefined) return request
  return { ...request, idempotencyKey: `${parent.task}:${idempotencyKey}` }
}

/** The client comes back with what the task needed. */
export async function goOn(
  call: Call,
  given: JsonObject,
  { task, isHeld }: { readonly task: string; readonly isHeld: boolean },
  parts: McpParts,
): Promise<Answer> {
  const caller = parts.callers.callerOf(call.exchange)
  const before = parts.callers.find(parts.service(), task, caller)
  if (before === undefined) return unknownTask()
  const { owner } = caller
  giveAnswers(parts.service(), before, owner, call.params?.inputResponses)
  const view = parts.service().view(task, owner) ?? before
  return waitFor(parts, view, { call, owner, waitMs: waitOf(given), isHeld })
}

export function waitOf({ wait_ms }: JsonObject): number | undefined {
  return typeof wait_ms === 'number' ? wait_ms : undefined
}

/** What `delegate_task` was given, checked against its schema already. */
export function requestOf(given: JsonObject): TaskRequest {
  const text = (key: string): string | undefined => given[key] as string | undefined
  const texts = (key: string): readonly string[] => (given[key] as readonly string[] | undefined) ?? []
  return {
    prompt: String(given.prompt),
    agent: text('agent'),
    taskType: text('task_type'),
    capabilities: texts('capabilities'),
    cwd: text('cwd'),
    files: texts('files'),
    continues: text('continues'),
    mode: text('mode'),
    model: text('model'),
    timeoutMs: typeof given.timeout_s === 'number' ? given.timeout_s * 1000 : undefined,
    isolation: given.isolation as TaskRequest['isolation'],
    idempotencyKey: text('idempotency_key'),
    background: given.background === true,
  }
}

/** The next prompt for the session of a task. */
export function nextRequest(task: string, prompt: string, background: boolean): TaskRequest {
  return { ...requestOf({ prompt }), continues: task, background }
}
