import type { CommandCall, JsonObject, PluginCommands } from '../../src/plugin.ts'
import { suggestHint, toOneLine, filterObjects } from '../../src/plugin.ts'

/** Name of the row for unknown clients. */
const UNKNOWN_CLIENT = 'unknown'

export const commands: PluginCommands = {
  fit: {
    summary: 'Show what a client is shown in another form than servers list it, and why.',
    description:
      'Asks the gateway that runs, or one for as long as it takes. Without a client: one line for each client of the table.',
    examples: ['gateway fit cursor', 'gateway fit claude-code --json', 'gateway fit'],
    gateway: 'any',
    args: { client: { description: 'A client of the table, or a name by which one introduces itself.' } },
    flags: { profile: { value: '<name>', summary: 'As seen through this profile.' } },
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
    const { CLIENTS } = await import('./profiles.ts')
    const name = toOneLine(client)
    call.err.line(
      `no client of the table is called ${name}: it is shown what anybody else is${suggestHint(client, CLIENTS)}`,
    )
  }
  call.print(report, () => formatReport(report, call))
}

async function showOverview(call: CommandCall): Promise<void> {
  const reports = await call.withGateway('whole', async ask => {
    const { clients } = await ask('fit.clients')
    const found: JsonObject[] = []
    for (const row of filterObjects(clients)) {
      const client = String(row.client)
      await ask('listing', { client })
      found.push(await ask('fit.report', { client }))
    }
    return found
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
    `${renamed} under another name`,
    `${changes.length - hidden} in another form`,
    `${hidden} not shown`,
    report.tooMany === undefined ? '' : `more than the ${String(report.tooMany)} that it takes`,
  ]
}

function formatReport(report: JsonObject, { out }: CommandCall): string[] {
  const changes = filterObjects(report.changes)
  const many =
    report.tooMany === undefined
      ? []
      : [
          `${String(report.client)} takes ${String(report.tooMany)} tools, and is shown ${String(report.tools)}`,
        ]
  if (changes.length === 0) return [`${formatToolCount(report)}, each as its server lists it`, ...many]
  const lines = changes.flatMap(({ name, shown, notes, unfit }) => {
    const title = out.paint('bold', toOneLine(String(name)))
    if (unfit !== undefined)
      return [`${title} ${out.paint('red', 'is not shown')}: ${toOneLine(String(unfit))}`]
    const arrow = shown === undefined ? '' : ` → ${toOneLine(String(shown))}`
    return [
      `${title}${arrow}`,
      ...(Array.isArray(notes) ? notes : []).map(note => `  ${toOneLine(String(note))}`),
    ]
  })
  return [...lines, ...many]
}
