import type { Plugin } from '../../src/plugin.ts'
import { check } from './check.ts'
import { ERRORS } from './errors.ts'
import type { AgentsConfig } from './types/settings.ts'

/** Coding agents that speak the Agent Client Protocol, as tools, tasks and resources. Without the section nothing of it is loaded. */
export const agents: Plugin<AgentsConfig> = {
  name: 'agents',
  claims: { section: 'agents', adds: { upstreams: ['agents'], listeners: ['agents-callback'] } },
  check,
  errors: ERRORS,
  commands: () => import('./commands.ts'),
  async setup(api) {
    const { setUp } = await import('./setup.ts')
    const { openRuntime } = await import('./runtime.ts')
    setUp(api, openRuntime)
  },
}
