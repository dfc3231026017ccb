import { getErrorMessage } from '../../../src/plugin.ts'
import type { AgentHost } from '../acp/agent-host.ts'
import type { TaskOutcome, TurnEnd } from '../types.ts'
import { AgentFailure } from '../types.ts'
import type { TaskEnding } from './attempt.ts'
import { runAttempt, deriveEnding, deriveFailureEnding, mayFallBack } from './attempt.ts'
import type { TurnBeginning } from './questions.ts'
import { askToContinue } from './questions.ts'
import type { LiveTask, TaskContext } from './context.ts'
import type { ReleaseSlot } from '../scheduling.ts'
import { ACTIVE, hasEnded } from '../store/task-store.ts'

/** Agents to try, in order, and how the turn begins. */
interface RunPlan {
  readonly agents: readonly string[]
  readonly beginning: TurnBeginning
  /** True if the task was admitted before a restart. */
  readonly wasAdmitted: boolean
}

/** Why an agent failed and the next one is tried. */
interface AgentFallback {
  readonly passed: string
  readonly outcome: TaskOutcome
}

/** Runs a task to its end. Never rejects. */
export async function runTask(context: TaskContext, live: LiveTask, course: RunPlan): Promise<void> {
  const { record, controller } = live
  context.live.set(record.id, live)
  try {
    await finishTask(context, live, await tryAgents(context, live, course))
  } catch (error) {
    if (!context.database.isOpen) return
    context.environment.log.error('task failed: internal error', {
      task: record.id,
      why: getErrorMessage(error),
    })
    await finishTask(context, live, deriveFailureEnding(error, live)).catch(() => undefined)
  } finally {
    context.live.delete(record.id)
    if (!controller.signal.aborted) controller.abort()
    context.watchers.emit(record.id)
  }
}

async function tryAgents(context: TaskContext, live: LiveTask, course: RunPlan): Promise<TaskEnding | undefined> {
  const reasons: string[] = []
  let outcome: TaskOutcome = 'gateway'
  const { agents } = course
  for (const [index, agent] of agents.entries()) {
    const isLast = index === agents.length - 1
    const result = await tryAgent(context, live, agent, course, isLast)
    if (result === undefined || 'state' in result) return result
    if (context.isStopping) return undefined
    reasons.push(`${agent}: ${result.passed}`)
    outcome = result.outcome
    if (!isLast) live.journal.addWarning(`${agent} failed: ${result.passed}`)
  }
  return { state: 'failed', outcome, why: reasons.join('; '), stopReason: undefined }
}

async function tryAgent(
  context: TaskContext,
  live: LiveTask,
  agent: string,
  course: RunPlan,
  isLast: boolean,
): Promise<TaskEnding | AgentFallback | undefined> {
  const host = context.parts.agents.get(agent)
  if (host === undefined) return { passed: 'no longer configured', outcome: 'gateway' }
  const slot = await acquireSlot(context, live, host, course)
  if (typeof slot !== 'function') return slot
  try {
    live.journal.setLimits(host.settings.output)
    const hasBegun = live.journal.transition(['queued'], 'starting', { agent })
    return hasBegun ? await attemptTurn(context, live, host, course.beginning, isLast) : undefined
  } finally {
    slot()
  }
}

/** Acquires an agent slot; undefined if the task was cancelled. */
async function acquireSlot(
  context: TaskContext,
  { record, controller }: LiveTask,
  { settings: { id, limits } }: AgentHost,
  { wasAdmitted }: RunPlan,
): Promise<ReleaseSlot | AgentFallback | undefined> {
  const { queueTimeoutMs } = limits
  const leave = await context.queues.get(id)?.acquire(record.owner, queueTimeoutMs, controller.signal, wasAdmitted)
  if (leave === 'cancelled') return undefined
  if (leave === 'full') return { passed: 'queue is full', outcome: 'limit' }
  if (typeof leave === 'function') return leave
  return { passed: `timed out in the queue after ${queueTimeoutMs} ms`, outcome: 'limit' }
}

async function attemptTurn(
  context: TaskContext,
  live: LiveTask,
  host: AgentHost,
  beginning: TurnBeginning,
  isLast: boolean,
): Promise<TaskEnding | AgentFallback | undefined> {
  const { journal, controller } = live
  journal.addAttempt(host.settings.id)
  Object.assign(live, { hasSigned: false, isBroken: false })
  try {
    const end = await runAttempt(context, live, host, beginning)
    checkTurnEnd(live, host, end)
    return deriveEnding(end, live)
  } catch (error) {
    if (controller.signal.aborted) return undefined
    const failure = error instanceof AgentFailure ? `${error.kind}: ${error.message}` : getErrorMessage(error)
    journal.failAttempt(failure)
    if (isLast || !mayFallBack(error, journal.data.hadEffect)) return deriveFailureEnding(error, live)
    journal.dropText()
    const isBack = journal.transition(['starting', 'running', 'input_required'], 'queued', {
      why: `${host.settings.id} failed`,
    })
    const outcome = error instanceof AgentFailure ? error.kind : 'gateway'
    return isBack ? { passed: failure, outcome } : undefined
  }
}

async function finishTask(context: TaskContext, live: LiveTask, ending: TaskEnding | undefined): Promise<void> {
  const { journal, controller } = live
  journal.closeQuestions()
  if (ending?.state === 'interrupted') askToContinue(live, ending.why ?? 'it was interrupted')
  else if (ending !== undefined && !controller.signal.aborted) {
    journal.data.isError = ending.state === 'failed'
    journal.data.stopReason = ending.stopReason
    journal.data.progress = undefined
    journal.transition(ACTIVE, ending.state, { why: ending.why })
  }
  journal.writeLast()
  if (hasEnded(journal.state))
    context.counters.countTask(journal.data.agent ?? 'none', journal.state, ending?.outcome ?? 'gateway')
}

/** Rejects a turn without output, actions or usage: some agents end like this if their model refuses. */
function checkTurnEnd({ hasSigned }: LiveTask, { settings: { id } }: AgentHost, { stopReason, usage }: TurnEnd): void {
  if (stopReason === 'end_turn' && !hasSigned && usage === undefined)
    throw new AgentFailure('empty', 'prompt', `agent "${id}" ended the turn without output or actions`)
}
