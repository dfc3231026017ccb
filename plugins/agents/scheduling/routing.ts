import { callers, type Principal } from '../../../src/plugin.ts'
import type { RouteDecision } from '../types/tasks.ts'
import type { AgentsConfig } from '../types/settings.ts'

/** Requirements of a task that decide which agent gets it. */
export interface RouteRequest {
  readonly agent: string | undefined
  readonly taskType: string | undefined
  readonly capabilities: readonly string[]
  readonly caller: Pick<Principal, 'issuer' | 'subject'>
}

/** One agent at the moment of a decision. */
export interface AgentStatus {
  readonly id: string
  readonly capabilities: ReadonlySet<string>
  /** Why it cannot work at all now; undefined when it can. */
  readonly unfit: string | undefined
}

export type Route = (wanted: RouteRequest, agents: readonly AgentStatus[]) => RouteDecision

/**
 * Chooses the agents of a task: the one that was named; else those of the first rule that fits, else those of `default`, else all
 * as they are declared. Of those, in that order, who can do it and is healthy. @throws Error for a caller that cannot be read
 */
export function routing(config: AgentsConfig['routing'], auth?: Parameters<typeof callers>[1]): Route {
  const rules = (config?.rules ?? []).map(({ id, taskTypes, principals, prefer }, index) => ({
    by: `rule:${id ?? index + 1}`,
    prefer,
    types: taskTypes,
    isFor: principals === undefined ? undefined : callers(principals, auth),
  }))
  const usual = config?.default ?? []

  const findCandidates = ({ agent, taskType, caller }: RouteRequest, all: readonly string[]) => {
    if (agent !== undefined) return { by: 'explicit', prefer: [agent] }
    const rule = rules.find(
      ({ types, isFor }) =>
        (types === undefined || types.includes(taskType ?? '')) && (isFor === undefined || isFor(caller)),
    )
    if (rule !== undefined) return rule
    return usual.length > 0 ? { by: 'default', prefer: usual } : { by: 'order', prefer: all }
  }

  return (wanted, agents) => {
    const ids = agents.map(({ id }) => id)
    const { by, prefer } = findCandidates(wanted, ids)
    const candidates = [...new Set([...prefer, ...ids])].flatMap(id => {
      const agent = agents.find(each => each.id === id)
      if (agent === undefined) return []
      const why = prefer.includes(id) ? rejectionReason(agent, wanted) : `it is not named by ${by}`
      return [{ agent: id, fits: why === undefined, why: why ?? 'it fits' }]
    })
    const chosen = candidates.filter(({ fits }) => fits).map(({ agent }) => agent)
    const first = candidates.findIndex(({ fits }) => fits)
    const passedOver = candidates
      .slice(0, Math.max(first, 0))
      .filter(({ agent, why }) => agents.some(({ id, unfit }) => id === agent && unfit === why))
      .map(({ agent, why }) => ({ agent, why }))
    return { chosen, by, candidates, passedOver }
  }
}

function rejectionReason({ capabilities, unfit }: AgentStatus, wanted: RouteRequest): string | undefined {
  const missing = wanted.capabilities.filter(capability => !capabilities.has(capability))
  return missing.length > 0 ? `it lacks ${missing.join(', ')}` : unfit
}
