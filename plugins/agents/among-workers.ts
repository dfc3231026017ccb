import type { PluginApi, SharedStore } from '../../src/plugin.ts'
import { UPSTREAM, withAgents } from './added.ts'
import { declaredAgents } from './load-agents.ts'
import { GrantsElsewhere } from './mcp/callback-elsewhere.ts'
import { openCallback } from './mcp/callback.ts'
import type { AgentsConfig } from './types/settings.ts'

/** The part of agents in a process that accepts clients, where another one has the agents: their face, and their way back. */
export function joinAgents(api: PluginApi<AgentsConfig>, shared: SharedStore): void {
  const { options, hooks, slot } = api
  const agents = declaredAgents(api)
  const grants = slot.gateway(() => new GrantsElsewhere(shared))
  hooks.configure.tap(config => withAgents(config, options, agents))
  if (agents.some(({ callback }) => callback !== undefined)) openCallback(hooks, grants, UPSTREAM)
}
