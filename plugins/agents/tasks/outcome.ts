import { GatewayError, reasonOf } from '../../../src/plugin.ts'
import { AgentFailure, type FailureKind, type TurnEnd } from '../types.ts'

/** Facts of a turn when it is over. */
interface TurnFacts {
  readonly isLate: boolean
  /** The agent said so, whatever it ended the turn with. */
  readonly isBroken: boolean
  readonly hasText: boolean
  /** Author of the last denial; undefined where nothing was denied. */
  readonly deniedBy: 'policy' | 'owner' | 'time' | undefined
}

/** Outcome of a task, for counting: one of few words. */
export type Outcome = 'completed' | 'denied' | 'gateway' | FailureKind

/** End of a task; `interrupted` may go on. */
export interface Ending {
  readonly state: 'completed' | 'failed' | 'interrupted'
  readonly outcome: Outcome
  readonly why: string | undefined
  readonly stopReason: string | undefined
}

/** A task that cannot be gone on with, though nothing is wrong with the gateway or the agent. */
export class CannotGoOn extends Error {
  override readonly name = 'CannotGoOn'
}

const DENIED_BY = {
  policy: 'denied by policy',
  owner: 'denied by its owner',
  time: 'denied, as nobody answered in time',
} as const

/** End of a task by a turn that the agent ended. What only looks like success is none. */
export function endingOf(
  { stopReason }: TurnEnd,
  { isLate, isBroken, hasText, deniedBy }: TurnFacts,
): Ending {
  const failed = (outcome: Outcome, why: string): Ending => ({ state: 'failed', outcome, why, stopReason })
  if (isLate) return failed('timeout', 'timeout: its time was over')
  if (stopReason === 'refusal') return failed('refused', 'the agent refused')
  if (deniedBy !== undefined && (!hasText || stopReason === 'cancelled'))
    return failed('denied', DENIED_BY[deniedBy])
  if (stopReason === 'cancelled') return failed('refused', 'the agent gave the turn up by itself')
  if (isBroken) return failed('refused', 'the agent ended in an error of its own: its text may say which')
  const why = stopReason === 'end_turn' ? undefined : `the agent stopped early: ${stopReason}`
  return { state: 'completed', outcome: 'completed', why, stopReason }
}

/** End of a task by a turn that could not be made. */
export function endingOfFailure(error: unknown, { isLate }: TurnFacts): Ending {
  const failed = (outcome: Outcome, why: string): Ending => {
    return { state: 'failed', outcome, why, stopReason: undefined }
  }
  if (isLate) return failed('timeout', 'timeout: its time was over')
  if (error instanceof AgentFailure)
    return error.kind === 'stopped'
      ? { ...failed('stopped', 'the gateway ended its agent'), state: 'interrupted' }
      : failed(error.kind, `${error.kind} in ${error.phase}: ${error.message}`)
  const why = error instanceof GatewayError ? error.message : undefined
  const isSaid = error instanceof CannotGoOn
  return failed('gateway', why ?? (isSaid ? error.message : `the gateway failed: ${reasonOf(error)}`))
}

/** True if another agent may try: this one said so in so many words, and nothing has happened yet. */
export function mayFallBack(error: unknown, hadEffect: boolean): boolean {
  const kinds: readonly string[] = ['spawn', 'auth', 'limit', 'busy', 'empty']
  return error instanceof AgentFailure && !hadEffect && kinds.includes(error.kind)
}
