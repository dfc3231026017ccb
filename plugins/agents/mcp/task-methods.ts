import {
  type Answer,
  type Call,
  type Exchange,
  isObject,
  type JsonObject,
  refuse,
  RPC,
  upstreamAnswer,
} from '../../../src/plugin.ts'
import type { TaskView } from '../types/tasks.ts'
import type { McpParts } from './callers.ts'
import {
  canBeAsked,
  giveAnswers,
  hasEnded,
  inputRequests,
  inWords,
  POLL_MS,
  structured,
  taskAnswer,
  unknownTaskError,
} from './results.ts'

/** `tasks/get`, `tasks/update` and `tasks/cancel` of the extension, about tasks of `delegate_task`. */
export const TASK_METHODS: ReadonlyMap<string, (call: Call, parts: McpParts) => Answer> = new Map([
  ['tasks/get', (call, parts) => within(call, parts, view => upstreamAnswer(detailed(view, call.exchange)))],
  ['tasks/update', update],
  ['tasks/cancel', cancel],
])

function within(
  { params, exchange }: Call,
  parts: McpParts,
  handler: (view: TaskView, owner: string) => Answer,
): Answer {
  const caller = parts.callers.callerOf(exchange)
  const view = parts.callers.find(parts.service(), params?.taskId, caller)
  return view === undefined ? unknownTaskError() : handler(view, caller.owner)
}

function update(call: Call, parts: McpParts): Answer {
  const responses = call.params?.inputResponses
  if (!isObject(responses))
    return refuse(RPC.invalidParams, 'Invalid params: "inputResponses" must be an object')
  return within(call, parts, (view, owner) => {
    giveAnswers(parts.service(), view, owner, responses)
    return upstreamAnswer({})
  })
}

function cancel(call: Call, parts: McpParts): Answer {
  return within(call, parts, (view, owner) => {
    parts.service().cancel(view.id, owner, 'the client cancelled it')
    return upstreamAnswer({})
  })
}

/** A task as the extension knows it: what waits for its owner does so, whatever has come between. */
export function taskState(view: TaskView, canAsk = false): JsonObject {
  const status = hasEnded(view)
    ? view.state
    : view.questions.length > 0 && canAsk
      ? 'input_required'
      : 'working'
  return {
    taskId: view.id,
    status,
    statusMessage: messageOf(view),
    createdAt: new Date(view.createdAt).toISOString(),
    lastUpdatedAt: new Date(view.updatedAt).toISOString(),
    ttlMs: view.ttlMs,
    pollIntervalMs: POLL_MS / 2,
  }
}

function messageOf({ state, why, progress, questions, agent }: TaskView): string {
  const [question] = questions
  if (question !== undefined) return `it asks: ${question.message}`
  return why ?? progress ?? `${state}${agent === undefined ? '' : ` at ${agent}`}`
}

/** The same with what belongs to its state. A client that cannot be shown a form answers by `agent_reply`. */
function detailed(view: TaskView, exchange: Exchange): JsonObject {
  const state = taskState(view, canBeAsked(exchange))
  if (state.status === 'input_required') return { ...state, inputRequests: inputRequests(view) }
  if (view.state === 'completed') return { ...state, result: resultOf(view) }
  if (view.state !== 'failed') return state
  return { ...state, error: { code: RPC.internal, message: inWords(view), data: structured(view) } }
}

function resultOf(view: TaskView): JsonObject {
  const answer = taskAnswer(view)
  return 'result' in answer ? answer.result.value() : {}
}
