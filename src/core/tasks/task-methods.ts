import type { Answer, Session } from '../../api/index.ts'
import { declaresTasks, isTerminal, versionHasTasks, toLegacyTask, readTask } from '../../protocol/era/tasks.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { Payload } from '../../protocol/payload.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { createCancelledAnswer } from '../client-request.ts'
import type { PipelineExchange } from '../exchange.ts'
import type { Graph, TaskLocation } from '../graph-types.ts'
import { HostedTask } from './hosted-task.ts'
import { getModernTask, fetchListedTask, relayLegacyRequest, relayModernRequest } from './relay-task.ts'
import type { ServerTaskLocation } from './task-ids.ts'
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

/** Bounds for a server task's poll interval. */
const MIN_POLL_MS = 100

const MAX_POLL_MS = 30_000

const POLL_MS = 1000

type TaskLocationAt<At extends TaskLocation['at']> = Extract<TaskLocation, { at: At }>

interface TaskMethodHandler {
  hosted(task: HostedTask, exchange: PipelineExchange): Answer | Promise<Answer>
  relayed(location: TaskLocationAt<'server'>, exchange: PipelineExchange, graph: Graph): Promise<Answer>
}

const EMPTY_RESULT: JsonObject = Object.freeze({ resultType: 'complete' })

const MODERN_HANDLERS: Readonly<Record<string, TaskMethodHandler>> = {
  'tasks/get': {
    hosted: (task, { session }) => handleModern({ ...task.describeFor(session.client), resultType: 'complete' }),
    relayed: getModernTask,
  },
  'tasks/update': {
    hosted: (task, { params, session }) => {
      if (!isObject(params?.inputResponses)) return createInvalidParams('"inputResponses" must be an object')
      task.receiveReplies(params.inputResponses, session.client)
      return handleModern(EMPTY_RESULT)
    },
    relayed: relayModernRequest,
  },
  'tasks/cancel': {
    hosted: task => {
      task.cancel('cancelled by the client')
      return handleModern(EMPTY_RESULT)
    },
    relayed: relayModernRequest,
  },
}

const LEGACY_HANDLERS: Readonly<Record<string, TaskMethodHandler>> = {
  'tasks/get': { hosted: task => handleLegacy(toLegacyTask(task.state)), relayed: relayLegacyRequest },
  'tasks/result': {
    hosted: async (task, exchange) => (await task.waitForResult(exchange)) ?? createCancelledAnswer(),
    relayed: relayLegacyRequest,
  },
  'tasks/cancel': {
    hosted: task =>
      task.cancel('cancelled by the client')
        ? handleLegacy(toLegacyTask(task.state))
        : createInvalidParams(`the task is already ${task.state.status}`),
    relayed: relayLegacyRequest,
  },
}

/** Handles `tasks/get`, `update`, `cancel` and `result` at the task's location, if the task is this caller's. */
export async function handleTaskRequest(exchange: PipelineExchange, graph: Graph): Promise<Answer> {
  const { client } = exchange.session
  const handler = (client.era === 'modern' ? MODERN_HANDLERS : LEGACY_HANDLERS)[exchange.method]
  if (handler === undefined || !versionHasTasks(client) || !offersTasks(graph, client.era))
    return createNotFound(exchange)
  if (client.era === 'modern' && !declaresTasks(client.capabilities)) return { error: createTasksNotDeclaredError() }
  return runTaskMethod(handler, exchange, graph)
}

async function runTaskMethod(handler: TaskMethodHandler, exchange: PipelineExchange, graph: Graph): Promise<Answer> {
  const { method, session } = exchange
  const task = findTask(openTaskId(graph, session, exchange.params?.taskId), session, graph)
  const isHosted = task instanceof HostedTask
  // Task ids of one era are unknown in the other.
  if (task === undefined || !(isHosted || task.era === session.client.era)) return { error: createUnknownTaskError() }
  // Cancelling a task needs no permission check.
  const refused = method === 'tasks/cancel' ? undefined : await getTaskRefusal(task, session, graph)
  if (refused !== undefined) return { error: refused }
  return isHosted ? handler.hosted(task, exchange) : handler.relayed(task, exchange, graph)
}

/** Finds a hosted task, or the location at its server; undefined unless it is this caller's. */
function findTask(
  location: TaskLocation | undefined,
  session: Session,
  graph: Graph,
): HostedTask | ServerTaskLocation | undefined {
  return location?.at === 'gateway' ? graph.tasks.findHosted(location.original, session) : location
}

/** `tasks/list` (legacy): this caller's recorded tasks, with their current states. */
export async function listOwnTasks(exchange: PipelineExchange, graph: Graph): Promise<Answer> {
  if (!versionHasTasks(exchange.session.client) || !offersTasks(graph, exchange.session.client.era))
    return createNotFound(exchange)
  if (exchange.params?.cursor !== undefined) return createInvalidParams('unknown cursor')
  const records = graph.tasks.listTasks(graph, exchange.session)
  const tasks = await Promise.all(
    records.map(async ({ taskId, location }) => {
      const task = findTask(location, exchange.session, graph)
      if (task === undefined || (await getTaskRefusal(task, exchange.session, graph)) !== undefined) return undefined
      return task instanceof HostedTask ? toLegacyTask(task.state) : fetchListedTask(task, taskId, exchange, graph)
    }),
  )
  return handleLegacy({ tasks: tasks.filter(task => task !== undefined) })
}

function handleModern(value: JsonObject): Answer {
  return { result: Payload.of(value, 'modern') }
}

function handleLegacy(value: JsonObject): Answer {
  return { result: Payload.of(value, 'legacy') }
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
  return [...new Set(ids)].filter(id => describeModernTask(exchange, graph, id) !== undefined)
}

function describeModernTask(
  { session }: PipelineExchange,
  graph: Graph,
  taskId: string,
): HostedTask | ServerTaskLocation | undefined {
  const task = findTask(openTaskId(graph, session, taskId), session, graph)
  return task instanceof HostedTask || task?.era === 'modern' ? task : undefined
}

/** Notifies the client of each change until it stops listening. */
export function watchTasks(taskIds: readonly string[], exchange: PipelineExchange, graph: Graph): void {
  for (const taskId of taskIds) void cancelUpstreamTask(taskId, exchange, graph)
}

async function cancelUpstreamTask(taskId: string, exchange: PipelineExchange, graph: Graph): Promise<void> {
  const task = describeModernTask(exchange, graph, taskId)
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
    await waitForPoll(state?.pollIntervalMs, exchange, graph)
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

function waitForPoll(pollIntervalMs = POLL_MS, exchange: PipelineExchange, graph: Graph): Promise<void> {
  const ms = Math.max(MIN_POLL_MS, Math.min(pollIntervalMs, MAX_POLL_MS))
  return new Promise(resolve => {
    const takeBack = exchange.onCancel(() => resolve())
    graph.clock.after(ms, () => {
      takeBack()
      resolve()
    })
  })
}
