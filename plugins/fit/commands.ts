import type { CommandCall, JsonObject, PluginCommands } from '../../src/plugin.ts'
import { suggestHint, toOneLine, filterObjects } from '../../src/plugin.ts'

/** Row name for unknown clients. */
const UNKNOWN_CLIENT = 'unknown'

export const commands: PluginCommands = {
  fit: {
    summary: 'Show how tool lists are adapted for a client, and why.',
    description:
      'Uses the running gateway, or starts one temporarily. Without a client, shows one line for each known client.',
    examples: ['gateway fit cursor', 'gateway fit claude-code --json', 'gateway fit'],
    gateway: 'any',
    args: { client: { description: 'A known client, or the name in its clientInfo.' } },
    flags: { profile: { value: '<name>', summary: 'Use this profile.' } },
    run: call => (call.args.client === undefined ? showOverview(call) : showClient(call, call.args.client)),
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

async function showOverview(call: CommandCall): Promise<void> {
  const reports = await call.withGateway('whole', async ask => {
    const { clients } = await ask('fit.clients')
    const reports: JsonObject[] = []
    for (const row of filterObjects(clients)) {
      const client = String(row.client)
      await ask('listing', { client })
      reports.push(await ask('fit.report', { client }))
    }
    return reports
  })
  call.print({ clients: reports }, () => call.table(reports.map(formatClientRow)))
}

function formatToolCount({ tools }: JsonObject): string {
  return tools === 1 ? '1 tool' : `${String(tools)} tools`
}

function formatClientRow(report: JsonObject): string[] {
  const changes = filterObjects(report.changes)
  const renamed = changes.filter(({ shown }) => shown !== undefined).length
  const hidden = changes.filter(({ unfit }) => unfit !== undefined).length
  return [
    String(report.client),
    formatToolCount(report),
    `${renamed} renamed`,
    `${changes.length - hidden} changed`,
    `${hidden} hidden`,
    report.tooMany === undefined ? '' : `exceeds the limit of ${String(report.tooMany)}`,
  ]
}

function formatReport(report: JsonObject, { out }: CommandCall): string[] {
  const changes = filterObjects(report.changes)
  const tooManyLine =
    report.tooMany === undefined
      ? []
      : [`${String(report.client)} supports ${String(report.tooMany)} tools, and gets ${String(report.tools)}`]
  if (changes.length === 0) return [`${formatToolCount(report)}, unchanged`, ...tooManyLine]
  const lines = changes.flatMap(({ name, shown, notes, unfit }) => {
    const title = out.paint('bold', toOneLine(String(name)))
    if (unfit !== undefined) return [`${title} ${out.paint('red', 'is hidden')}: ${toOneLine(String(unfit))}`]
    const arrow = shown === undefined ? '' : ` → ${toOneLine(String(shown))}`
    return [`${title}${arrow}`, ...(Array.isArray(notes) ? notes : []).map(note => `  ${toOneLine(String(note))}`)]
  })
  return [...lines, ...tooManyLine]
}
