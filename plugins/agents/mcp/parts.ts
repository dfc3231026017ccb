import type { Clock } from '../../../src/plugin.ts'
import type { Caller, Desk } from '../types/tasks.ts'
import type { Foreground } from './foreground.ts'
import type { Visitors } from './visitors.ts'

/** What every tool, task and resource of the face needs. */
export interface FaceParts {
  /** As it is now: a reload may replace it. */
  readonly desk: () => Desk
  readonly clock: Clock
  readonly foreground: Foreground
  readonly visitors: Visitors
  /** Hears of each task that was begun here. */
  readonly begun: (task: string, caller: Caller) => void
}
