import type { Answer } from '../../api/index.ts'
import { declaresTasks, knowsTasks, legacyTask } from '../../protocol/era/tasks.ts'
import { type JsonObject, isObject } from '../../protocol/json/json.ts'
import { Payload } from '../../protocol/payload.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { cancelledAnswer } from '../client-request.ts'
import type { PipelineExchange } from '../exchange.ts'
import type { Graph, TaskPlace } from '../types.ts'
import type { HostedTask } from './hosted-task.ts'
import { getModern, listOne, passLegacy, passModern } from './relay.ts'
import { openTaskId, unknownTask } from './task-id.ts'
import { offersTasks, tasksNotDeclared } from './task-support.ts'

type Place<At extends TaskPlace['at']> = Extract<TaskPlace, { at: At }>

interface Handler {
  hosted(task: HostedTask, exchange: PipelineExchange): Answer | Promise<Answer>
  relayed(place: Place<'server'>, exchange: PipelineExchange, graph: Graph): Promise<Answer>
}

const ACK: JsonObject = Object.freeze({ resultType: 'complete' })

/** What a modern client can do with a task (2026-07-28, tasks extension). */
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

/** What a legacy client can do with a task (2025-11-25, tasks). */
const LEGACY: Readonly<Record<string, Handler>> = {
  'tasks/get': { hosted: task => legacy(legacyTask(task.state)), relayed: passLegacy },
  'tasks/result': {
    hosted: async (task, exchange) => (await task.result(exchange)) ?? cancelledAnswer(),
    relayed: passLegacy,
  },
  'tasks/cancel': {
    hosted: task =>
      task.cancel('the client cancelled it')
        ? legacy(legacyTask(task.state))
        : invalid(`the task is ${task.state.status} already`),
    relayed: passLegacy,
  },
}

/** `tasks/get`, `update`, `cancel` and `result`: to wherever the task is, if it is this caller's. */
export async function askTask(exchange: PipelineExchange, graph: Graph): Promise<Answer> {
  const { client } = exchange.session
  const handler = (client.era === 'modern' ? MODERN : LEGACY)[exchange.method]
  if (handler === undefined || !knowsTasks(client) || !offersTasks(graph)) return notFound(exchange)
  if (client.era === 'modern' && !declaresTasks(client.capabilities)) return { error: tasksNotDeclared() }
  return perform(handler, exchange, graph)
}

async function perform(handler: Handler, exchange: PipelineExchange, graph: Graph): Promise<Answer> {
  const { session } = exchange
  const place = openTaskId(graph, session, exchange.params?.taskId)
  if (place?.at === 'gateway') {
    const task = graph.tasks.hosted(place.original, session)
    return task === undefined ? { error: unknownTask() } : handler.hosted(task, exchange)
  }
  // What a task is called in one era is nothing in the other.
  return place?.era === session.client.era
    ? handler.relayed(place, exchange, graph)
    : { error: unknownTask() }
}

/** `tasks/list` (legacy): the tasks that this caller was told of, as they are now. */
export async function listTasks(exchange: PipelineExchange, graph: Graph): Promise<Answer> {
  if (!knowsTasks(exchange.session.client) || !offersTasks(graph)) return notFound(exchange)
  if (exchange.params?.cursor !== undefined) return invalid('the cursor is not one of ours')
  const known = graph.tasks.list(graph, exchange.session)
  const tasks = await Promise.all(
    known.map(async ({ taskId, place }) => {
      if (place.at === 'server') return listOne(place, taskId, exchange, graph)
      const task = graph.tasks.hosted(place.original, exchange.session)
      return task === undefined ? undefined : legacyTask(task.state)
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
