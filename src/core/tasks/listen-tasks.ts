import { isTerminal, readTask } from '../../protocol/era/tasks.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import type { PipelineExchange } from '../exchange.ts'
import { detached } from '../catalog/fetch-lists.ts'
import type { Graph, TaskPlace } from '../types.ts'
import type { HostedTask } from './hosted-task.ts'
import { getModern } from './relay.ts'
import { openTaskId, type ServerPlace } from './task-id.ts'

/** Tasks that one `subscriptions/listen` may hear of. */
const MAX_TASKS = 100
/** Bounds of the pause between two looks at a server's task. */
const MIN_POLL_MS = 100
const MAX_POLL_MS = 30_000
const POLL_MS = 1000

/** Those of the tasks a client asks for that are its own. */
export function ownTasks(exchange: PipelineExchange, graph: Graph, asked: unknown): readonly string[] {
  if (!Array.isArray(asked)) return []
  const ids = (asked as unknown[]).filter(id => typeof id === 'string').slice(0, MAX_TASKS)
  return [...new Set(ids)].filter(id => placeOf(exchange, graph, id) !== undefined)
}

function placeOf(exchange: PipelineExchange, graph: Graph, taskId: string): TaskPlace | undefined {
  const place = openTaskId(graph, exchange.session, taskId)
  if (place?.at !== 'gateway') return place?.era === 'modern' ? place : undefined
  return graph.tasks.hosted(place.original, exchange.session) === undefined ? undefined : place
}

/** Tells the client of each change of these tasks until it stops listening. */
export function tellOfTasks(taskIds: readonly string[], exchange: PipelineExchange, graph: Graph): void {
  for (const taskId of taskIds) {
    const place = placeOf(exchange, graph, taskId)
    if (place?.at === 'gateway') tellOfHosted(graph.tasks.hosted(place.original, exchange.session), exchange)
    else if (place !== undefined) void tellOfRelayed(taskId, place, exchange, graph)
  }
}

function tellOfHosted(task: HostedTask | undefined, exchange: PipelineExchange): void {
  if (task === undefined) return
  const tell = (): void => emit(exchange, task.detailed(exchange.session.client))
  exchange.onCancel(task.watch(tell))
  tell()
}

/** Not every server tells, so we look; the client is told what is new. */
async function tellOfRelayed(
  taskId: string,
  place: ServerPlace,
  exchange: PipelineExchange,
  graph: Graph,
): Promise<void> {
  let last: string | undefined
  while (!exchange.cancelled && exchange.answer === undefined) {
    const value = await look(taskId, place, exchange, graph)
    if (value === 'gone') return
    const state = readTask(value)
    if (state !== undefined) {
      const seen = JSON.stringify([state.status, state.lastUpdatedAt, state.statusMessage])
      if (seen !== last) emit(exchange, value)
      if (isTerminal(state.status)) return
      last = seen
    }
    await pause(state?.pollIntervalMs, exchange, graph)
  }
}

/** The task as it is, or nothing where its server could not be asked this time. */
async function look(
  taskId: string,
  place: ServerPlace,
  exchange: PipelineExchange,
  graph: Graph,
): Promise<JsonObject | 'gone'> {
  const own = detached(graph, exchange.session, 'tasks/get')
  own.params = { taskId }
  try {
    const answer = await getModern(place, own, graph)
    if (!('result' in answer)) return 'gone'
    const { resultType: _type, _meta, ...value } = answer.result.value()
    return value
  } catch {
    return {}
  }
}

function emit(exchange: PipelineExchange, params: JsonObject): void {
  exchange.emit({ method: 'notifications/tasks', params })
}

function pause(pollIntervalMs = POLL_MS, exchange: PipelineExchange, graph: Graph): Promise<void> {
  const ms = Math.max(MIN_POLL_MS, Math.min(pollIntervalMs, MAX_POLL_MS))
  return new Promise(resolve => {
    const takeBack = exchange.onCancel(() => resolve())
    graph.clock.after(ms, () => {
      takeBack()
      resolve()
    })
  })
}
