import type { JsonObject } from '../json/json.ts'
import { isObject } from '../json/json.ts'
import type { Era } from '../methods.ts'
import { LATEST_LEGACY_VERSION } from '../methods.ts'

/** The tasks extension of 2026-07-28. */
export const TASKS = 'io.modelcontextprotocol/tasks'
/** Key in `_meta` under which messages of 2025-11-25 name the task that they belong to. */
export const RELATED_TASK = 'io.modelcontextprotocol/related-task'
/** Capabilities that error −32021 names to a client that has not declared the extension. */
export const TASKS_REQUIRED: JsonObject = Object.freeze({ extensions: { [TASKS]: {} } })

type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

const STATUSES: ReadonlySet<string> = new Set([
  'working',
  'input_required',
  'completed',
  'failed',
  'cancelled',
])

/** A task in neutral form: flat, with the unit in the name, as 2026-07-28 writes it. */
export interface TaskState {
  readonly taskId: string
  readonly status: TaskStatus
  readonly statusMessage?: string
  /** ISO 8601. */
  readonly createdAt: string
  readonly lastUpdatedAt: string
  /** Counted from `createdAt`; null for as long as the server lives. */
  readonly ttlMs: number | null
  readonly pollIntervalMs?: number
}

/** A task in whichever form it came: nested in `task` or flat, with the names of either era; undefined for what is none. */
export function readTask(value: JsonObject): TaskState | undefined {
  const task = isObject(value.task) ? value.task : value
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt } = task
  if (typeof taskId !== 'string' || !isStatus(status)) return undefined
  const pollIntervalMs = parseLength(task.pollIntervalMs ?? task.pollInterval)
  return {
    taskId,
    status,
    ...(typeof statusMessage === 'string' ? { statusMessage } : {}),
    createdAt: String(createdAt),
    lastUpdatedAt: String(lastUpdatedAt ?? createdAt),
    ttlMs: parseLength(task.ttlMs ?? task.ttl) ?? null,
    ...(pollIntervalMs === undefined ? {} : { pollIntervalMs }),
  }
}

function isStatus(value: unknown): value is TaskStatus {
  return typeof value === 'string' && STATUSES.has(value)
}

function parseLength(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? Math.round(value) : undefined
}

/** A task as 2025-11-25 writes it. */
export function toLegacyTask({ ttlMs, pollIntervalMs, ...same }: TaskState): JsonObject {
  return { ...same, ttl: ttlMs, ...(pollIntervalMs === undefined ? {} : { pollInterval: pollIntervalMs }) }
}

/** Tells whether a task with this status has ended, so that it can no longer change. */
export function isTerminal(status: TaskStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}

/** Tells whether these capabilities, a client's or a modern server's, declare the extension. */
export function declaresTasks({ extensions }: JsonObject): boolean {
  return isObject(extensions) && isObject(extensions[TASKS])
}

/** Tells whether a server runs tool calls as tasks, in the way of its era. */
export function servesTasks({ era, capabilities }: { era: Era; capabilities: JsonObject }): boolean {
  if (era === 'modern') return declaresTasks(capabilities)
  const { tasks } = capabilities
  const requests = isObject(tasks) && isObject(tasks.requests) ? tasks.requests : {}
  return isObject(requests.tools) && requests.tools.call !== undefined
}

/** Tells whether a client of this era and version can be told of tasks at all. */
export function supportsTasks({ era, version }: { era: Era; version: string }): boolean {
  return era === 'modern' || version >= LATEST_LEGACY_VERSION
}

/** Adds the task capabilities that a client of this era is told of to the others. */
export function addTaskCapability(capabilities: JsonObject, era: Era): JsonObject {
  if (era === 'modern') {
    const extensions = isObject(capabilities.extensions) ? capabilities.extensions : {}
    return { ...capabilities, extensions: { ...extensions, [TASKS]: {} } }
  }
  return { ...capabilities, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }
}

/** The id of the task that a message of 2025-11-25 says it belongs to. */
export function getRelatedTask(params: JsonObject | undefined): unknown {
  const related = isObject(params?._meta) ? params._meta[RELATED_TASK] : undefined
  return isObject(related) ? related.taskId : undefined
}

/** The same message, belonging to the task of that id; only where it belonged to one, unless `always`. */
export function addRelatedTask(taskId: string, value: JsonObject | undefined, always = false): JsonObject {
  const meta = isObject(value?._meta) ? value._meta : {}
  if (!always && meta[RELATED_TASK] === undefined) return value ?? {}
  return { ...value, _meta: { ...meta, [RELATED_TASK]: { taskId } } }
}

/** A value without that relation: where the id stands beside it already. */
export function removeRelatedTask(value: JsonObject): JsonObject {
  if (!isObject(value._meta) || value._meta[RELATED_TASK] === undefined) return value
  const { [RELATED_TASK]: _related, ...meta } = value._meta
  const { _meta, ...rest } = value
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta }
}
