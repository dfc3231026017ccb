import type { CommandFinding } from '../../api/command.ts'
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
import type { ControlFlags } from '../remote/control-connection.ts'
import { withRunningGateway } from '../remote/control-connection.ts'
import type { GatewayHandle, OwnGatewayOptions, QueryFlags } from './gateway-handle.ts'
import { printUsedGateway, withGatewayHandle, withGateway } from './gateway-handle.ts'
import type { ToolArguments } from './call.ts'
import { buildArguments } from './call.ts'
import { listAllTools } from './tools.ts'

/** The explained call's caller and client. */
interface ExplainFlags extends QueryFlags {
  readonly scope?: readonly string[] | undefined
  readonly client?: string | undefined
  readonly profile?: string | undefined
}

/** Explains how a call would be handled, in the running gateway or a temporary one. */
export function explainTool(
  tool: string,
  toolArguments: ToolArguments | undefined,
  flags: ExplainFlags,
  terminal: Terminal,
): Promise<Explanation> {
  const { as, scope, client, profile } = flags
  const query: JsonObject = {
    tool,
    ...(as === undefined ? {} : { as }),
    ...(scope === undefined ? {} : { scopes: scope }),
    ...(client === undefined ? {} : { client }),
    ...(profile === undefined ? {} : { profile }),
  }
  return withGatewayHandle(flags, terminal, async gateway => {
    const params =
      toolArguments === undefined
        ? query
        : { ...query, arguments: await createTypedArguments(gateway, tool, toolArguments) }
    return (await gateway.control('explain', params)) as unknown as Explanation
  })
}

/** Parses arguments with the tool's schema, as `gateway call` does. */
async function createTypedArguments(
  gateway: GatewayHandle,
  tool: string,
  toolArguments: ToolArguments,
): Promise<JsonObject> {
  if (toolArguments.pairs.length === 0) return toolArguments.jsonArguments
  const tools = await listAllTools(gateway)
  return buildArguments(toolArguments, tools.find(({ name }) => name === tool)?.inputSchema)
}

const STEP_STYLES = {
  passes: 'dim',
  changes: 'cyan',
  answers: 'green',
  refuses: 'red',
  asks: 'yellow',
  depends: 'yellow',
} as const

/** Formats caller, target, steps and outcome. */
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

export interface PlanFlags extends ControlFlags, SourceFlags {
  /** Current configuration. */
  readonly against?: string | undefined
}

/** Compares a configuration with the running gateway, or with the current file. */
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

/** Uses the gateway of the current file, then of the new one (edited in place), then the current file itself. */
async function withCurrentConfig(
  flags: PlanFlags,
  terminal: Terminal,
  use: (describe: () => Promise<ConfigSnapshot>) => Promise<ConfigPlan>,
): Promise<ConfigPlan> {
  const { against, socket } = flags
  // A named file is compared without the environment, whose effect is then seen.
  const env = against === undefined ? flags.env : ''
  const files = against === undefined ? [flags.config, undefined] : [against]
  for (const config of files) {
    const running = await withRunningGateway({ config, env, socket }, terminal, client => {
      printUsedGateway(client, terminal)
      return use(async () => parseSnapshot(await client.request('plan.present')))
    }).catch((error: unknown) => ignoreMissingFile(error, against))
    if (running !== undefined) return running.value
  }
  const source = await loadSource({ config: against, env }, terminal).catch((error: unknown) => {
    ignoreMissingFile(error, against)
    throw gatewayError('GW_USAGE', {
      what: 'no gateway is running, and no gateway.yaml was found: use --against <file>',
    })
  })
  terminal.err.line(terminal.err.paint('dim', 'no gateway is running; comparing with the file'))
  const gatewayOptions: OwnGatewayOptions = { ephemeral: true, state: getStateDirectory(source, terminal) }
  const describeFile = ({ generation }: Parameters<Parameters<typeof withGateway>[2]>[0]): Promise<ConfigPlan> =>
    use(() => snapshotConfig(generation, source.config))
  return withGateway(disableRecords(source), terminal, describeFile, gatewayOptions)
}

/** Ignores a missing configuration unless `--against` names it. */
function ignoreMissingFile(error: unknown, against: string | undefined): undefined {
  if (against === undefined && error instanceof GatewayError && error.code === 'GW_CONFIG_NOT_FOUND') return undefined
  throw error
}

function listPlanRows({ servers, tools, settings }: ConfigPlan): (readonly ['+' | '-' | '~', string, string])[] {
  return [
    ...servers.started.map(name => ['+', 'server', `${name} is started`] as const),
    ...servers.stopped.map(name => ['-', 'server', `${name} is stopped`] as const),
    ...servers.restarted.map(name => ['~', 'server', `${name} is restarted`] as const),
    ...servers.changed.map(name => ['~', 'server', `${name} keeps running with new settings`] as const),
    ...tools.added.map(name => ['+', 'tool', name] as const),
    ...tools.removed.map(name => ['-', 'tool', name] as const),
    ...tools.renamed.map(({ from, to }) => ['~', 'tool', `${from} is renamed to ${to}`] as const),
    ...tools.changed.map(name => ['~', 'tool', `${name} has a new definition`] as const),
    ...settings.map(key => ['~', 'setting', key] as const),
  ]
}

/** Creates a note per change, and a warning per server that did not answer. */
export function createPlanFindings(plan: ConfigPlan, file: string | undefined): CommandFinding[] {
  const changes = listPlanRows(plan).map(([mark, kind, text]) => `${mark} ${kind} ${toOneLine(text)}`)
  const unknown = Object.entries(plan.servers.unknown).map(([name, why]) => `${name} did not answer: ${toOneLine(why)}`)
  return [
    ...changes.map(message => ({ rule: 'plan-change', level: 'note' as const, message, file })),
    ...unknown.map(message => ({ rule: 'plan-unknown', level: 'warning' as const, message, file })),
  ]
}

export function formatPlan(plan: ConfigPlan, { out }: Pick<Terminal, 'out'>): string[] {
  const { servers, changes } = plan
  const painted = listPlanRows(plan).map(([mark, kind, text]) => [
    out.paint(DIFF_STYLES[mark], mark),
    kind,
    toOneLine(text),
  ])
  const unknown = Object.entries(servers.unknown).map(([name, why]) => `${name} did not answer: ${why}`)
  return [
    ...formatTable(painted, withoutWidth(out)),
    ...unknown.map(text => out.paint('yellow', toOneLine(text))),
    ...(changes ? [] : [out.paint('green', 'no changes')]),
    out.paint('dim', `unchanged: ${plural(servers.kept.length, 'server')}`),
  ]
}

const DIFF_STYLES = { '+': 'green', '-': 'red', '~': 'yellow' } as const
