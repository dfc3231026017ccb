import { legacyTask, readTask, relatedTask, relateTo } from '../../protocol/era/tasks.ts'
import { isObject, type JsonObject } from '../../protocol/jsonrpc.ts'
import { editMembers, membersOf, valueOf } from '../../protocol/members.ts'
import { Payload } from '../../protocol/payload.ts'
import { hookReplies } from '../ask-client.ts'
import type { RoadExchange } from '../exchange.ts'
import { detached } from '../fanout.ts'
import type { Graph } from '../graph.ts'
import type { Answer } from '../ports.ts'
import { askAboutTask } from './follow.ts'
import { lateAnswer, lateAnswerIn } from './late-answer.ts'
import type { ServerPlace } from './task-id.ts'

/** A modern client's request about a modern server's task, under the server's own id. */
export async function passModern(place: ServerPlace, exchange: RoadExchange, graph: Graph): Promise<Answer> {
  const { original: taskId, upstream } = place
  return askAboutTask({ graph, upstream, exchange }, exchange.method, { ...exchange.params, taskId })
}

const INPUT_REQUIRED = '"input_required"'
const RENAMED: ReadonlySet<string> = new Set(['taskId', 'resultType'])

/** The state of a modern server's task. Hooks may answer what it asks; the rest is the client's. */
export async function getModern(place: ServerPlace, exchange: RoadExchange, graph: Graph): Promise<Answer> {
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
  return { result: await withoutAnswered(payload, place, exchange, graph) }
}

async function withoutAnswered(
  payload: Payload,
  { upstream, original: taskId }: ServerPlace,
  exchange: RoadExchange,
  graph: Graph,
): Promise<Payload> {
  const { inputRequests, ...state } = payload.value()
  const inputResponses = await hookReplies(inputRequests, exchange, graph)
  if (Object.keys(inputResponses).length === 0) return payload
  await askAboutTask({ graph, upstream, exchange }, 'tasks/update', {
    taskId,
    inputResponses: { ...inputResponses },
  })
  const rest = Object.entries(isObject(inputRequests) ? inputRequests : {}).filter(
    ([key]) => !Object.hasOwn(inputResponses, key),
  )
  return rest.length === 0
    ? Payload.of({ ...state, status: 'working' }, 'modern')
    : Payload.of({ ...state, inputRequests: Object.fromEntries(rest) }, 'modern')
}

/** A legacy client's request about a legacy server's task: what is said on the way belongs to it by the right id on each side. */
export async function passLegacy(place: ServerPlace, exchange: RoadExchange, graph: Graph): Promise<Answer> {
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
  { session }: RoadExchange,
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
