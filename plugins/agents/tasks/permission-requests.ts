import type { PermissionOutcome, PermissionRequest } from '../types/agent.ts'
import type { AgentSettings } from '../types/settings.ts'
import type { Verdict } from '../types/containment.ts'
import { ask } from './questions.ts'
import { type LiveTask, type TaskContext } from './context.ts'
import { lineOf } from '../sandbox/clean-text.ts'
import { countEffect } from './effects.ts'
import { callInOneLine, permissionQuestion } from '../permissions/question.ts'

const ALLOW = 'allow'
const SCHEMA = {
  type: 'object',
  properties: { decision: { type: 'string', title: 'Decision', enum: [ALLOW, 'deny'] } },
  required: ['decision'],
}

/** Answers what an agent asks to do: by rule, or as its owner says. Never rejects, and never grants more than once. */
export async function permit(
  context: TaskContext,
  live: LiveTask,
  settings: AgentSettings,
  cwd: string,
  request: PermissionRequest,
): Promise<PermissionOutcome> {
  try {
    if (isGone(live, request)) return 'cancelled'
    const verdict = await verdictOf(context, settings, cwd, request)
    const decided = verdict.do === 'ask' ? await asked(context, live, settings, request, verdict) : verdict
    if (isGone(live, request) || decided === 'ended') return 'cancelled'
    return answer(context, live, settings, request, decided)
  } catch (error) {
    context.environment.log.error('a permission could not be decided, and is denied', { error })
    return answer(context, live, settings, request, { do: 'deny', by: 'the gateway failed to decide' })
  }
}

/** Whether nobody waits for the answer any more. */
function isGone({ controller, isLate }: LiveTask, { signal }: PermissionRequest): boolean {
  return controller.signal.aborted || isLate || signal?.aborted === true
}

interface Decided extends Verdict {
  /** Who said so, where it was no rule. */
  readonly who?: 'owner' | 'time'
}

function verdictOf(
  { parts }: TaskContext,
  { permissions }: AgentSettings,
  cwd: string,
  { call }: PermissionRequest,
): Promise<Verdict> {
  return parts.containment.decide(call, permissions, cwd)
}

async function asked(
  context: TaskContext,
  live: LiveTask,
  settings: AgentSettings,
  { call, signal }: PermissionRequest,
  { by }: Verdict,
): Promise<Decided | 'ended'> {
  const message = permissionQuestion(settings.id, call, context.environment.hide)
  const question = { kind: 'permission', message, schema: SCHEMA } as const
  const outcome = await ask(context, live, question, settings.permissions.askTimeoutMs, signal)
  if (outcome === 'ended') return 'ended'
  if (outcome === 'late') return { do: 'deny', by: 'nobody answered in time', who: 'time' }
  const isAllowed = outcome.action === 'accept' && outcome.content.decision === ALLOW
  return {
    do: isAllowed ? 'allow' : 'deny',
    by: `${by}, and its owner ${isAllowed ? 'allowed' : 'denied'} it`,
    who: 'owner',
  }
}

function answer(
  context: TaskContext,
  live: LiveTask,
  settings: AgentSettings,
  { call, options }: PermissionRequest,
  decided: Decided,
): PermissionOutcome {
  const { journal } = live
  const offered = (kind: string): string | undefined => options.find(option => option.kind === kind)?.optionId
  const allowing = decided.do === 'allow' ? offered('allow_once') : undefined
  const line = `${callInOneLine(call, context.environment.hide)} (${decided.by})`
  record(context, live, settings.id, { call, isAllowed: allowing !== undefined, by: decided.by })
  context.counters.permission(settings.id, allowing === undefined ? 'deny' : 'allow', call.kind ?? 'unknown')
  if (allowing !== undefined) {
    // The record comes first: what was allowed may have happened, whatever becomes of us.
    countEffect(live, call)
    journal.event('permission', `allowed: ${line}`)
    return { optionId: allowing }
  }
  const why = decided.do === 'allow' ? `${line}: it offered no way to allow it once` : line
  journal.event('permission', `denied: ${why}`)
  live.deniedBy = decided.who ?? 'policy'
  journal.deny(lineOf(context, why))
  const refusing = offered('reject_once') ?? offered('reject_always')
  return refusing === undefined ? 'cancelled' : { optionId: refusing }
}

/** Gives an audit who allowed what. */
function record(
  { environment }: TaskContext,
  live: LiveTask,
  agent: string,
  { call, isAllowed, by }: { call: PermissionRequest['call']; isAllowed: boolean; by: string },
): void {
  environment.record?.({
    kind: 'permission',
    name: callInOneLine(call, environment.hide),
    outcome: isAllowed ? 'allowed' : 'denied',
    fields: { agent, task: live.record.id, by },
  })
}
