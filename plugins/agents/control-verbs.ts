import { ANONYMOUS, gatewayError, principalKey, type JsonObject, type PluginHooks } from '../../src/plugin.ts'
import type { Caller, TaskEvent, TaskView } from './types/tasks.ts'
import { requestOf, problemWith } from './mcp/delegate.ts'
import type { McpParts } from './mcp/callers.ts'
import { answerIn, agentRow, structured } from './mcp/results.ts'
import { INPUTS, MAX_WAIT_MS } from './mcp/schemas.ts'

/** Events in one answer. */
const MAX_EVENTS = 100
/** Caller that stands for the owner's pipe; its tasks are those of clients whom nobody has identified. */
const OWNER: Caller = {
  owner: principalKey(ANONYMOUS),
  issuer: ANONYMOUS.issuer,
  subject: ANONYMOUS.subject,
  parent: undefined,
  identity: { principal: ANONYMOUS, profile: undefined },
}

/** Verbs of the agents for the owner of a running gateway: `agents.list`, `probe`, `route`, `run`, `status`, `reply` and `cancel`. */
export function answerVerbs(hooks: PluginHooks, parts: McpParts): void {
  const { control } = hooks
  control.for('agents.list').tap(() => ({ agents: parts.service().agents().map(agentRow) }))
  control.for('agents.probe').tap(async ({ agents }) => {
    const rows = await parts.service().probe(idsIn(agents))
    return { agents: rows.map(row => ({ ...agentRow(row), ...factsOf(row.health.facts) })) }
  })
  control.for('agents.route').tap(params => {
    const { chosen, by, candidates } = parts
      .service()
      .route(requestOf(checked('agents.route', params)), OWNER)
    return { chosen: [...chosen], by, candidates: candidates.map(candidate => ({ ...candidate })) }
  })
  control.for('agents.run').tap(async params => {
    const request = { ...requestOf(checked('agents.run', params)), background: true }
    const view = await parts.service().delegate(request, OWNER)
    parts.begun(view.id, OWNER)
    return structured(view)
  })
  control.for('agents.status').tap(async params => {
    const { since = 0, waitMs = 0 } = params
    const id = taskIn('agents.status', params, parts).id
    const until = { ms: Math.min(Number(waitMs), MAX_WAIT_MS), since: Number(since) }
    const view =
      (await parts.service().wait(id, OWNER.owner, until)) ?? taskIn('agents.status', params, parts)
    return withEvents(view, parts.service().events(view.id, OWNER.owner, Number(since), MAX_EVENTS))
  })
  control.for('agents.reply').tap(params => {
    const { id } = taskIn('agents.reply', params, parts)
    const given = answerIn(params)
    if (given === undefined || typeof params.question !== 'string')
      throw wrong('agents.reply', '"question" and "action" must say what is answered')
    parts.begun(id, OWNER)
    return structured(parts.service().answer(id, OWNER.owner, params.question, given))
  })
  control.for('agents.cancel').tap(params => {
    const { id } = taskIn('agents.cancel', params, parts)
    return { cancelled: parts.service().cancel(id, OWNER.owner, 'its owner cancelled it') }
  })
}

function withEvents(view: TaskView, events: readonly TaskEvent[]): JsonObject {
  return { ...structured(view), is_error: view.isError, events: events.map(event => ({ ...event })) }
}

function factsOf(facts: JsonObject | object | undefined): JsonObject {
  return facts === undefined ? {} : { facts: { ...facts } }
}

function idsIn(agents: unknown): string[] | undefined {
  return Array.isArray(agents) ? (agents as unknown[]).filter(id => typeof id === 'string') : undefined
}

function checked(verb: string, params: JsonObject): JsonObject {
  const problem = problemWith(params, INPUTS.delegate_task)
  if (problem !== undefined) throw wrong(verb, problem)
  return params
}

function taskIn(verb: string, { task }: JsonObject, parts: McpParts): TaskView {
  const view = typeof task === 'string' ? parts.service().view(task, OWNER.owner) : undefined
  if (view === undefined) throw wrong(verb, '"task" must be the id of a task of yours')
  return view
}

function wrong(verb: string, why: string): Error {
  return gatewayError('GW_VERB_PARAMS', { verb, why })
}
