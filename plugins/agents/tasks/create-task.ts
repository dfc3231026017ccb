import { createHash, randomBytes } from 'node:crypto'
import { gatewayError } from '../../../src/plugin.ts'
import type { Caller, TaskRequest } from '../types/tasks.ts'
import type { AgentSettings } from '../types/settings.ts'
import { beginningOf } from './interruption.ts'
import { liveOf } from './running-task.ts'
import type { TaskContext } from './context.ts'
import { emptyData, hasEnded, type TaskRecord, type TaskStart } from '../store/record.ts'
import type { Routed, RouteRequest } from '../scheduling/routing.ts'
import { run } from './runner.ts'
import { routeNow, whyNobody } from './candidates.ts'
import type { NewTask } from '../store/task-store.ts'

/** Takes a task: it is on disk when this resolves, and goes on by itself. @throws GatewayError GW_AGENT_* */
export async function delegate(
  context: TaskContext,
  request: TaskRequest,
  caller: Caller,
): Promise<TaskRecord> {
  const { owner } = caller
  const { idempotencyKey, files } = request
  const known = idempotencyKey === undefined ? undefined : context.tasks.byKey(owner, idempotencyKey)
  if (known !== undefined) return sameTask(known, request)
  const before = endedBefore(context, request, owner)
  const parent = parentOf(context, caller)
  const place = await context.parts.containment.resolve({ cwd: request.cwd ?? before?.start.cwd, files })
  if (before !== undefined && place.cwd !== before.start.cwd)
    throw gatewayError('GW_AGENT_TASK_BUSY', { task: before.id, why: 'it worked in another directory' })
  const wanted = routeRequestOf(request, caller, before)
  const routed = await routeNow(context, wanted, caller)
  if (context.isStopping) throw gatewayError('GW_STOPPING')
  refuseUnlessChosen(context, routed, wanted)
  const task = newTask(context, request, caller, { before, parent, place, routed })
  return begin(context, task, request, caller)
}

/** A key names one task: whoever sends it with other work would take the old answer for a new one. */
function sameTask(known: TaskRecord, request: TaskRequest): TaskRecord {
  const { digest } = known.start
  if (digest === undefined || digest === digestOf(request)) return known
  throw gatewayError('GW_AGENT_KEY_USED', { task: known.id })
}

function digestOf({ idempotencyKey: _, background: __, ...request }: TaskRequest): string {
  return createHash('sha256').update(JSON.stringify(request)).digest('hex')
}

interface Circumstances {
  readonly before: TaskRecord | undefined
  readonly parent: TaskRecord | undefined
  readonly place: { readonly cwd: string; readonly files: readonly string[] }
  readonly routed: Routed
}

function newTask(
  { environment, parts, runners }: TaskContext,
  request: TaskRequest,
  { owner, issuer, subject }: Caller,
  { before, parent, place, routed }: Circumstances,
): NewTask {
  const id = `t_${randomBytes(16).toString('hex')}`
  const start: TaskStart = {
    ...{ issuer, subject, request: withoutPrompt(request), cwd: place.cwd, files: place.files },
    prompt: parts.tasks.keepPrompt ? environment.hide(request.prompt) : undefined,
    decision: routed.decision,
    parent: parent?.id,
    depth: parent === undefined ? 0 : parent.start.depth + 1,
    ground: before?.start.ground ?? id,
    resume: before?.data.sessionId,
    digest: request.idempotencyKey === undefined ? undefined : digestOf(request),
  }
  const root = parent?.root ?? id
  return { id, owner, key: request.idempotencyKey, root, runner: runners.id, start, data: emptyData() }
}

/** What a task would be routed by. */
export function routeRequestOf(request: TaskRequest, caller: Caller, before?: TaskRecord): RouteRequest {
  const { agent, taskType, capabilities, prompt } = request
  // A session is its agent's: nobody else can go on in it.
  return { agent: before?.agent ?? agent, taskType, capabilities, prompt, caller }
}

