import { getErrorMessage } from '../../../src/plugin.ts'
import type { AgentHost } from '../acp/agent-host.ts'
import type { TurnEnd, Outcome } from '../types.ts'
import { AgentFailure } from '../types.ts'
import type { Ending } from './attempt.ts'
import { attempt, endingOf, endingOfFailure, mayFallBack } from './attempt.ts'
import type { Beginning } from './questions.ts'
import { askToContinue } from './questions.ts'
import type { LiveTask, TaskContext } from './context.ts'
import type { Leave } from '../scheduling.ts'
import { ACTIVE } from '../store/task-store.ts'

/** Failures of an agent that has lost the session, or never begun. */
const MAY_PASS: ReadonlySet<AgentFailure['kind']> = new Set(['refused', 'lost', 'empty'])

/** Agents that are tried, in order, and the beginning of a turn. */
interface Course {
  readonly agents: readonly string[]
  readonly beginning: Beginning
  /** True for a task that had a place in the queue before the gateway ended. */
  readonly wasAdmitted: boolean
}

/** Why one agent did not do it, and the next one is asked. */
interface Passed {
  readonly passed: string
  readonly outcome: Outcome
}

/** Runs a task to its end. Never rejects. */
export async function run(context: TaskContext, live: LiveTask, course: Course): Promise<void> {
  const { record, controller } = live
  context.live.set(record.id, live)
  try {
    await finish(context, live, await firstOf(context, live, course))
  } catch (error) {
    if (!context.database.isOpen) return
    context.environment.log.error('a task failed for a reason of our own', {
      task: record.id,
      why: getErrorMessage(error),
    })
    await finish(context, live, endingOfFailure(error, factsOf(live))).catch(() => undefined)
  } finally {
    context.live.delete(record.id)
    if (!controller.signal.aborted) controller.abort()
    context.watchers.tell(record.id)
  }
}

/** Ends what an agent does for a task, and what waits for it. */
export function stop(live: LiveTask, why: string): void {
  live.controller.abort(why)
  for (const settle of [...live.asks.values()]) settle('ended')
}

async function firstOf(context: TaskContext, live: LiveTask, course: Course): Promise<Ending | undefined> {
  const reasons: string[] = []
  let outcome: Outcome = 'gateway'
  const { agents } = course
  for (const [index, agent] of agents.entries()) {
    const isLast = index === agents.length - 1
    const result = await tryOne(context, live, agent, course, isLast)
    if (result === undefined || 'state' in result) return result
    if (context.isStopping) return undefined
    reasons.push(`${agent}: ${result.passed}`)
    outcome = result.outcome
    if (!isLast) live.journal.warn(`${agent} did not take it: ${result.passed}`)
  }
  return { state: 'failed', outcome, why: reasons.join('; '), stopReason: undefined }
}

async function tryOne(
  context: TaskContext,
  live: LiveTask,
  agent: string,
  course: Course,
  isLast: boolean,
): Promise<Ending | Passed | undefined> {
  const host = context.parts.agents.get(agent)
  if (host === undefined) return { passed: 'it is not configured any more', outcome: 'gateway' }
  const place = await placeAt(context, live, host, course)
  if (typeof place !== 'function') return place
  try {
    live.agent = agent
    live.journal.bound(host.settings.output)
    const hasBegun = live.journal.move(['queued'], 'starting', { agent })
    return hasBegun ? await once(context, live, host, course.beginning, isLast) : undefined
  } finally {
    live.agent = undefined
    place()
  }
}

/** A place at an agent; undefined when the task is not wanted any more. */
async function placeAt(
  context: TaskContext,
  { record, controller }: LiveTask,
  { settings: { id, limits } }: AgentHost,
  { wasAdmitted }: Course,
): Promise<Leave | Passed | undefined> {
  const { queueTimeoutMs } = limits
  const leave = await context.queues
    .get(id)
    ?.enter(record.owner, queueTimeoutMs, controller.signal, wasAdmitted)
  if (leave === 'cancelled') return undefined
  if (leave === 'full') return { passed: 'its queue is full', outcome: 'limit' }
  if (typeof leave === 'function') return leave
  return { passed: `no place was free within ${queueTimeoutMs} ms`, outcome: 'limit' }
}

