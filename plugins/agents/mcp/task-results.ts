import type { Answer, Exchange, JsonObject } from '../../../src/plugin.ts'
import { GatewayError, isObject, RPC, toolError, createUpstreamAnswer, supportsForms } from '../../../src/plugin.ts'
import type { Page } from '../store/task-journal.ts'
import { hasEnded } from '../store/task-store.ts'
import type { TaskService, TaskView } from '../tasks/service.ts'
import type { QuestionAnswer, TaskCaller, TaskEvent } from '../types.ts'

/** Formats a task for the extension; open questions take precedence over its state. */
export function formatTaskState(view: TaskView, canAsk = false): JsonObject {
  const status = hasEnded(view.state) ? view.state : view.questions.length > 0 && canAsk ? 'input_required' : 'working'
  return {
    taskId: view.id,
    status,
    statusMessage: formatMessage(view),
    createdAt: new Date(view.createdAt).toISOString(),
    lastUpdatedAt: new Date(view.updatedAt).toISOString(),
    ttlMs: view.ttlMs,
    pollIntervalMs: POLL_MS / 2,
  }
}

function formatMessage({ state, why, progress, questions, agent }: TaskView): string {
  const [question] = questions
  if (question !== undefined) return `question: ${question.message}`
  return why ?? progress ?? `${state}${agent === undefined ? '' : ` on ${agent}`}`
}

/** Adds members that depend on the state. Clients without forms answer with `agent_reply`. */
export function formatTaskDetails(view: TaskView, exchange: Exchange): JsonObject {
  const state = formatTaskState(view, canShowForm(exchange))
  if (state.status === 'input_required') return { ...state, inputRequests: buildInputRequests(view) }
  if (view.state === 'completed') return { ...state, result: buildResult(view) }
  if (view.state !== 'failed') return state
  return {
    ...state,
    error: { code: RPC.internal, message: view.why ?? view.state, data: formatStructured(view) },
  }
}

function buildResult(view: TaskView): JsonObject {
  const answer = buildTaskAnswer(view)
  return 'result' in answer ? answer.result.value() : {}
}

/** Suggested polling interval. */
export const POLL_MS = 2000

/** The same message for unknown tasks and other owners' tasks. */
export const UNKNOWN_TASK = 'Unknown task: expired, or not yours'

/** Builds a tool result: structured content, and text with the agent's output followed by JSON. */
export function buildToolResult(facts: Record<string, unknown>, isError = false, hasText = true): Answer {
  const structuredContent = dropUndefined(facts)
  const { text, ...rest } = structuredContent
  const fields = Object.entries(rest).filter(([, value]) => !Array.isArray(value) || value.length > 0)
  const texts = [...(hasText && text ? [String(text)] : []), JSON.stringify(Object.fromEntries(fields))]
  return createUpstreamAnswer({
    content: texts.map(each => ({ type: 'text', text: each })),
    structuredContent,
    isError,
  })
}

/** Builds an error result for the model, with the retry delay if known. */
export function buildFailure(message: string, retryAfterMs?: unknown): Answer {
  if (typeof retryAfterMs !== 'number') return createUpstreamAnswer(toolError(message))
  const text = `${message}; retry in ${Math.ceil(retryAfterMs / 1000)} s`
  const _meta = { 'io.tapgate/retryAfterMs': retryAfterMs }
  return createUpstreamAnswer({ ...toolError(text), _meta })
}

export function buildTaskAnswer(view: TaskView): Answer {
  return buildToolResult(formatStructured(view), isFailed(view))
}

export function formatStructured(view: TaskView): JsonObject {
  const { decision, endedAt, updatedAt, createdAt } = view
  return dropUndefined({
    task_id: view.id,
    state: view.state,
    is_error: isFailed(view),
    why: view.why,
    agent: view.agent,
    routed_by: decision.by,
    session_id: view.sessionId,
    cwd: view.cwd,
    stop_reason: view.stopReason,
    text: view.text,
    truncated: view.truncated,
    bytes_total: view.bytesTotal,
    files_changed: [...view.filesChanged],
    has_diff: view.hasDiff,
    denied: [...view.denied],
    warnings: [...view.warnings],
    usage: view.usage,
    attempts: view.attempts.map(attempt => ({ ...attempt })),
    questions: view.questions.map(({ id, ...question }) => ({ question_id: id, ...question })),
    progress: view.progress,
    duration_ms: Math.max(0, (endedAt ?? updatedAt) - createdAt),
    seq: view.seq,
    poll_after_ms: hasEnded(view.state) ? undefined : POLL_MS,
    next: suggestNextStep(view),
  })
}

function suggestNextStep(view: TaskView): string | undefined {
  if (view.questions.length > 0) return 'agent_reply answers its questions'
  if (!hasEnded(view.state)) return 'still running: agent_status with wait_ms waits for it'
  return view.truncated ? 'agent_result returns the full text' : undefined
}

export function buildStatusAnswer(view: TaskView, events: readonly TaskEvent[]): Answer {
  const rows = events.map(event => ({ ...event, at: new Date(event.at).toISOString() }))
  return buildToolResult({ ...formatStructured(view), events: rows }, isFailed(view), hasEnded(view.state))
}

export function buildTaskList(views: readonly TaskView[]): Answer {
  return buildToolResult({ tasks: views.map(pickOutcome) })
}

/** Returns the members common to all task formats. */
function pickOutcome(view: TaskView): Record<string, unknown> {
  const { id, state, why, agent, progress } = view
  return { task_id: id, state, is_error: isFailed(view), why, agent, progress }
}

function isFailed(view: TaskView): boolean {
  return hasEnded(view.state) && view.isError
}

export function buildPageAnswer(view: TaskView, part: string, offset: number, page: Page): Answer {
  const { text, next, total, cut } = page
  const { agent: _, progress: __, ...outcome } = pickOutcome(view)
  const about = { what: part, text, offset, next_offset: next, bytes_total: total, truncated: cut }
  return buildToolResult({ ...outcome, ...about }, isFailed(view))
}

function dropUndefined(value: Record<string, unknown>): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined))
}

export function canShowForm({ canAsk, session }: Exchange): boolean {
  return canAsk && supportsForms(session.client)
}

/** Builds `inputRequests`, elicitation requests, from the open questions. */
export function buildInputRequests({ questions }: TaskView): JsonObject {
  const requests = questions.map(({ id, message, schema }) => {
    const params = { mode: 'form', message, requestedSchema: schema }
    return [id, { method: 'elicitation/create', params }] as const
  })
  return Object.fromEntries(requests)
}

/** Parses a form response; undefined if it is invalid. */
export function parseAnswer(reply: unknown): QuestionAnswer | undefined {
  if (!isObject(reply)) return undefined
  const { action, content } = reply
  if (action === 'accept') return { action, content: isObject(content) ? content : {} }
  return action === 'decline' || action === 'cancel' ? { action } : undefined
}

/** Applies a client's answers. Ignores unknown and already answered questions, and invalid answers. */
export function applyAnswers(
  service: TaskService,
  { id: task, questions }: TaskView,
  { owner, identity }: TaskCaller,
  responses: unknown,
): void {
  if (!isObject(responses)) return
  for (const { id } of questions) {
    const answer = Object.hasOwn(responses, id) ? parseAnswer(responses[id]) : undefined
    if (answer === undefined) continue
    try {
      service.answerQuestion(task, owner, id, answer, identity)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
    }
  }
}
