import type { CommandCall, JsonObject, PluginCommands } from '../../src/plugin.ts'
import { GatewayError } from '../../src/plugin.ts'

/** Exit code if no listener serves the page. */
const NO_PAGE = 1

export const commands: PluginCommands = {
  ui: {
    summary: 'Open the page of a running gateway.',
    description:
      'Prints a link that is good for one browser, within five minutes, and opens it where there is one. The page is served where the configuration has "ui: {}". Exit codes: 0 it is there, 1 no listener serves it.',
    examples: ['gateway ui', 'gateway ui --no-open', 'gateway ui --json'],
    gateway: 'running',
    flags: { 'no-open': { type: 'boolean', summary: 'Only print the link.' } },
    run: open,
  },
}

async function open(call: CommandCall): Promise<number> {
  const link = await call.withGateway('running', ask => ask('ui.link').catch(explainMissing))
  call.print(link, () => [String(link.url ?? link.problem)])
  if (typeof link.url !== 'string') return NO_PAGE
  if (call.flags['no-open'] !== true) call.openBrowser(link.url)
  return 0
}

/** A gateway without the page has no such verb. */
function explainMissing(error: unknown): JsonObject {
  if (!(error instanceof GatewayError) || error.code !== 'GW_VERB_UNKNOWN') throw error
  return { problem: 'this gateway has no page: add the line "ui: {}" to gateway.yaml' }
}
