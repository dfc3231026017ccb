import type { CommandCall, JsonObject, PluginCommands } from '../../src/plugin.ts'
import { suggestHint, toOneLine, filterObjects } from '../../src/plugin.ts'

/** Row name for unknown clients. */
const UNKNOWN_CLIENT = 'unknown'

export const commands: PluginCommands = {
  fit: {
    summary: 'Show how tool lists are adapted for a client, and why.',
    description: 'Uses the running gateway, or starts one temporarily.',
    examples: ['gateway fit cursor', 'gateway fit claude-code --json'],
    gateway: 'any',
    args: { client: { required: true, description: 'A known client, or the name in its clientInfo.' } },
    flags: { profile: { value: '<name>', summary: 'Use this profile.' } },
    run: call => showClient(call, call.args.client ?? ''),
  },
}

async function showClient(call: CommandCall, client: string): Promise<void> {
  const report = await call.withGateway('whole', async ask => {
    const { profile } = call.flags
    await ask('listing', { client, ...(profile === undefined ? {} : { profile }) })
    return ask('fit.report', { client })
  })
  if (report.client === UNKNOWN_CLIENT && client !== UNKNOWN_CLIENT) {
    const { CLIENTS } = await import('./client-profiles.ts')
    const name = toOneLine(client)
    call.err.line(`unknown client ${name}: it gets the default form${suggestHint(client, CLIENTS)}`)
  }
  call.print(report, () => formatReport(report, call))
}

function formatReport(report: JsonObject, { out }: CommandCall): string[] {
  const changes = filterObjects(report.changes)
  const tooManyLine =
    report.tooMany === undefined
      ? []
      : [`${String(report.client)} supports ${String(report.tooMany)} tools, and gets ${String(report.tools)}`]
  if (changes.length === 0) return [`${String(report.tools)} tools, unchanged`, ...tooManyLine]
  const lines = changes.flatMap(({ name, shown, notes, unfit }) => {
    const title = out.paint('bold', toOneLine(String(name)))
    if (unfit !== undefined) return [`${title} ${out.paint('red', 'is hidden')}: ${toOneLine(String(unfit))}`]
    const arrow = shown === undefined ? '' : ` → ${toOneLine(String(shown))}`
    return [`${title}${arrow}`, ...(Array.isArray(notes) ? notes : []).map(note => `  ${toOneLine(String(note))}`)]
  })
  return [...lines, ...tooManyLine]
}
