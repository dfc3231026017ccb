import { AgentFailure, type AgentHost, type TurnEnd } from '../types/agent.ts'
import { attempt, type Beginning } from './attempt.ts'
import type { LiveTask, TaskContext } from './context.ts'

/** What an agent may answer that has lost the session, or never begun. */
const MAY_PASS: ReadonlySet<AgentFailure['kind']> = new Set(['refused', 'lost', 'empty'])

/**
 * One turn of one agent; once more, in another session, where the first one ended before the agent had said or done
 * anything. @throws AgentFailure, CannotGoOn
 */
export async function attemptTwice(
  context: TaskContext,
  live: LiveTask,
  host: AgentHost,
  beginning: Beginning,
): Promise<TurnEnd> {
  const { id, limits } = host.settings
  const first = await outcomeOf(context, live, host, beginning)
  const why = whyAgain(live, first)
  const mayTurn = why !== undefined && context.turns.take(id, limits) === undefined
  if (mayTurn && live.journal.move(['running'], 'starting', { why: `once more: ${why}` })) {
    live.journal.warn(`${id} was asked once more: ${why}`)
    return endOf(live, host, await outcomeOf(context, live, host, beginning))
  }
  return endOf(live, host, first)
}

type Outcome = { readonly end: TurnEnd } | { readonly error: unknown }

async function outcomeOf(
  context: TaskContext,
  live: LiveTask,
  host: AgentHost,
  beginning: Beginning,
): Promise<Outcome> {
  live.hasSigned = false
  try {
    return { end: await attempt(context, live, host, beginning) }
  } catch (error) {
    return { error }
  }
}

/** Why nothing has happened so far; undefined where something may have, or nobody wants it any more. */
function whyAgain(live: LiveTask, outcome: Outcome): string | undefined {
  const { hasSigned, hadEffect, isLate, controller } = live
  if (hasSigned || hadEffect || isLate || controller.signal.aborted) return undefined
  return 'end' in outcome ? whyEmpty(outcome.end) : whyPassing(outcome.error)
}

function whyEmpty({ stopReason, usage }: TurnEnd): string | undefined {
  const isEnd = stopReason === 'end_turn' || stopReason === 'cancelled'
  return isEnd && usage === undefined ? 'it ended the turn at once' : undefined
}

function whyPassing(error: unknown): string | undefined {
  const mayPass = error instanceof AgentFailure && error.phase === 'prompt' && MAY_PASS.has(error.kind)
  return mayPass ? error.publicMessage : undefined
}

/** A turn in which nothing was said, done or used is none: some agents end it so when their model refuses. */
function endOf(
  { hasSigned, hadEffect }: LiveTask,
  { settings: { id } }: AgentHost,
  outcome: Outcome,
): TurnEnd {
  if ('error' in outcome) throw outcome.error
  const { end } = outcome
  if (end.stopReason !== 'end_turn' || hasSigned || hadEffect || end.usage !== undefined) return end
  throw new AgentFailure('empty', 'prompt', `agent "${id}" ended the turn without saying or doing anything`)
}
