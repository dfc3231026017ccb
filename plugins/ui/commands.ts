import {
  GatewayError,
  gatewayError,
  type CommandCall,
  type JsonObject,
  type PluginCommands,
} from '../../src/plugin.ts'

/** Exit code where there is no page to open. */
const NO_PAGE = 1

export const commands: PluginCommands = {
  ui: {
    summary: 'Open the page of a running gateway.',
    description:
      'Prints a link that is good for one browser, within five minutes, and opens it where there is one. The configuration must have "ui". Exit codes: 0 it is there, 1 no listener serves it.',
    examples: ['gateway ui', 'gateway ui --no-open', 'gateway ui --json'],
    gateway: 'running',
    flags: { 'no-open': { type: 'boolean', summary: 'Only print the link.' } },
    run: open,
  },
}

async function open(call: CommandCall): Promise<number> {
  const link = await call.withGateway('running', ask => ask('ui.link').catch(withoutPage))
  call.print(link, () => [String(link.url ?? link.problem)])
  if (typeof link.url !== 'string') return NO_PAGE
  if (call.flags['no-open'] !== true) call.openBrowser(link.url)
  return 0
}

/** A gateway without the page has no such verb: says what to write. */
function withoutPage(error: unknown): JsonObject {
  if (!(error instanceof GatewayError) || error.code !== 'GW_VERB_UNKNOWN') throw error
  const what =
    'the gateway that runs has no page: write "ui: {}" into its configuration, then "gateway reload"'
  throw gatewayError('GW_USAGE', { what })
}
