import type { Config, Plugin } from '../../src/plugin.ts'
import { check } from './check.ts'

type Options = NonNullable<Config['ui']>

/** A page that shows what the gateway does, for people who keep it open, and the same for programs. */
export const ui: Plugin<Options> = {
  name: 'ui',
  claims: { section: 'ui' },
  check,
  share: () => ({
    refused:
      '"ui" records the calls of one process: leave it out, and "gateway ui" serves a page of all by itself',
  }),
  commands: () => import('./commands.ts'),
  async setup(api) {
    const { setUp } = await import('./set-up.ts')
    setUp(api)
  },
}
