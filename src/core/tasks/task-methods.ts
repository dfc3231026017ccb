import type { Answer, Session } from '../../api/index.ts'
import { declaresTasks, isTerminal, versionHasTasks, readTask } from '../../protocol/era/convert.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { Payload } from '../../protocol/payload.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import type { PipelineExchange } from '../exchange.ts'
import type { Graph, ServerTaskLocation } from '../graph-types.ts'
import { waitForPoll } from './follow-task.ts'
import { HostedTask } from './hosted-task.ts'
import { getModernTask, fetchListedTask, relayLegacyRequest, relayModernRequest } from './relay-task.ts'
import {
  mayUseTask,
  offersTasks,
  openTaskId,
  createTasksNotDeclaredError,
  createUnknownTaskError,
  getTaskRefusal,
} from './task-ids.ts'
import { createDetachedExchange } from '../catalog/fetch-lists.ts'

/** Maximum tasks in one `subscriptions/listen`. */
const MAX_TASKS = 100

interface TaskMethodHandler {
  hosted(task: HostedTask, exchange: PipelineExchange): Answer
  relayed(location: ServerTaskLocation, exchange: PipelineExchange, graph: Graph): Promise<Answer>
}

const DONE: Answer = { result: Payload.of(Object.freeze({ resultType: 'complete' }), 'modern') }

const MODERN_HANDLERS: Readonly<Record<string, TaskMethodHandler>> = {
  'tasks/get': {
    hosted: (task, { session }) => ({
      result: Payload.of({ ...task.describeFor(session.client), resultType: 'complete' }, 'modern'),
    }),
    relayed: getModernTask,
  },
  'tasks/update': {
    hosted: (task, { params, session }) => {
      if (!isObject(params?.inputResponses)) return createInvalidParams('"inputResponses" must be an object')
      task.receiveReplies(params.inputResponses, session.client)
      return DONE
    },
    relayed: relayModernRequest,
  },
  'tasks/cancel': {
    hosted: task => {
      task.cancel('cancelled by the client')
      return DONE
    },
    relayed: relayModernRequest,
  },
}

const RELAYED: TaskMethodHandler = {
  hosted: (_task, exchange) => createNotFound(exchange),
  relayed: relayLegacyRequest,
}
const LEGACY_HANDLERS: Readonly<Record<string, TaskMethodHandler>> = {
  'tasks/get': RELAYED,
  'tasks/result': RELAYED,
  'tasks/cancel': RELAYED,
}

/** Handles `tasks/get`, `update`, `cancel` and `result` at the task's location, if the task is this caller's. */
export async function handleTaskRequest(exchange: PipelineExchange, graph: Graph): Promise<Answer> {
  const { client } = exchange.session
  const { method } = exchange
  const handler = client.era === 'modern' ? MODERN_HANDLERS[method] : LEGACY_HANDLERS[method]
  if (handler === undefined || !versionHasTasks(client) || !offersTasks(graph, client.era))
    return createNotFound(exchange)
  if (client.era === 'modern' && !declaresTasks(client.capabilities)) return { error: createTasksNotDeclaredError() }
  return runTaskMethod(handler, exchange, graph)
}

async function runTaskMethod(handler: TaskMethodHandler, exchange: PipelineExchange, graph: Graph): Promise<Answer> {
  const { method, session, params } = exchange
  const task = findTask(params?.taskId, session, graph)
  if (task === undefined) return { error: createUnknownTaskError() }
  // Cancelling a task needs no permission check.
  const refused = method === 'tasks/cancel' ? undefined : await getTaskRefusal(task, session, graph)
  if (refused !== undefined) return { error: refused }
  return task instanceof HostedTask ? handler.hosted(task, exchange) : handler.relayed(task, exchange, graph)
}

/** Finds a hosted task, or the location at its server; undefined unless it is this caller's and of its era. */
function findTask(taskId: unknown, session: Session, graph: Graph): HostedTask | ServerTaskLocation | undefined {
  const location = openTaskId(graph, session, taskId)
  if (location?.at !== 'gateway') return location?.era === session.client.era ? location : undefined
  return session.client.era === 'modern' ? graph.tasks.findHosted(location.original, session) : undefined
}

