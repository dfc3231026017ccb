import { randomBytes } from 'node:crypto'
import { gatewayError } from '../../../src/plugin.ts'
import type { AgentHost } from '../acp/agent-host.ts'
import type { AgentHealth, RouteDecision, TaskCaller, TaskRequest } from '../types.ts'
import { agentError } from '../errors.ts'
import type { AgentSettings } from '../settings.ts'
import { createBeginning } from './questions.ts'
import type { TaskContext } from './context.ts'
import { LiveTask } from './context.ts'
import type { NewTask, TaskRecord, TaskStart } from '../store/task-store.ts'
import { hasEnded } from '../store/task-store.ts'
import type { AgentStatus, RouteRequest } from '../scheduling.ts'
import { runTask } from './runner.ts'
import { cleanJson } from '../store/task-journal.ts'

/** Suggested retry delay if the queue is full. */
const RETRY_MS = 1000

/** Stores a task and starts it; resolves when it is on disk. @throws GatewayError GW_AGENT_* */
export async function delegate(context: TaskContext, request: TaskRequest, caller: TaskCaller): Promise<TaskRecord> {
  const { owner } = caller
  const { idempotencyKey, files } = request
  const existing = idempotencyKey === undefined ? undefined : context.tasks.findByKey(owner, idempotencyKey)
  if (existing !== undefined) return existing
  const before = findContinued(context, request, owner)
  const parent = findParent(context, caller)
  const location = await context.parts.containment.resolve(request.cwd ?? before?.start.cwd, files)
  if (before !== undefined && location.cwd !== before.start.cwd)
    throw agentError('GW_AGENT_TASK_BUSY', { task: before.id, why: 'it uses another directory' })
  const routeRequest = buildRouteRequest(request, caller, before)
  const decision = context.route(routeRequest, listStatuses(context))
  if (context.isStopping) throw gatewayError('GW_STOPPING')
  checkChosen(context, decision, routeRequest, caller)
  const task = buildTask(context, request, caller, { before, parent, location, decision })
  return startTask(context, task, request, caller)
}

interface TaskOrigin {
  readonly before: TaskRecord | undefined
  readonly parent: TaskRecord | undefined
  readonly location: { readonly cwd: string; readonly files: readonly string[] }
  readonly decision: RouteDecision
}

function buildTask(
  { environment, parts }: TaskContext,
  request: TaskRequest,
  { owner, issuer, subject }: TaskCaller,
  { before, parent, location, decision }: TaskOrigin,
): NewTask {
  const id = `t_${randomBytes(16).toString('hex')}`
  const start: TaskStart = {
    ...{ issuer, subject, request: omitPrompt(request), cwd: location.cwd, files: location.files },
    prompt: parts.tasks.keepPrompt ? environment.hide(request.prompt) : undefined,
    decision,
    parent: parent?.id,
    depth: parent === undefined ? 0 : parent.start.depth + 1,
    ground: before?.start.ground ?? id,
    resume: before?.sessionId,
  }
  const root = parent?.root ?? id
  return { id, owner, key: request.idempotencyKey, root, start }
}

function buildRouteRequest(request: TaskRequest, caller: TaskCaller, before?: TaskRecord): RouteRequest {
  const { agent, taskType, capabilities } = request
  // A session can only be resumed by its own agent.
  return { agent: before?.agent ?? agent, taskType, capabilities, caller }
}

function startTask(context: TaskContext, task: NewTask, request: TaskRequest, caller: TaskCaller): TaskRecord {
  const { id, owner, start } = task
  const { prompt } = request
  const addResult = context.tasks.add(task, context.parts.tasks)
  if (addResult === 'full')
    throw agentError('GW_AGENT_TASKS_FULL', {
      why: 'the limit agents.tasks.max is reached and no task has finished',
    })
  if (addResult === 'full-of-caller')
    throw agentError('GW_AGENT_TASKS_FULL', {
      why: `${context.parts.tasks.maxPerCaller} of your tasks are unfinished`,
    })
  if (addResult !== undefined) return addResult
  const record = getRecord(context, id, owner)
  const live = new LiveTask(context, record, caller, prompt)
  live.journal.addEvent('state', `queued for ${start.decision.chosen.join(', ')} (${start.decision.by})`)
  const beginning = createBeginning(record, prompt)
  void runTask(context, live, { agents: start.decision.chosen, beginning, wasAdmitted: false })
  return getRecord(context, id, owner)
}

