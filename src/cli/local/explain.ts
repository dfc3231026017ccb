import { gatewayError, GatewayError } from '../../errors/errors.ts'
import type { Explanation } from '../../gateway/explain.ts'
import { disableRecords } from '../../gateway/load-config.ts'
import type { ConfigPlan, ConfigSnapshot } from '../../gateway/plan.ts'
import { comparePlan, parseSnapshot, snapshotConfig } from '../../gateway/plan.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { toOneLine, plural } from '../../util/plain-text.ts'
import type { SourceFlags } from '../load-source.ts'
import { loadSource, getStateDirectory } from '../load-source.ts'
import { formatTable, withoutWidth } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import type { ControlFlags } from '../remote/connect.ts'
import { withRunningGateway } from '../remote/connect.ts'
import type { GatewayHandle, QueryFlags } from './gateway-handle.ts'
import { printUsedGateway, withGatewayHandle, withGateway } from './gateway-handle.ts'
import type { ToolArguments } from './call.ts'
import { createArguments } from './call.ts'
import { listAllTools } from './tools.ts'

/** Flags that say whose call it would be, and with what. */
interface ExplainFlags extends QueryFlags {
  readonly as?: string | undefined
  readonly scope?: readonly string[] | undefined
  readonly client?: string | undefined
  readonly profile?: string | undefined
}

/** Explains the outcome of a call, step by step, from the gateway that runs or one of the command's own. */
export function explainTool(
  tool: string,
  given: ToolArguments | undefined,
  flags: ExplainFlags,
  terminal: Terminal,
): Promise<Explanation> {
  const { as, scope, client, profile } = flags
  const asked: JsonObject = {
    tool,
    ...(as === undefined ? {} : { as }),
    ...(scope === undefined ? {} : { scopes: scope }),
    ...(client === undefined ? {} : { client }),
    ...(profile === undefined ? {} : { profile }),
  }
  return withGatewayHandle(flags, terminal, async gateway => {
    const params =
      given === undefined ? asked : { ...asked, arguments: await createTypedArguments(gateway, tool, given) }
    return (await gateway.control('explain', params)) as unknown as Explanation
  })
}

/** The arguments as `gateway call` sends them: its schema says which value is text. */
async function createTypedArguments(
  gateway: GatewayHandle,
  tool: string,
  given: ToolArguments,
): Promise<JsonObject> {
  if (given.pairs.length === 0) return given.whole
  const tools = await listAllTools(gateway)
  return createArguments(given, tools.find(({ name }) => name === tool)?.inputSchema)
}

const STEP_STYLES = {
  passes: 'dim',
  changes: 'cyan',
  answers: 'green',
  refuses: 'red',
  asks: 'yellow',
  depends: 'yellow',
} as const

/** The way as people read it: who, where to, each step, and the end. */
export function formatExplanation(explanation: Explanation, { out }: Pick<Terminal, 'out'>): string[] {
  const { tool, caller, client, profile, upstream, original, outcome, steps } = explanation
  const scopes = caller.scopes.length === 0 ? '' : ` with ${caller.scopes.join(' ')}`
  const view = profile === undefined ? '' : `, profile ${profile}`
  const target = upstream === undefined ? '' : `→ ${upstream} ${original ?? ''}`
  const rows = steps.map(({ at, by, does, text, rule }) => [
    out.paint('dim', at),
    by,
    out.paint(STEP_STYLES[does], does),
    toOneLine(rule === undefined ? text : `${text} (${rule})`),
  ])
  return [
    `${out.paint('bold', toOneLine(tool))} ${toOneLine(target)}`.trimEnd(),
    out.paint('dim', toOneLine(`called by ${caller.subject}${scopes}, client ${client}${view}`)),
    ...formatTable(rows, withoutWidth(out)),
    `${out.paint(outcome.what === 'refused' ? 'red' : 'green', outcome.what)} by ${outcome.by}: ${toOneLine(outcome.text)}`,
  ]
}

/** Exit code where something would change. */
export const CHANGES_EXIT_CODE = 6

/** Flags that say which configuration would follow which. */
export interface PlanFlags extends ControlFlags, SourceFlags {
  /** File of the configuration that is in force. */
  readonly against?: string | undefined
}

