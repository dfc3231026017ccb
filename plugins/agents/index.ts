import { listAt, type Plugin } from '../../src/plugin.ts'
import { check } from './check.ts'
import { ERRORS } from './errors.ts'
import type { AgentsConfig } from './types/settings.ts'

/** Coding agents that speak the Agent Client Protocol, as tools, tasks and resources. Without the section nothing of it is loaded. */
export const agents: Plugin<AgentsConfig> = {
  name: 'agents',
  claims: { section: 'agents', adds: { upstreams: ['agents'], listeners: ['agents-callback'] } },
  check,
  errors: ERRORS,
  writes,
  commands: () => import('./commands.ts'),
  async setup(api) {
    const { setUp } = await import('./setup.ts')
    const { openRuntime } = await import('./runtime.ts')
    setUp(api, openRuntime)
  },
}

/** The directories where tasks work, and those that a sandbox lets agents write to. */
function writes({ defaults, list, roots = [] }: AgentsConfig): string[] {
  const settings = [defaults, ...Object.values(list)]
  const writable = settings.flatMap(each => listAt(each, 'sandbox', 'write'))
  return [...roots, ...writable].filter(place => typeof place === 'string')
}
