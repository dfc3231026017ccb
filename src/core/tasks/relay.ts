import type { Answer } from '../../api/index.ts'
import { legacyTask, readTask, relateTo, relatedTask } from '../../protocol/era/tasks.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { editMembers, membersOf, valueOf } from '../../protocol/json/members.ts'
import { Payload } from '../../protocol/payload.ts'
import { detached } from '../catalog/fetch-lists.ts'
import { hookReplies, leftFor } from '../client-request.ts'
import type { PipelineExchange } from '../exchange.ts'
import type { Graph } from '../types.ts'
import { askAboutTask } from './follow.ts'
import { lateAnswer, lateAnswerIn } from './late-answer.ts'
import type { ServerPlace } from './task-id.ts'

/** A modern client's request about a modern server's task, under the server's own id. */
export async function passModern(
  place: ServerPlace,
  exchange: PipelineExchange,
  graph: Graph,
): Promise<Answer> {
  const { original: taskId, upstream } = place
  return askAboutTask({ graph, upstream, exchange }, exchange.method, { ...exchange.params, taskId })
}

const INPUT_REQUIRED = '"input_required"'
const RENAMED: ReadonlySet<string> = new Set(['taskId', 'resultType'])

/** The state of a modern server's task. Hooks may answer what it asks; the rest is the client's. */
export async function getModern(
  place: ServerPlace,
  exchange: PipelineExchange,
  graph: Graph,
): Promise<Answer> {
  const answer = await passModern(place, exchange, graph)
  if (!('result' in answer)) return answer
  const ours = String(exchange.params?.taskId)
  const bytes = answer.result.bytes()
  const members = membersOf(bytes)
  // A result of any size passes as the bytes it came in.
  const renamed = editMembers(
    bytes,
    members,
    RENAMED,
    `"resultType":"complete","taskId":${JSON.stringify(ours)}`,
  )
  const payload = await lateAnswerIn(Payload.raw(renamed, 'modern'), place, exchange.session, graph)
  if (valueOf(bytes, members, 'status')?.toString() !== INPUT_REQUIRED) return { result: payload }
  return withoutAnswered(payload, place, exchange, graph)
}

async function withoutAnswered(
  payload: Payload,
  { upstream, original: taskId }: ServerPlace,
  exchange: PipelineExchange,
  graph: Graph,
): Promise<Answer> {
  const { inputRequests, ...state } = payload.value()
  const server = { graph, upstream, exchange }
  const replies = await hookReplies(inputRequests, exchange, graph)
  const given = 'given' in replies ? replies.given : {}
  const left = 'denied' in replies ? { error: replies.denied } : leftFor(exchange, inputRequests, given)
  if ('error' in left) {
    // Nobody will ever give it what it waits for.
    await askAboutTask(server, 'tasks/cancel', { taskId })
    return left
  }
  if (Object.keys(given).length === 0) return { result: payload }
  await askAboutTask(server, 'tasks/update', { taskId, inputResponses: { ...given } })
  const isAnswered = Object.keys(left.rest).length === 0
  const open = isAnswered ? { status: 'working' } : { inputRequests: left.rest }
  return { result: Payload.of({ ...state, ...open }, 'modern') }
}

/** A legacy client's request about a legacy server's task: what is said on the way belongs to it by the right id on each side. */
export async function passLegacy(
  place: ServerPlace,
  exchange: PipelineExchange,
  graph: Graph,
): Promise<Answer> {
  const { original, upstream } = place
  const ours = String(exchange.params?.taskId)
  exchange.askThrough(async ({ method, params }, onward) => {
    const reply = await onward({ method, params: params && relateTo(ours, params) })
    return 'result' in reply && relatedTask(reply.result) !== undefined
      ? { result: relateTo(original, reply.result) }
      : reply
  })
  const params = { ...exchange.params, taskId: original }
  const told = await askAboutTask({ graph, upstream, exchange }, exchange.method, params)
  const isEnd = exchange.method === 'tasks/result'
  const answer = isEnd ? await lateAnswer(told, place, exchange.session, graph) : told
  if (!('result' in answer)) return answer
  const value = answer.result.value()
  const named = value.taskId === original ? { ...value, taskId: ours } : value
  return { result: Payload.of(relateTo(ours, named), answer.result.era) }
}

/** How a legacy server's task does, for a list; undefined for one that is gone. */
export async function listOne(
  { upstream, original }: ServerPlace,
  taskId: string,
  { session }: PipelineExchange,
  graph: Graph,
): Promise<JsonObject | undefined> {
  try {
    const exchange = detached(graph, session, 'tasks/get')
    const answer = await askAboutTask({ graph, upstream, exchange }, 'tasks/get', { taskId: original })
    const state = 'result' in answer ? readTask(answer.result.value()) : undefined
    return state === undefined ? undefined : legacyTask({ ...state, taskId })
  } catch {
    // One server that is away is no reason to lose the others' tasks.
    return undefined
  }
}
