import type { JsonObject } from '../../../src/plugin.ts'
import type { RouteDecision, TaskRequest, TaskState } from '../types/tasks.ts'

/** States from which there is no way on. */
const FINAL: readonly TaskState[] = ['completed', 'failed', 'cancelled']
/** In the hands of a runner. */
export const ACTIVE: readonly TaskState[] = ['queued', 'starting', 'running', 'input_required']

/** Beginning of a task; never changes. */
export interface TaskStart {
  /** Absent in tasks of earlier versions. */
  readonly issuer?: string
  readonly subject: string
  /** Without secrets; undefined where prompts are not kept. */
  readonly prompt: string | undefined
  readonly request: Omit<TaskRequest, 'prompt' | 'idempotencyKey'>
  readonly cwd: string
  readonly files: readonly string[]
  readonly decision: RouteDecision
  readonly parent: string | undefined
  readonly depth: number
  /** The task whose worktree it works in: itself, or the one it goes on with. */
  readonly ground: string
  /** The session that it goes on in. */
  readonly resume: string | undefined
  /** Of what was asked, where a key stands for it. */
  readonly digest?: string | undefined
}

/** State of it so far. */
export interface TaskData {
  sessionId?: string | undefined
  stopReason?: string | undefined
  progress?: string | undefined
  usage?: JsonObject | undefined
  isError: boolean
  /** Bytes that the agent said, and those of them that were kept. */
  said: number
  kept: number
  diff: number
  diffKept: number
  seq: number
  files: string[]
  denied: string[]
  warnings: string[]
}

/** One row. */
export interface TaskRecord {
  readonly id: string
  readonly owner: string
  readonly state: TaskState
  readonly why: string | undefined
  readonly agent: string | undefined
  readonly runner: string | undefined
  readonly root: string
  readonly createdAt: number
  readonly updatedAt: number
  readonly endedAt: number | undefined
  /** True once an agent may have begun with it. */
  readonly wasPrompted: boolean
  /** True once an agent may have changed something. */
  readonly hadEffect: boolean
  readonly start: TaskStart
  readonly data: TaskData
}

export function emptyData(): TaskData {
  return {
    isError: false,
    said: 0,
    kept: 0,
    diff: 0,
    diffKept: 0,
    seq: 0,
    files: [],
    denied: [],
    warnings: [],
  }
}

export function hasEnded(state: TaskState): boolean {
  return FINAL.includes(state)
}
