import type { Config, Plugin } from '../../src/plugin.ts'
import { check } from './listeners.ts'

type Options = NonNullable<Config['ui']>

/** A page that shows what the gateway does, for people who keep it open, and the same for programs. */
export const ui: Plugin<Options> = {
  name: 'ui',
  claims: { section: 'ui' },
  check,
  commands: () => import('./commands.ts'),
  async setup(api) {
    const { setUp } = await import('./set-up.ts')
    setUp(api)
  },
}
