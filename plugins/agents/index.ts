import type { Plugin } from '../../src/plugin.ts'
import type { AgentsConfig } from './types/settings.ts'

/** Coding agents that speak the Agent Client Protocol, as tools, tasks and resources. Without the section nothing of it is loaded. */
export const agents: Plugin<AgentsConfig> = {
  name: 'agents',
  claims: { section: 'agents' },
  async setup(api) {
    const { setUp } = await import('./setup.ts')
    const { openRuntime } = await import('./runtime.ts')
    setUp(api, openRuntime)
  },
}
