import type { Answer, Session } from '../../api/index.ts'
import { declaresTasks, isTerminal, supportsTasks, toLegacyTask, readTask } from '../../protocol/era/tasks.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { Payload } from '../../protocol/payload.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { cancelledAnswer } from '../client-request.ts'
import type { PipelineExchange } from '../exchange.ts'
import type { Graph, TaskPlace } from '../graph-types.ts'
import { HostedTask } from './hosted-task.ts'
import { getModern, listOne, passLegacy, passModern } from './relay.ts'
import type { ServerPlace } from './task-ids.ts'
import { mayUse, offersTasks, openTaskId, tasksNotDeclared, unknownTask, whyNotUsed } from './task-ids.ts'
import { detached } from '../catalog/fetch-lists.ts'

/** Tasks that one `subscriptions/listen` may hear of. */
const MAX_TASKS = 100

/** Bounds of the pause between two looks at a server's task. */
const MIN_POLL_MS = 100

const MAX_POLL_MS = 30_000

const POLL_MS = 1000

type TaskPlaceAt<At extends TaskPlace['at']> = Extract<TaskPlace, { at: At }>

interface Handler {
  hosted(task: HostedTask, exchange: PipelineExchange): Answer | Promise<Answer>
  relayed(place: TaskPlaceAt<'server'>, exchange: PipelineExchange, graph: Graph): Promise<Answer>
}

const ACK: JsonObject = Object.freeze({ resultType: 'complete' })

/** Methods that a modern client can use on a task (2026-07-28, tasks extension). */
const MODERN: Readonly<Record<string, Handler>> = {
  'tasks/get': {
    hosted: (task, { session }) => modern({ ...task.detailed(session.client), resultType: 'complete' }),
    relayed: getModern,
  },
  'tasks/update': {
    hosted: (task, { params, session }) => {
      if (!isObject(params?.inputResponses)) return invalid('"inputResponses" must be an object')
      task.answer(params.inputResponses, session.client)
      return modern(ACK)
    },
    relayed: passModern,
  },
  'tasks/cancel': {
    hosted: task => {
      task.cancel('the client cancelled it')
      return modern(ACK)
    },
    relayed: passModern,
  },
}

/** Methods that a legacy client can use on a task (2025-11-25, tasks). */
const LEGACY: Readonly<Record<string, Handler>> = {
  'tasks/get': { hosted: task => legacy(toLegacyTask(task.state)), relayed: passLegacy },
  'tasks/result': {
    hosted: async (task, exchange) => (await task.result(exchange)) ?? cancelledAnswer(),
    relayed: passLegacy,
  },
  'tasks/cancel': {
    hosted: task =>
      task.cancel('the client cancelled it')
        ? legacy(toLegacyTask(task.state))
        : invalid(`the task is ${task.state.status} already`),
    relayed: passLegacy,
  },
}

/** `tasks/get`, `update`, `cancel` and `result`: to wherever the task is, if it is this caller's. */
export async function askTask(exchange: PipelineExchange, graph: Graph): Promise<Answer> {
  const { client } = exchange.session
  const handler = (client.era === 'modern' ? MODERN : LEGACY)[exchange.method]
  if (handler === undefined || !supportsTasks(client) || !offersTasks(graph, client.era))
    return notFound(exchange)
  if (client.era === 'modern' && !declaresTasks(client.capabilities)) return { error: tasksNotDeclared() }
  return perform(handler, exchange, graph)
}

async function perform(handler: Handler, exchange: PipelineExchange, graph: Graph): Promise<Answer> {
  const { method, session } = exchange
  const task = findTask(openTaskId(graph, session, exchange.params?.taskId), session, graph)
  const isHosted = task instanceof HostedTask
  // Task ids of one era are unknown in the other.
  if (task === undefined || !(isHosted || task.era === session.client.era)) return { error: unknownTask() }
  // Whoever began a task may end it.
  const refused = method === 'tasks/cancel' ? undefined : await whyNotUsed(task, session, graph)
  if (refused !== undefined) return { error: refused }
  return isHosted ? handler.hosted(task, exchange) : handler.relayed(task, exchange, graph)
}

/** The task at a place: one of ours that is still there, or the place at its server; undefined for what is not this caller's. */
function findTask(
  place: TaskPlace | undefined,
  session: Session,
  graph: Graph,
): HostedTask | ServerPlace | undefined {
  return place?.at === 'gateway' ? graph.tasks.hosted(place.original, session) : place
}

/** `tasks/list` (legacy): the tasks that this caller was told of, as they are now. */
export async function listTasks(exchange: PipelineExchange, graph: Graph): Promise<Answer> {
  if (!supportsTasks(exchange.session.client) || !offersTasks(graph, exchange.session.client.era))
    return notFound(exchange)
  if (exchange.params?.cursor !== undefined) return invalid('the cursor is not one of ours')
  const known = graph.tasks.list(graph, exchange.session)
  const tasks = await Promise.all(
    known.map(async ({ taskId, place }) => {
      const task = findTask(place, exchange.session, graph)
      if (task === undefined || (await whyNotUsed(task, exchange.session, graph)) !== undefined)
        return undefined
      return task instanceof HostedTask ? toLegacyTask(task.state) : listOne(task, taskId, exchange, graph)
    }),
  )
  return legacy({ tasks: tasks.filter(task => task !== undefined) })
}

function modern(value: JsonObject): Answer {
  return { result: Payload.of(value, 'modern') }
}

function legacy(value: JsonObject): Answer {
  return { result: Payload.of(value, 'legacy') }
}

function invalid(why: string): Answer {
  return { error: rpcError(RPC.invalidParams, `Invalid params: ${why}`) }
}

function notFound({ method }: PipelineExchange): Answer {
  return { error: rpcError(RPC.methodNotFound, `Method not found: ${method}`) }
}

/** Those of the tasks a client asks for that are its own. */
export function ownTasks(exchange: PipelineExchange, graph: Graph, asked: unknown): readonly string[] {
  if (!Array.isArray(asked)) return []
  const ids = (asked as unknown[]).filter(id => typeof id === 'string').slice(0, MAX_TASKS)
  return [...new Set(ids)].filter(id => modernTask(exchange, graph, id) !== undefined)
}

function modernTask(
  { session }: PipelineExchange,
  graph: Graph,
  taskId: string,
): HostedTask | ServerPlace | undefined {
  const task = findTask(openTaskId(graph, session, taskId), session, graph)
  return task instanceof HostedTask || task?.era === 'modern' ? task : undefined
}

/** Tells the client of each change of these tasks until it stops listening. */
export function tellOfTasks(taskIds: readonly string[], exchange: PipelineExchange, graph: Graph): void {
  for (const taskId of taskIds) void cancelUpstreamTask(taskId, exchange, graph)
}

async function cancelUpstreamTask(taskId: string, exchange: PipelineExchange, graph: Graph): Promise<void> {
  const task = modernTask(exchange, graph, taskId)
  if (task === undefined || !(await mayUse(task, exchange.session, graph))) return
  if (task instanceof HostedTask) tellOfHosted(task, exchange)
  else await tellOfRelayed(taskId, task, exchange, graph)
}

function tellOfHosted(task: HostedTask, exchange: PipelineExchange): void {
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
