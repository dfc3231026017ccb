import type { AgentHealth, AgentHost } from '../types/agent.ts'
import type { AgentRow, Caller, RouteDecision } from '../types/tasks.ts'
import { type TaskContext } from './context.ts'
import { lineOf } from '../sandbox/clean-text.ts'
import type { AgentFactsNow, Routed, RouteRequest } from '../scheduling/routing.ts'

/** An agent that was not well is tried again no sooner than this. */
const PROBE_PAUSE_MS = 30_000

/** The decision for a task now; where nobody is well, those who were not are looked at once more. */
export async function routeNow(context: TaskContext, wanted: RouteRequest, caller: Caller): Promise<Routed> {
  const routed = context.route(wanted, factsNow(context, caller))
  if (routed.decision.chosen.length > 0 || routed.refused !== undefined) return routed
  const now = context.environment.clock.now()
  const ill = [...context.parts.agents.values()].filter(
    ({ health, settings: { id } }) =>
      (health.state === 'unavailable' || health.state === 'needs_auth') &&
      (wanted.agent === undefined || wanted.agent === id) &&
      now - (context.probed.get(id) ?? -Infinity) >= PROBE_PAUSE_MS,
  )
  if (ill.length === 0) return routed
  for (const { settings } of ill) context.probed.set(settings.id, now)
  await Promise.all(ill.map(host => host.probe()))
  return context.route(wanted, factsNow(context, caller))
}

/** Every agent as a decision sees it. */
export function factsNow(context: TaskContext, caller: Caller): AgentFactsNow[] {
  return [...context.parts.agents.values()].map(host => factsOf(context, host, caller))
}

function factsOf(context: TaskContext, host: AgentHost, caller: Caller): AgentFactsNow {
  const { id, capabilities, priority, limits } = host.settings
  const { onLimit, concurrent, queue, queueTimeoutMs } = limits
  const places = context.queues.get(id)
  return {
    ...{ id, capabilities, priority, onLimit, concurrent, queue, queueTimeoutMs },
    running: places?.running ?? 0,
    queued: places?.queued ?? 0,
    unfit: illnessOf(healthOf(context, host)) ?? lockOf(context, id, concurrent, caller),
    spent: context.turns.spent(id, limits),
  }
}

function illnessOf({ state, why }: AgentHealth): string | undefined {
  if (state === 'unavailable') return `it is not available: ${why ?? 'it did not start'}`
  return state === 'needs_auth' ? `it needs a login: ${why ?? 'it says no more'}` : undefined
}

/** How an agent does, as others may read it: the words in it are the agent's own. */
function healthOf(context: TaskContext, { health }: AgentHost): AgentHealth {
  const { why, facts, ...rest } = health
  const clean = (text: string): string => lineOf(context, text)
  return {
    ...rest,
    ...(why === undefined ? {} : { why: clean(why) }),
    ...(facts === undefined
      ? {}
      : {
          facts: {
            ...facts,
            name: facts.name && clean(facts.name),
            version: facts.version && clean(facts.version),
            authMethods: facts.authMethods.map(({ id, name, type }) => ({
              ...{ id: clean(id), name: clean(name), type: clean(type) },
            })),
          },
        }),
  }
}

/** A task that waits for a place which its own ancestors hold would wait for ever. */
function lockOf(
  context: TaskContext,
  agent: string,
  concurrent: number,
  { owner, parent }: Caller,
): string | undefined {
  let held = 0
  let id = parent?.task
  while (id !== undefined) {
    if (context.live.get(id)?.agent === agent) held++
    id = context.tasks.find(id, owner)?.start.parent
  }
  return held >= concurrent ? 'all its places are held by the tasks that this one is for' : undefined
}

/** One agent as callers see it. */
export function rowOf(context: TaskContext, host: AgentHost): AgentRow {
  const { settings, load } = host
  const { id, title, description, capabilities, priority, limits } = settings
  const places = context.queues.get(id)
  return {
    ...{ id, title, description, priority, health: healthOf(context, host), load },
    capabilities: [...capabilities],
    running: places?.running ?? 0,
    queued: places?.queued ?? 0,
    left: context.turns.left(id, limits),
  }
}

/** Why nobody can have it, in one line. */
export function whyNobody({ candidates }: RouteDecision): string {
  if (candidates.length === 0) return 'none is configured'
  return candidates.map(({ agent, why }) => `${agent}: ${why}`).join('; ')
}