/** Lists the differences that the configuration of the flags would make to the gateway that runs, or to its file. */
export async function createPlan(flags: PlanFlags, terminal: Terminal): Promise<ConfigPlan> {
  const next = await loadSource(flags, terminal)
  const state = getStateDirectory(next, terminal)
  return withCurrentConfig(flags, terminal, describe =>
    comparePlan(describe, next, (source, upstream, use) =>
      withGateway(source, terminal, ({ generation }) => use(generation), {
        ephemeral: true,
        state,
        upstream,
      }),
    ),
  )
}

/** The gateway that runs with the present file, or with the new one if that was edited in place; else the present file. */
async function withCurrentConfig(
  flags: PlanFlags,
  terminal: Terminal,
  use: (describe: (salt: string) => Promise<ConfigSnapshot>) => Promise<ConfigPlan>,
): Promise<ConfigPlan> {
  const { against, env, socket } = flags
  const files = against === undefined ? [flags.config, undefined] : [against]
  for (const config of files) {
    const running = await withRunningGateway({ config, env, socket }, terminal, client => {
      printUsedGateway(client, terminal)
      return use(async salt => parseSnapshot(await client.request('plan.present', { salt })))
    }).catch((error: unknown) => ignoreMissingFile(error, against))
    if (running !== undefined) return running.value
  }
  const source = await loadSource({ config: against, env }, terminal).catch((error: unknown) => {
    ignoreMissingFile(error, against)
    throw gatewayError('GW_USAGE', {
      what: 'no gateway runs, and there is no gateway.yaml: say --against <file>',
    })
  })
  terminal.err.line(terminal.err.paint('dim', 'no gateway runs; comparing with the file'))
  const beside = { beside: true, state: getStateDirectory(source, terminal) }
  const describeFile = ({
    generation,
  }: Parameters<Parameters<typeof withGateway>[2]>[0]): Promise<ConfigPlan> =>
    use(salt => snapshotConfig(generation, salt, source.config))
  return withGateway(disableRecords(source), terminal, describeFile, beside)
}

/** Without a file in reach there is none that runs with it. */
function ignoreMissingFile(error: unknown, against: string | undefined): undefined {
  if (against === undefined && error instanceof GatewayError && error.code === 'GW_CONFIG_NOT_FOUND')
    return undefined
  throw error
}

/** The plan as people read it. */
export function formatPlan(
  { servers, tools, settings, changes }: ConfigPlan,
  { out }: Pick<Terminal, 'out'>,
): string[] {
  const rows: (readonly ['+' | '-' | '~', string, string])[] = [
    ...servers.started.map(name => ['+', 'server', `${name} is started`] as const),
    ...servers.stopped.map(name => ['-', 'server', `${name} is stopped`] as const),
    ...servers.restarted.map(name => ['~', 'server', `${name} is restarted`] as const),
    ...servers.changed.map(name => ['~', 'server', `${name} stays, with other settings`] as const),
    ...tools.added.map(name => ['+', 'tool', name] as const),
    ...tools.removed.map(name => ['-', 'tool', name] as const),
    ...tools.renamed.map(({ from, to }) => ['~', 'tool', `${from} is called ${to}`] as const),
    ...tools.changed.map(name => ['~', 'tool', `${name} is described in another way`] as const),
    ...settings.map(key => ['~', 'setting', key] as const),
  ]
  const painted = rows.map(([mark, kind, text]) => [
    out.paint(DIFF_STYLES[mark], mark),
    kind,
    toOneLine(text),
  ])
  const unknown = Object.entries(servers.unknown).map(([name, why]) => `${name} could not be asked: ${why}`)
  return [
    ...formatTable(painted, withoutWidth(out)),
    ...unknown.map(text => out.paint('yellow', toOneLine(text))),
    ...(changes ? [] : [out.paint('green', 'nothing would change')]),
    out.paint('dim', `kept: ${plural(servers.kept.length, 'server')}`),
  ]
}

const DIFF_STYLES = { '+': 'green', '-': 'red', '~': 'yellow' } as const
