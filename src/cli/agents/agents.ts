import type { LoadedConfig } from '../../config/index.ts'
import type { ControlClient } from '../../control/client.ts'
import { gatewayError, GatewayError } from '../../errors/errors.ts'
import { isObject, type JsonObject } from '../../protocol/json/json.ts'
import { loadSource, type SourceFlags } from '../load-source.ts'
import { oneLine } from '../output/plain-text.ts'
import { table, uncut } from '../output/table.ts'
import type { Output, Terminal } from '../output/terminal.ts'
import { inRunning, type ControlFlags } from '../remote/connect.ts'
import { withGateway } from '../local/with-gateway.ts'

/** Which gateway: the one that runs, or else one of the configuration for as long as the command takes. */
export interface AgentsFlags extends ControlFlags, SourceFlags {}

/** Asks a gateway for what concerns its agents. */
export type AskAgents = (verb: string, params?: JsonObject) => Promise<JsonObject>

/** Whether the command may need the servers too, as agents that call back do. */
interface Need {
  readonly upstreams: boolean
}

/** Gives `use` the agents of the gateway that runs with the configuration; of one of its own where none runs. */
export async function withAgents<T>(
  flags: AgentsFlags,
  terminal: Terminal,
  need: Need,
  use: (ask: AskAgents) => Promise<T>,
): Promise<T> {
  const running = await inRunning(flags, terminal, client => use(askRunning(client)))
  if (running !== undefined) return running.value
  const source = await loadSource(flags, terminal)
  if (source.config.agents === undefined) throw noAgents()
  return withGateway(need.upstreams ? source : alone(source), terminal, gateway =>
    use((verb, params) => gateway.control(verb, params)),
  )
}

function askRunning(client: ControlClient): AskAgents {
  return (verb, params) =>
    client.request(verb, params).catch((error: unknown) => {
      throw error instanceof GatewayError && error.code === 'GW_VERB_UNKNOWN' ? noAgents() : error
    })
}

function noAgents(): GatewayError {
  return gatewayError('GW_USAGE', { what: 'no agents are configured: add them under "agents:"' })
}

/** No server is started to ask something of agents. */
function alone(source: LoadedConfig): LoadedConfig {
  return { ...source, config: { ...source.config, upstreams: {}, routes: [] } }
}

const HEALTH = { ready: 'green', unknown: 'dim', needs_auth: 'yellow', unavailable: 'red' } as const

/** The agents as people read them. */
export function agentLines({ agents }: JsonObject, out: Output): string[] {
  const rows = listOf(agents)
  const head = ['agent', 'health', 'running', 'waiting', 'left', 'capabilities', ''].map(text =>
    out.paint('dim', text),
  )
  return rows.length === 0 ? ['no agents'] : table([head, ...rows.map(row => cells(row, out))], uncut(out))
}

function cells(row: JsonObject, out: Output): string[] {
  const health = textOf(row.health)
  const left = [
    typeof row.left_this_minute === 'number' ? `${row.left_this_minute}/min` : undefined,
    typeof row.left_today === 'number' ? `${row.left_today}/day` : undefined,
  ].filter(part => part !== undefined)
  return [
    out.paint('bold', textOf(row.id)),
    out.paint(HEALTH[health as keyof typeof HEALTH], health),
    String(row.running),
    String(row.queued),
    left.join(' ') || '-',
    (Array.isArray(row.capabilities) ? row.capabilities : []).map(textOf).join(', ') || '-',
    textOf(row.why) || factsText(row.facts),
  ]
}

function factsText(facts: unknown): string {
  if (!isObject(facts)) return ''
  const can = [
    facts.canResume === true ? 'resumes' : undefined,
    facts.canLoad === true ? 'loads' : undefined,
    facts.mcpHttp === true ? 'calls back' : undefined,
  ].filter(part => part !== undefined)
  return `${textOf(facts.name)} ${textOf(facts.version)}, protocol ${String(facts.protocol)}${can.length > 0 ? `, ${can.join(', ')}` : ''}`.trim()
}

/** Whether all that were probed can be used. */
export function areReady({ agents }: JsonObject): boolean {
  return listOf(agents).every(({ health }) => health === 'ready')
}

/** Who would get a task; with `explain`, also why, and why the others would not. */
export function routeLines({ chosen, by, candidates }: JsonObject, explain: boolean, out: Output): string[] {
  const names = (Array.isArray(chosen) ? chosen : []).map(textOf)
  if (!explain) return [names[0] ?? 'nobody']
  const first = names.length === 0 ? out.paint('red', 'nobody') : out.paint('bold', names.join(' → '))
  const rows = listOf(candidates).map(({ agent, why, fits }) => [
    fits === true ? out.paint('green', '✓') : out.paint('red', '✗'),
    textOf(agent),
    textOf(why),
  ])
  return [`${first} ${out.paint('dim', `by ${textOf(by)}`)}`, ...table(rows, uncut(out), 2)]
}

/** Whether anybody could have it. */
export function hasChosen({ chosen }: JsonObject): boolean {
  return Array.isArray(chosen) && chosen.length > 0
}

function listOf(value: unknown): JsonObject[] {
  return (Array.isArray(value) ? value : []).filter(isObject)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? oneLine(value) : ''
}
