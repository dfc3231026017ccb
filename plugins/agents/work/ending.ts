import { GatewayError, reasonOf } from '../../../src/plugin.ts'
import { AgentFailure, type TurnEnd } from '../agent-ports.ts'

/** What is known of a turn when it is over. */
export interface TurnFacts {
  readonly isLate: boolean
  readonly hasText: boolean
  readonly denied: number
}

/** How a task ends; `interrupted` may go on. */
export interface Ending {
  readonly state: 'completed' | 'failed' | 'interrupted'
  readonly why: string | undefined
  readonly isError: boolean
  readonly stopReason: string | undefined
}

/** A task that cannot be gone on with, though nothing is wrong with the gateway or the agent. */
export class CannotGoOn extends Error {
  override readonly name = 'CannotGoOn'
}

/** What a turn that the agent ended means for its task. What only looks like success is none. */
export function endingOf({ stopReason }: TurnEnd, { isLate, hasText, denied }: TurnFacts): Ending {
  const wrong = (why: string): Ending => ({ state: 'completed', why, isError: true, stopReason })
  if (isLate) return wrong('timeout: its time was over')
  if (stopReason === 'refusal') return wrong('the agent refused')
  if (denied > 0 && (!hasText || stopReason === 'cancelled')) return wrong('denied by policy')
  if (stopReason === 'cancelled') return wrong('the agent gave the turn up by itself')
  const why = stopReason === 'end_turn' ? undefined : `the agent stopped early: ${stopReason}`
  return { state: 'completed', why, isError: false, stopReason }
}

/** What a turn that could not be made means: the agent's failures are results, the gateway's own are none. */
export function endingOfFailure(error: unknown, { isLate }: TurnFacts): Ending {
  const stopReason = undefined
  if (isLate) return { state: 'completed', why: 'timeout: its time was over', isError: true, stopReason }
  if (error instanceof AgentFailure) {
    if (error.kind === 'stopped')
      return { state: 'interrupted', why: 'the gateway ended its agent', isError: false, stopReason }
    const why = `${error.kind} in ${error.phase}: ${error.publicMessage}`
    return { state: 'completed', why, isError: true, stopReason }
  }
  const why = error instanceof GatewayError ? error.publicMessage : undefined
  const isSaid = error instanceof CannotGoOn
  return {
    state: 'failed',
    why: why ?? (isSaid ? error.message : `the gateway failed: ${reasonOf(error)}`),
    isError: true,
    stopReason,
  }
}

/** Whether somebody else may try: the agent said so in so many words, and nothing has happened yet. */
export function mayFallBack(error: unknown, hadEffect: boolean): boolean {
  const kinds: readonly string[] = ['spawn', 'auth', 'limit', 'busy']
  return error instanceof AgentFailure && !hadEffect && kinds.includes(error.kind)
}