/** `tasks/list` (legacy): this caller's recorded tasks, with their current states. */
export async function listOwnTasks(exchange: PipelineExchange, graph: Graph): Promise<Answer> {
  const { session } = exchange
  if (!versionHasTasks(session.client) || !offersTasks(graph, session.client.era)) return createNotFound(exchange)
  if (exchange.params?.cursor !== undefined) return createInvalidParams('unknown cursor')
  const tasks = await Promise.all(
    graph.tasks
      .listTasks(graph, session)
      .map(async ({ taskId, location }) =>
        (await getTaskRefusal(location, session, graph)) === undefined
          ? fetchListedTask(location, taskId, exchange, graph)
          : undefined,
      ),
  )
  return { result: Payload.of({ tasks: tasks.filter(task => task !== undefined) }, 'legacy') }
}

function createInvalidParams(reason: string): Answer {
  return { error: rpcError(RPC.invalidParams, `Invalid params: ${reason}`) }
}

function createNotFound({ method }: PipelineExchange): Answer {
  return { error: rpcError(RPC.methodNotFound, `Method not found: ${method}`) }
}

/** Selects the requested tasks that are the client's own. */
export function selectOwnTasks(exchange: PipelineExchange, graph: Graph, requested: unknown): readonly string[] {
  if (!Array.isArray(requested)) return []
  const ids = (requested as unknown[]).filter(id => typeof id === 'string').slice(0, MAX_TASKS)
  return [...new Set(ids)].filter(id => findTask(id, exchange.session, graph) !== undefined)
}

/** Notifies the client of each change until it stops listening. */
export function watchTasks(taskIds: readonly string[], exchange: PipelineExchange, graph: Graph): void {
  for (const taskId of taskIds) void watchTask(taskId, exchange, graph)
}

async function watchTask(taskId: string, exchange: PipelineExchange, graph: Graph): Promise<void> {
  const task = findTask(taskId, exchange.session, graph)
  if (task === undefined || !(await mayUseTask(task, exchange.session, graph))) return
  if (task instanceof HostedTask) watchHostedTask(task, exchange)
  else await pollRelayedTask(taskId, task, exchange, graph)
}

function watchHostedTask(task: HostedTask, exchange: PipelineExchange): void {
  const notify = (): void => emitTaskStatus(exchange, task.describeFor(exchange.session.client))
  exchange.onCancel(task.watch(notify))
  notify()
}

/** Polls, as servers need not send status; forwards only changes. */
async function pollRelayedTask(
  taskId: string,
  location: ServerTaskLocation,
  exchange: PipelineExchange,
  graph: Graph,
): Promise<void> {
  let last: string | undefined
  while (!exchange.cancelled && exchange.answer === undefined) {
    const value = await fetchTask(taskId, location, exchange, graph)
    if (value === 'gone') return
    const state = readTask(value)
    if (state !== undefined) {
      const fingerprint = JSON.stringify([state.status, state.lastUpdatedAt, state.statusMessage])
      if (fingerprint !== last) emitTaskStatus(exchange, value)
      if (isTerminal(state.status)) return
      last = fingerprint
    }
    await waitForPoll(graph.clock, state?.pollIntervalMs, exchange)
  }
}

/** Reads a task's state; undefined if its server could not be reached this time. */
async function fetchTask(
  taskId: string,
  location: ServerTaskLocation,
  exchange: PipelineExchange,
  graph: Graph,
): Promise<JsonObject | 'gone'> {
  const own = createDetachedExchange(graph, exchange.session, 'tasks/get')
  own.params = { taskId }
  try {
    const answer = await getModernTask(location, own, graph)
    if (!('result' in answer)) return 'gone'
    const { resultType: _type, _meta, ...value } = answer.result.value()
    return value
  } catch {
    return {}
  }
}

function emitTaskStatus(exchange: PipelineExchange, params: JsonObject): void {
  exchange.emit({ method: 'notifications/tasks', params })
}