async function once(
  context: TaskContext,
  live: LiveTask,
  host: AgentHost,
  beginning: Beginning,
  isLast: boolean,
): Promise<Ending | Passed | undefined> {
  const { journal, controller } = live
  journal.attempt(host.settings.id)
  try {
    return endingOf(await attemptTwice(context, live, host, beginning), factsOf(live))
  } catch (error) {
    if (controller.signal.aborted) return undefined
    const failure = error instanceof AgentFailure ? `${error.kind}: ${error.message}` : getErrorMessage(error)
    journal.attemptFailed(failure)
    if (isLast || !mayFallBack(error, live.hadEffect)) return endingOfFailure(error, factsOf(live))
    journal.forgetText()
    const isBack = journal.move(['starting', 'running', 'input_required'], 'queued', {
      why: `not by ${host.settings.id}`,
    })
    const outcome = error instanceof AgentFailure ? error.kind : 'gateway'
    return isBack ? { passed: failure, outcome } : undefined
  }
}

function factsOf({ isLate, isBroken, journal, deniedBy }: LiveTask): Parameters<typeof endingOf>[1] {
  return { isLate, isBroken, hasText: journal.hasText, deniedBy }
}

async function finish(context: TaskContext, live: LiveTask, ending: Ending | undefined): Promise<void> {
  const { record, journal, controller } = live
  journal.withdraw()
  if (ending?.state === 'interrupted') askToContinue(live, ending.why ?? 'it was interrupted')
  else if (ending !== undefined && !controller.signal.aborted) {
    journal.data.isError = ending.state === 'failed'
    journal.data.stopReason = ending.stopReason
    journal.data.progress = undefined
    journal.move(ACTIVE, ending.state, ending.why === undefined ? {} : { why: ending.why })
  }
  journal.last()
  countEnd(context, record, ending)
}

function countEnd(context: TaskContext, { id, owner }: LiveTask['record'], ending: Ending | undefined): void {
  const ended = context.tasks.find(id, owner)
  if (ended?.endedAt === undefined) return
  context.counters.task(ended.agent ?? 'none', ended.state, ending?.outcome ?? 'gateway')
}

/**
 * One turn of one agent; once more, in another session, where the first one ended before the agent had said or done
 * anything. @throws AgentFailure, CannotGoOn
 */
async function attemptTwice(
  context: TaskContext,
  live: LiveTask,
  host: AgentHost,
  beginning: Beginning,
): Promise<TurnEnd> {
  const { id } = host.settings
  const first = await outcomeOf(context, live, host, beginning)
  const why = whyAgain(live, first)
  if (
    why !== undefined &&
    live.journal.move(['starting', 'running'], 'starting', { why: `once more: ${why}` })
  ) {
    live.journal.warn(`${id} was asked once more: ${why}`)
    return endOf(live, host, await outcomeOf(context, live, host, beginning))
  }
  return endOf(live, host, first)
}

type TurnResult = { readonly end: TurnEnd } | { readonly error: unknown }

async function outcomeOf(
  context: TaskContext,
  live: LiveTask,
  host: AgentHost,
  beginning: Beginning,
): Promise<TurnResult> {
  live.hasSigned = false
  live.isBroken = false
  try {
    return { end: await attempt(context, live, host, beginning) }
  } catch (error) {
    return { error }
  }
}

/** Why nothing has happened so far; undefined where something may have, or nobody wants it any more. */
function whyAgain(live: LiveTask, outcome: TurnResult): string | undefined {
  const { hasSigned, hadEffect, isLate, controller } = live
  if (hasSigned || hadEffect || isLate || controller.signal.aborted) return undefined
  return 'end' in outcome ? whyEmpty(outcome.end) : whyPassing(outcome.error)
}

function whyEmpty({ stopReason, usage }: TurnEnd): string | undefined {
  const isEnd = stopReason === 'end_turn' || stopReason === 'cancelled'
  return isEnd && usage === undefined ? 'it ended the turn at once' : undefined
}

function whyPassing(error: unknown): string | undefined {
  if (!(error instanceof AgentFailure)) return undefined
  const { phase, kind, message } = error
  return phase === 'prompt' && MAY_PASS.has(kind) ? message : undefined
}

/** A turn in which nothing was said, done or used is none: some agents end it so when their model refuses. */
function endOf(
  { hasSigned, hadEffect }: LiveTask,
  { settings: { id } }: AgentHost,
  outcome: TurnResult,
): TurnEnd {
  if ('error' in outcome) throw outcome.error
  const { end } = outcome
  if (end.stopReason !== 'end_turn' || hasSigned || hadEffect || end.usage !== undefined) return end
  throw new AgentFailure('empty', 'prompt', `agent "${id}" ended the turn without saying or doing anything`)
}