/** @throws GatewayError GW_AGENT_TASK_UNKNOWN */
export function getRecord(context: TaskContext, task: string, owner: string): TaskRecord {
  const record = context.tasks.find(task, owner)
  if (record === undefined) throw agentError('GW_AGENT_TASK_UNKNOWN', { task })
  return record
}

/** Finds the continued task; it must have ended, because a session runs one turn at a time. */
function findContinued(context: TaskContext, { continues }: TaskRequest, owner: string): TaskRecord | undefined {
  if (continues === undefined) return undefined
  const before = getRecord(context, continues, owner)
  const busy = (why: string): Error => agentError('GW_AGENT_TASK_BUSY', { task: continues, why })
  if (before.state === 'interrupted') throw busy('it was interrupted; answer its question')
  if (!hasEnded(before.state) || context.live.has(continues)) throw busy('it has not finished')
  if (before.sessionId === undefined || before.agent === undefined) throw busy('no agent has a session for it')
  return before
}

/** Uses the stored depth and number, not the caller's claims. */
function findParent(context: TaskContext, { owner, parent }: TaskCaller): TaskRecord | undefined {
  if (parent === undefined) return undefined
  const record = getRecord(context, parent.task, owner)
  const reason = hasEnded(record.state) ? 'the parent task has finished' : describeLimit(context, record)
  if (reason !== undefined) throw agentError('GW_AGENT_BUDGET', { why: reason })
  return record
}

function describeLimit(context: TaskContext, { agent, owner, root, start }: TaskRecord): string | undefined {
  const getLimits = (id = ''): AgentSettings['callback'] => context.parts.agents.get(id)?.settings.callback
  const bounds = getLimits(agent)
  if (bounds === undefined) return 'callbacks are not allowed for this agent'
  if (start.depth >= bounds.maxDepth) return `depth ${start.depth} exceeds callback.maxDepth ${bounds.maxDepth}`
  const max = getLimits(context.tasks.find(root, owner)?.agent)?.maxTasks ?? bounds.maxTasks
  const isFull = context.tasks.countDescendants(root, owner) >= max
  return isFull ? `${max} tasks already started by the same task` : undefined
}

function checkChosen(
  { parts, queues }: TaskContext,
  decision: RouteDecision,
  { agent }: RouteRequest,
  { owner }: TaskCaller,
): void {
  if (agent !== undefined && !parts.agents.has(agent)) throw agentError('GW_AGENT_UNKNOWN', { agent, meant: '' })
  const [first] = decision.chosen
  if (first === undefined) throw agentError('GW_AGENT_NONE_FITS', { why: explainNoAgent(decision, agent), decision })
  if (!decision.chosen.every(id => queues.get(id)?.isQueueFull(owner) === true)) return
  const why = `busy, with ${queues.get(first)?.queued ?? 0} queued tasks`
  throw agentError('GW_AGENT_QUEUE_FULL', { agent: first, why, retryAfterMs: RETRY_MS, decision })
}

function omitPrompt({ prompt: _, idempotencyKey: __, ...request }: TaskRequest): TaskStart['request'] {
  return request
}

/** Returns all agents' states for routing. */
function listStatuses(context: TaskContext): AgentStatus[] {
  return [...context.parts.agents.values()].map(host => {
    const { id, capabilities } = host.settings
    const { state, why = 'it did not start' } = cleanHealth(context, host)
    const illness = state === 'unavailable' ? `unavailable: ${why}` : `login required: ${why}`
    return { id, capabilities, illness: state === 'ready' || state === 'unknown' ? undefined : illness }
  })
}

/** Redacts the agent's own text. */
function cleanHealth(context: TaskContext, { health }: AgentHost): AgentHealth {
  return { ...cleanJson(context, health), state: health.state }
}

/** Formats an agent for callers; `last_words`, its stderr, may contain anything, so only probes show it. */
export function buildAgentRow(context: TaskContext, host: AgentHost, isProbe: boolean) {
  const { id, title, description, capabilities } = host.settings
  const { state, why, facts, lastWords } = cleanHealth(context, host)
  const { running = 0, queued = 0 } = context.queues.get(id) ?? {}
  const row = { id, title, description, capabilities: [...capabilities], health: state, why, running, queued }
  return isProbe ? { ...row, facts, last_words: lastWords } : row
}

/** Explains on one line why no agent, or not the named one, is available. */
function explainNoAgent({ candidates }: RouteDecision, named: string | undefined): string {
  if (candidates.length === 0) return 'no agent configured'
  const considered = candidates.filter(({ agent }) => named === undefined || agent === named)
  return considered.map(({ agent, why }) => `${agent}: ${why}`).join('; ')
}
