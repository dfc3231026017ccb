import type { Config, Plugin } from '../../src/plugin.ts'
import { check } from './check.ts'

/** Verbs of what one of several processes keeps for all. */
const OF_ALL = ['ui.calls', 'ui.call', 'ui.figures']

type Options = NonNullable<Config['ui']>

/** A page that shows what the gateway does, for people who keep it open, and the same for programs. */
export const ui: Plugin<Options> = {
  name: 'ui',
  claims: { section: 'ui' },
  check,
  scope: 'shared',
  shares: 'host',
  ownerVerbs: OF_ALL,
  sharedVerbs: ['ui.link'],
  commands: () => import('./commands.ts'),
  async setup(api) {
    const { role, shared } = api
    if (role === 'primary' && shared !== undefined) {
      const { keepCalls } = await import('./record/among-workers.ts')
      return keepCalls(api, shared)
    }
    const { setUp } = await import('./set-up.ts')
    return setUp(api)
  },
}