function begin(context: TaskContext, task: NewTask, request: TaskRequest, caller: Caller): TaskRecord {
  const { id, owner, start } = task
  const { prompt } = request
  const kept = context.tasks.add(task, context.parts.tasks)
  if (kept === 'full')
    throw gatewayError('GW_AGENT_TASKS_FULL', {
      why: 'as many are kept as may be, and none of them has ended',
    })
  if (kept === 'full-of-caller')
    throw gatewayError('GW_AGENT_TASKS_FULL', {
      why: `${context.parts.tasks.maxPerCaller} of yours have not ended`,
    })
  if (kept !== undefined) return sameTask(kept, request)
  const record = recordOf(context, id, owner)
  const live = liveOf(context, record, prompt, caller)
  live.journal.event('state', `queued: for ${start.decision.chosen.join(', ')} by ${start.decision.by}`)
  for (const { agent, why } of start.decision.passedOver ?? [])
    live.journal.warn(`${agent} comes first, and was passed over: ${why}`)
  const beginning = beginningOf(record, prompt)
  void run(context, live, { agents: start.decision.chosen, beginning, wasAdmitted: false })
  return recordOf(context, id, owner)
}

/** @throws GatewayError GW_AGENT_TASK_UNKNOWN */
export function recordOf(context: TaskContext, task: string, owner: string): TaskRecord {
  const record = context.tasks.find(task, owner)
  if (record === undefined) throw gatewayError('GW_AGENT_TASK_UNKNOWN', { task })
  return record
}

/** The task whose session is gone on in: it must be over, as one session does one thing at a time. */
function endedBefore(
  context: TaskContext,
  { continues }: TaskRequest,
  owner: string,
): TaskRecord | undefined {
  if (continues === undefined) return undefined
  const before = recordOf(context, continues, owner)
  const busy = (why: string): Error => gatewayError('GW_AGENT_TASK_BUSY', { task: continues, why })
  if (before.state === 'interrupted') throw busy('it was interrupted; answer its question')
  if (!hasEnded(before.state) || context.live.has(continues)) throw busy('it has not ended')
  if (before.data.sessionId === undefined || before.agent === undefined)
    throw busy('no agent had begun with it')
  return before
}

/** Depth and number are those on disk: what a caller says of itself counts for nothing. */
function parentOf(context: TaskContext, { owner, parent }: Caller): TaskRecord | undefined {
  if (parent === undefined) return undefined
  const record = recordOf(context, parent.task, owner)
  const why = hasEnded(record.state) ? 'its task has ended' : whyNoMore(context, record)
  if (why !== undefined) throw gatewayError('GW_AGENT_BUDGET', { why })
  return record
}

function whyNoMore(context: TaskContext, { agent, owner, root, start }: TaskRecord): string | undefined {
  const boundsOf = (id = ''): AgentSettings['callback'] => context.parts.agents.get(id)?.settings.callback
  const bounds = boundsOf(agent)
  if (bounds === undefined) return 'its agent may not call back'
  if (start.depth >= bounds.maxDepth) return `it is ${start.depth} deep, and ${bounds.maxDepth} is the bound`
  const max = boundsOf(context.tasks.find(root, owner)?.agent)?.maxTasks ?? bounds.maxTasks
  const isFull = context.tasks.descendants(root, owner) >= max
  return isFull ? `${max} tasks have been begun for the same one` : undefined
}

function refuseUnlessChosen(
  { parts }: TaskContext,
  { decision, refused }: Routed,
  { agent }: RouteRequest,
): void {
  if (agent !== undefined && !parts.agents.has(agent))
    throw gatewayError('GW_AGENT_UNKNOWN', { agent, meant: '' })
  if (refused !== undefined) {
    const { isQueue, why, retryAfterMs } = refused
    const code = isQueue ? 'GW_AGENT_QUEUE_FULL' : 'GW_AGENT_LIMIT'
    throw gatewayError(code, { agent: refused.agent, why, retryAfterMs, decision })
  }
  if (decision.chosen.length === 0)
    throw gatewayError('GW_AGENT_NONE_FITS', { why: whyNobody(decision), decision })
}

function withoutPrompt({ prompt: _, idempotencyKey: __, ...request }: TaskRequest): TaskStart['request'] {
  return request
}
