import type { Clock } from '../../../src/plugin.ts'
import type { Caller, TaskService } from '../types/tasks.ts'
import type { Foreground } from './foreground.ts'
import type { Callers } from './callers.ts'

/** What every tool, task and resource of the face needs. */
export interface McpParts {
  /** As it is now: a reload may replace it. */
  readonly service: () => TaskService
  readonly clock: Clock
  readonly foreground: Foreground
  readonly callers: Callers
  /** Hears of each task that was begun here. */
  readonly begun: (task: string, caller: Caller) => void
}
