import { randomBytes } from 'node:crypto'
import { plannedIn, type Planned } from '../../gateway/plan/plan.ts'
import {
  changesAnything,
  differencesOf,
  type ChangedVerdict,
  type Plan,
} from '../../gateway/plan/differences.ts'
import { changedVerdicts } from '../../gateway/plan/verdicts.ts'
import type { Surroundings } from '../../gateway/generation.ts'
import { GatewayError, gatewayError } from '../../errors/errors.ts'
import type { LoadedConfig } from '../../config/index.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { withoutTraces } from '../../gateway/load-config.ts'
import { oneLine } from '../../util/plain-text.ts'
import { loadSource, type SourceFlags } from '../load-source.ts'
import { table, uncut } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { inRunning, type ControlFlags } from '../remote/connect.ts'
import { stateDirectory } from '../serve/state-directory.ts'
import { sayWhich, withGateway } from './ask-gateway.ts'

/** Exit code where something would change. */
export const WOULD_CHANGE = 6

const SALT_BYTES = 16

/** Flags that say which configuration would follow which. */
export interface PlanFlags extends ControlFlags, SourceFlags {
  /** File of the configuration that is in force. */
  readonly against?: string | undefined
}

type Ask = (verb: string, params: JsonObject) => Promise<JsonObject>

/** The configuration that is in force: how to ask its gateway, and how it is described. */
interface Present {
  readonly ask: Ask
  readonly planned: (salt: string) => Promise<Planned>
}

/** Lists the differences that the configuration of the flags would make to the gateway that runs, or to its file. */
export async function makePlan(flags: PlanFlags, terminal: Terminal): Promise<Plan> {
  const next = await loadSource(flags, terminal)
  return withPresent(flags, terminal, present => compare(present, next, terminal))
}

/** The gateway that runs with the present file, or with the new one if that was edited in place; else the present file. */
async function withPresent<T>(
  flags: PlanFlags,
  terminal: Terminal,
  use: (present: Present) => Promise<T>,
): Promise<T> {
  const { against, env, socket } = flags
  const files = against === undefined ? [flags.config, undefined] : [against]
  for (const config of files) {
    const running = await inRunning({ config, env, socket }, terminal, client => {
      sayWhich(client, terminal)
      const ask: Ask = (verb, params) => client.request(verb, params)
      return use({ ask, planned: async salt => plannedIn(await ask('plan.present', { salt })) })
    }).catch((error: unknown) => noFile(error, against))
    if (running !== undefined) return running.value
  }
  const source = await loadSource({ config: against, env }, terminal).catch((error: unknown) => {
    noFile(error, against)
    throw gatewayError('GW_USAGE', {
      what: 'no gateway runs, and there is no gateway.yaml: say --against <file>',
    })
  })
  terminal.err.line(terminal.err.paint('dim', 'no gateway runs; comparing with the file'))
  const { plannedOf } = await import('../../gateway/plan/plan.ts')
  const beside = { beside: true, state: stateDirectory(source, terminal) }
  const ofGateway = (gateway: Gateway): Promise<T> =>
    use({
      ask: (verb, params) => gateway.control(verb, params),
      planned: salt => plannedOf(gateway.generation, salt, source.config),
    })
  return withGateway(withoutTraces(source), terminal, ofGateway, beside)
}

/** Without a file in reach there is none that runs with it. */
function noFile(error: unknown, against: string | undefined): undefined {
  if (against === undefined && error instanceof GatewayError && error.code === 'GW_CONFIG_NOT_FOUND')
    return undefined
  throw error
}

async function compare(present: Present, next: LoadedConfig, terminal: Terminal): Promise<Plan> {
  const salt = randomBytes(SALT_BYTES).toString('hex')
  const now = await present.planned(salt)
  return withNext({ now, next, salt }, terminal, async (then, askNext) => {
    const verdicts = await changedVerdicts(now.recent, present.ask, askNext)
    return { ...differencesOf(now, then), verdicts, compared: now.recent.length }
  })
}

interface Compared {
  readonly now: Planned
  readonly next: LoadedConfig
  readonly salt: string
}

/** Builds what would be, without listeners. What goes on is not started a second time: it stands in with its own list. */
async function withNext<T>(
  { now, next, salt }: Compared,
  terminal: Terminal,
  use: (then: Planned, ask: Ask) => Promise<T>,
): Promise<T> {
  const { plannedOf, serverDigest, standIn } = await import('../../gateway/plan/plan.ts')
  const known = new Map(now.servers.map(server => [server.name, server]))
  const upstream: Surroundings['upstream'] = (spec, context) => {
    const before = known.get(context.name)
    const isKept = before?.tools !== undefined && before.digest === serverDigest(spec, salt)
    return isKept ? standIn(spec, context, before.tools ?? []) : undefined
  }
  const ofGateway = async (gateway: Gateway): Promise<T> =>
    use(await plannedOf(gateway.generation, salt, next.config), (verb, params) =>
      gateway.control(verb, params),
    )
  const beside = { beside: true, state: stateDirectory(next, terminal), upstream }
  return withGateway(withoutTraces(next), terminal, ofGateway, beside)
}

/** The plan as people read it. */
export function planLines(plan: Plan, { out }: Pick<Terminal, 'out'>): string[] {
  const { servers, tools, settings, verdicts, compared } = plan
  const rows: string[][] = []
  const add = (mark: '+' | '-' | '~', kind: string, texts: readonly string[]): void => {
    const style = mark === '+' ? 'green' : mark === '-' ? 'red' : 'yellow'
    for (const text of texts) rows.push([out.paint(style, mark), kind, oneLine(text)])
  }
  add(
    '+',
    'server',
    servers.started.map(name => `${name} is started`),
  )
  add(
    '-',
    'server',
    servers.stopped.map(name => `${name} is stopped`),
  )
  add(
    '~',
    'server',
    servers.restarted.map(name => `${name} is started anew`),
  )
  add(
    '~',
    'server',
    servers.changed.map(name => `${name} goes on, with other settings`),
  )
  add('+', 'tool', tools.added)
  add('-', 'tool', tools.removed)
  add(
    '~',
    'tool',
    tools.renamed.map(({ from, to }) => `${from} is called ${to}`),
  )
  add(
    '~',
    'tool',
    tools.changed.map(name => `${name} is described in another way`),
  )
  add('~', 'setting', settings)
  add('~', 'call', verdicts.map(verdictText))
  const unknown = Object.entries(servers.unknown).map(([name, why]) => `${name} could not be asked: ${why}`)
  return [
    ...table(rows, uncut(out)),
    ...unknown.map(text => out.paint('yellow', oneLine(text))),
    ...(changesAnything(plan) ? [] : [out.paint('green', 'nothing would change')]),
    out.paint('dim', `${keptText(servers.kept.length)}; ${comparedText(compared)}`),
  ]
}

function keptText(count: number): string {
  return count === 1 ? '1 server is kept' : `${count} servers are kept`
}

function comparedText(count: number): string {
  return count === 1 ? '1 call of late was compared' : `${count} calls of late were compared`
}

function verdictText({ tool, caller, client, now, then }: ChangedVerdict): string {
  return `${tool} by ${caller} with ${client}: now ${now}; then ${then}`
}
