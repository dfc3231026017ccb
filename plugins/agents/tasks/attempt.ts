import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { JsonObject } from '../../../src/plugin.ts'
import { GatewayError, getErrorMessage } from '../../../src/plugin.ts'
import type { AgentHost } from '../acp/agent-host.ts'
import type { AgentSession } from '../acp/session.ts'
import type { TaskStart } from '../store/task-store.ts'
import type { CallbackToken } from '../callback.ts'
import type { TaskOutcome, TurnEnd } from '../types.ts'
import { AgentFailure } from '../types.ts'
import type { Worktree } from '../containment.ts'
import type { LiveTask, TaskContext } from './context.ts'
import type { TurnBeginning } from './questions.ts'
import { createSessionHandler } from './session-handler.ts'

type TurnFacts = Pick<LiveTask, 'isLate' | 'isBroken' | 'hasText' | 'deniedBy'>

/** How a task ended; `interrupted` can be resumed. */
export interface TaskEnding {
  readonly state: 'completed' | 'failed' | 'interrupted'
  readonly outcome: TaskOutcome
  readonly why: string | undefined
  readonly stopReason: string | undefined
}

/** A task that cannot be resumed, without a fault in the gateway or agent. */
class ResumeError extends Error {
  override readonly name = 'CannotGoOn'
}

const DENIED_BY = {
  policy: 'denied by policy',
  owner: 'denied by the owner',
  time: 'denied: the approval timed out',
} as const

/** Derives the ending from a completed turn; detects false successes. */
export function deriveEnding({ stopReason }: TurnEnd, { isLate, isBroken, hasText, deniedBy }: TurnFacts): TaskEnding {
  const failed = (outcome: TaskOutcome, why: string): TaskEnding => createFailure(outcome, why, stopReason)
  if (isLate) return failed('timeout', 'timeout: time limit reached')
  if (stopReason === 'refusal') return failed('refused', 'the agent refused')
  if (deniedBy !== undefined && (!hasText || stopReason === 'cancelled')) return failed('denied', DENIED_BY[deniedBy])
  if (stopReason === 'cancelled') return failed('refused', 'the agent cancelled the turn')
  if (isBroken) return failed('refused', 'the agent reported an internal error; see its text')
  const why = stopReason === 'end_turn' ? undefined : `the agent stopped early: ${stopReason}`
  return { state: 'completed', outcome: 'completed', why, stopReason }
}

/** Derives the ending from a failed turn. */
export function deriveFailureEnding(error: unknown, { isLate }: TurnFacts): TaskEnding {
  if (isLate) return createFailure('timeout', 'timeout: time limit reached')
  if (error instanceof AgentFailure)
    return error.kind === 'stopped'
      ? { ...createFailure('stopped', 'the gateway stopped the agent'), state: 'interrupted' }
      : createFailure(error.kind, `${error.kind} in ${error.phase}: ${error.message}`)
  const isExplained = error instanceof GatewayError || error instanceof ResumeError
  return createFailure('gateway', isExplained ? error.message : `internal gateway error: ${getErrorMessage(error)}`)
}

function createFailure(outcome: TaskOutcome, why: string, stopReason?: string): TaskEnding {
  return { state: 'failed', outcome, why, stopReason }
}

/** True if another agent may try: this agent failed explicitly before it had any effect. */
export function mayFallBack(error: unknown, hadEffect: boolean): boolean {
  const kinds: readonly string[] = ['spawn', 'auth', 'limit', 'busy', 'empty']
  return error instanceof AgentFailure && !hadEffect && kinds.includes(error.kind)
}

interface AttemptDirectory {
  readonly cwd: string
  readonly worktree: Worktree | undefined
}

/** Runs one turn with one agent, including the session. @throws AgentFailure, ResumeError */
export async function runAttempt(
  context: TaskContext,
  live: LiveTask,
  host: AgentHost,
  beginning: TurnBeginning,
): Promise<TurnEnd> {
  const workspace = await openDirectory(context, live, host)
  const callbackToken = openCallbackToken(context, live, host)
  try {
    const handler = createSessionHandler(context, live, host.settings, workspace.cwd)
    const { session, text } = await openAgentSession(live, host, beginning, {
      callbackToken,
      handler,
      cwd: workspace.cwd,
    })
    try {
      const end = await runTurn(context, live, host, session, text)
      if (callbackToken?.wasUsed === false)
        live.journal.addWarning(`${host.settings.id} did not connect to the gateway over MCP`)
      return end
    } finally {
      await tryCleanup(context, () => session.close())
    }
  } finally {
    callbackToken?.close()
    await tryCleanup(context, () => recordChanges(live, workspace.worktree))
  }
}

