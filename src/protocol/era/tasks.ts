import type { JsonObject } from '../json/json.ts'
import { isObject } from '../json/json.ts'
import type { Era } from '../methods.ts'
import { LATEST_LEGACY_VERSION } from '../methods.ts'

/** Tasks extension (2026-07-28). */
export const TASKS = 'io.modelcontextprotocol/tasks'
/** `_meta` key with the related task in 2025-11-25 messages. */
export const RELATED_TASK = 'io.modelcontextprotocol/related-task'
/** Capabilities in error −32021 for a client that has not declared the extension. */
export const TASKS_REQUIRED: JsonObject = Object.freeze({ extensions: { [TASKS]: {} } })

type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

const STATUSES: ReadonlySet<string> = new Set(['working', 'input_required', 'completed', 'failed', 'cancelled'])

/** Task in neutral form: flat, with units in the names, as in 2026-07-28. */
export interface TaskState {
  readonly taskId: string
  readonly status: TaskStatus
  readonly statusMessage?: string
  /** ISO 8601. */
  readonly createdAt: string
  readonly lastUpdatedAt: string
  /** From `createdAt`; null means unlimited. */
  readonly ttlMs: number | null
  readonly pollIntervalMs?: number
}

/** Parses a task in either form, nested in `task` or flat; undefined if invalid. */
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

/** Converts a task to 2025-11-25. */
export function toLegacyTask({ ttlMs, pollIntervalMs, ...same }: TaskState): JsonObject {
  return { ...same, ttl: ttlMs, ...(pollIntervalMs === undefined ? {} : { pollInterval: pollIntervalMs }) }
}

/** Returns true for a final status. */
export function isTerminal(status: TaskStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}

/** Returns true if client or modern server capabilities declare the extension. */
export function declaresTasks({ extensions }: JsonObject): boolean {
  return isObject(extensions) && isObject(extensions[TASKS])
}

/** Returns true if a server runs tool calls as tasks, as defined in its era. */
export function servesTasks({ era, capabilities }: { era: Era; capabilities: JsonObject }): boolean {
  if (era === 'modern') return declaresTasks(capabilities)
  const { tasks } = capabilities
  const requests = isObject(tasks) && isObject(tasks.requests) ? tasks.requests : {}
  return isObject(requests.tools) && requests.tools.call !== undefined
}

/** Returns true if a client version can support tasks. */
export function versionHasTasks({ era, version }: { era: Era; version: string }): boolean {
  return era === 'modern' || version >= LATEST_LEGACY_VERSION
}

/** Adds the task capability for an era. */
export function addTaskCapability(capabilities: JsonObject, era: Era): JsonObject {
  if (era === 'modern') {
    const extensions = isObject(capabilities.extensions) ? capabilities.extensions : {}
    return { ...capabilities, extensions: { ...extensions, [TASKS]: {} } }
  }
  return { ...capabilities, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }
}

/** Returns the related task id in a 2025-11-25 message. */
export function getRelatedTask(params: JsonObject | undefined): unknown {
  const related = isObject(params?._meta) ? params._meta[RELATED_TASK] : undefined
  return isObject(related) ? related.taskId : undefined
}

/** Replaces the related task id, if there is one. */
export function setRelatedTask(taskId: string, value: JsonObject): JsonObject {
  const meta = isObject(value._meta) ? value._meta : {}
  if (meta[RELATED_TASK] === undefined) return value
  return { ...value, _meta: { ...meta, [RELATED_TASK]: { taskId } } }
}

/** Removes the related task if the id is sent separately. */
export function removeRelatedTask(value: JsonObject): JsonObject {
  if (!isObject(value._meta) || value._meta[RELATED_TASK] === undefined) return value
  const { [RELATED_TASK]: _related, ...meta } = value._meta
  const { _meta, ...otherMembers } = value
  return Object.keys(meta).length === 0 ? otherMembers : { ...otherMembers, _meta: meta }
}
