import { type AgentFacts, AgentFailure } from '../types/agent.ts'
import type { SessionProcess } from './session.ts'

/** Tells a new process who pays, where that is configured. @throws AgentFailure */
export async function logIn(process: Pick<SessionProcess, 'settings' | 'facts' | 'demand'>): Promise<void> {
  const { auth, id, timeouts } = process.settings
  const { provider, method, meta } = auth ?? {}
  if (provider !== undefined) {
    const { id: providerId, api: apiType, url: baseUrl, headers } = provider
    const params = { providerId, apiType, baseUrl, headers: { ...headers } }
    await process.demand('auth', 'providers/set', params, timeouts.initializeMs)
  }
  if (method === undefined) return
  demandMethod(id, method, process.facts)
  const params = { methodId: method, ...(meta === undefined ? {} : { _meta: meta }) }
  await process.demand('auth', 'authenticate', params, timeouts.initializeMs)
}

/** A method that needs a terminal would wait for somebody who is not there. */
function demandMethod(agent: string, method: string, { authMethods }: AgentFacts): void {
  const found = authMethods.find(({ id }) => id === method)
  if (found !== undefined && found.type !== 'terminal') return
  const there = authMethods.filter(({ type }) => type !== 'terminal').map(({ id }) => id)
  const why = found === undefined ? 'has no such method' : 'needs a terminal for it'
  throw new AgentFailure(
    'auth',
    'auth',
    `agent "${agent}" cannot log in with "${method}": it ${why}; without a terminal it offers ${there.join(', ') || 'none'}`,
  )
}
