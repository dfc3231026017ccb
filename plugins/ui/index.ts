import type { Config, Plugin, CommandCall, PluginCommands } from '../../src/plugin.ts'
import { checkUiListeners } from './page-listeners.ts'

type UiOptions = NonNullable<Config['ui']>

/** Dashboard page, and an API with the same data. */
export const ui: Plugin<UiOptions> = {
  name: 'ui',
  claims: { section: 'ui' },
  check: checkUiListeners,
  commands: () => Promise.resolve({ commands }),
  async setup(api) {
    const { setUpUi } = await import('./setup.ts')
    setUpUi(api)
  },
}

/** Exit code if no listener serves the page. */
const EXIT_NO_PAGE = 4

const commands: PluginCommands = {
  ui: {
    summary: 'Open the dashboard of a running gateway.',
    description:
      'Prints a login link, valid for one browser and five minutes, and opens it in the browser if there is one. Requires "ui: {}" in the configuration. Exit codes: 0 success, 4 no listener serves the dashboard.',
    examples: ['gateway ui', 'gateway ui --no-open', 'gateway ui --json'],
    gateway: 'running',
    flags: { 'no-open': { type: 'boolean', summary: 'Only print the link.' } },
    run: openPage,
  },
}

async function openPage(call: CommandCall): Promise<number> {
  const link = await call.withGateway('running', ask => ask('ui.link'))
  const lines = Array.isArray(link.add) ? link.add.map(line => `  ${String(line)}`) : []
  call.print(link, () => [String(link.url ?? link.problem), ...lines])
  if (typeof link.url !== 'string') return EXIT_NO_PAGE
  if (call.flags['no-open'] !== true) call.openBrowser(link.url)
  return 0
}
