import type { Config, Plugin } from '../../src/plugin.ts'
import { checkUiListeners } from './page-listeners.ts'

type UiOptions = NonNullable<Config['ui']>

/** Dashboard page, and an API with the same data. */
export const ui: Plugin<UiOptions> = {
  name: 'ui',
  claims: { section: 'ui' },
  check: checkUiListeners,
  commands: () => import('./commands.ts'),
  async setup(api) {
    const { setUpUi } = await import('./setup.ts')
    setUpUi(api)
  },
}