async function openDirectory(
  { parts }: TaskContext,
  { record, journal }: LiveTask,
  { settings }: AgentHost,
): Promise<AttemptDirectory> {
  const { start } = record
  // A caller can request stricter isolation, never weaker.
  const isApart = settings.isolation === 'worktree' || start.request.isolation === 'worktree'
  if (!isApart) return { cwd: start.cwd, worktree: undefined }
  const worktree = await parts.containment.worktree(start.ground, start.cwd)
  for (const warning of worktree.warnings) journal.addWarning(warning)
  return { cwd: worktree.cwd, worktree }
}

function openCallbackToken(
  { parts }: TaskContext,
  { record, caller, journal }: LiveTask,
  host: AgentHost,
): CallbackToken | undefined {
  const { id: task, root, start } = record
  const { settings: agent, health } = host
  if (agent.callback === undefined) return undefined
  if (health.facts?.mcpHttp === false) {
    journal.addWarning(`${agent.id} does not support MCP over HTTP, so it cannot call back`)
    return undefined
  }
  return parts.callback?.open({ task, root, depth: start.depth, caller, agent })
}

async function openAgentSession(
  live: LiveTask,
  host: AgentHost,
  { resume, resumePrompt, restartPrompt, noRestartReason }: TurnBeginning,
  {
    callbackToken,
    handler,
    cwd,
  }: { callbackToken: CallbackToken | undefined; handler: ReturnType<typeof createSessionHandler>; cwd: string },
): Promise<{ session: AgentSession; text: string }> {
  const { signal } = live.controller
  const { model } = live.record.start.request
  const mcpServers = callbackToken === undefined ? [] : [callbackToken.server]
  const sessionRequest = { cwd, mcpServers, handler, signal, model }
  if (resume !== undefined && resumePrompt !== undefined) {
    try {
      return { session: await host.openSession({ ...sessionRequest, resume }), text: resumePrompt }
    } catch (error) {
      if (!(error instanceof AgentFailure) || error.kind !== 'lost') throw error
      live.journal.addWarning('the session cannot be resumed')
    }
  }
  if (restartPrompt === undefined) throw new ResumeError(noRestartReason)
  return { session: await host.openSession(sessionRequest), text: restartPrompt }
}

async function runTurn(
  context: TaskContext,
  live: LiveTask,
  { settings }: AgentHost,
  session: AgentSession,
  text: string,
): Promise<TurnEnd> {
  const { journal, record, controller, caller } = live
  const { signal } = controller
  const { clock } = context.environment
  journal.data.sessionId = session.id
  const onAbort = (): void => session.cancel()
  signal.addEventListener('abort', onAbort, { once: true })
  const ms = Math.min(record.start.request.timeoutMs ?? Infinity, settings.timeouts.turnMs)
  const stopTimer = clock.after(ms, () => expireTurn(live, session))
  const began = clock.now()
  let usage: JsonObject | undefined
  try {
    // Record this before prompting: the agent may start although the gateway crashes.
    if (!journal.transition(['starting'], 'running', { wasPrompted: true }) || signal.aborted)
      throw new AgentFailure('stopped', 'prompt', 'the task was cancelled')
    const end = await session.prompt(buildContent(text, record.start), buildMeta(caller.trace))
    usage = end.usage
    if (usage !== undefined) journal.setUsage(usage)
    return end
  } finally {
    stopTimer()
    signal.removeEventListener('abort', onAbort)
    context.counters.countTurn(settings.id, (clock.now() - began) / 1000, usage)
  }
}

function expireTurn(live: LiveTask, session: AgentSession): void {
  live.isLate = true
  live.endQuestions()
  session.cancel()
}

function buildContent(text: string, { files }: TaskStart): JsonObject[] {
  const links = files.map(file => ({
    type: 'resource_link',
    uri: pathToFileURL(file).href,
    name: basename(file),
  }))
  return [{ type: 'text', text }, ...links]
}

function buildMeta(trace: Readonly<Record<string, string>> | undefined): JsonObject | undefined {
  return trace === undefined || Object.keys(trace).length === 0 ? undefined : { ...trace }
}

async function recordChanges({ journal }: LiveTask, worktree: Worktree | undefined): Promise<void> {
  if (worktree === undefined) return
  const { diff, files } = await worktree.changes()
  journal.setDiff(diff)
  for (const file of files) journal.addChangedFile(file)
}

/** Runs cleanup after a turn; its failure does not change the result. */
async function tryCleanup({ environment }: TaskContext, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    environment.log.warn('cannot clean up after task', { why: getErrorMessage(error) })
  }
}
