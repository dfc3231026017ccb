import {
  GatewayError,
  type AskGateway,
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
      'Prints a link that is good for one browser, within five minutes, and opens it where there is one. Where the configuration has no "ui", the command serves the page itself until Ctrl-C, without calls, clients and figures. Exit codes: 0 it is there, 1 no listener serves it.',
    examples: ['gateway ui', 'gateway ui --no-open', 'gateway ui --json'],
    gateway: 'running',
    flags: { 'no-open': { type: 'boolean', summary: 'Only print the link.' } },
    run: open,
  },
}

async function open(call: CommandCall): Promise<number> {
  return call.withGateway('running', async ask => {
    const link = await ask('ui.link').catch(withoutPage)
    return link === undefined ? openAlone(call, ask) : show(call, link)
  })
}

function show(call: CommandCall, link: JsonObject): number {
  call.print(link, () => [String(link.url ?? link.problem)])
  if (typeof link.url !== 'string') return NO_PAGE
  if (call.flags['no-open'] !== true) call.openBrowser(link.url)
  return 0
}

/** A gateway without the page has no such verb. */
function withoutPage(error: unknown): undefined {
  if (!(error instanceof GatewayError) || error.code !== 'GW_VERB_UNKNOWN') throw error
}

/** Serves the page itself, until it is interrupted. */
async function openAlone(call: CommandCall, ask: AskGateway): Promise<number> {
  const { serveAlone } = await import('./own-server.ts')
  const { config } = await call.load()
  const served = await serveAlone(ask, config)
  const over = new Promise<void>(resolve => void call.onInterrupt(resolve))
  const shown = show(call, { url: served.url })
  call.err.line(call.err.paint('dim', 'the configuration has no "ui": this page is served until Ctrl-C'))
  await over
  served.close()
  return shown
}
