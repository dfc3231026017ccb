import type { Inspection, UpstreamStatus } from '../../api/gateway.ts'
import type { LoadedConfig, Problem } from '../../config/index.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { disableRecords } from '../../gateway/load-config.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { filterObjects } from '../../protocol/json/json.ts'
import { waitAtMost } from '../../util/clock.ts'
import { toOneLine, plural } from '../../util/plain-text.ts'
import { formatTable } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { withUnstartedGateway } from './gateway-handle.ts'

/** Time that lists have once the servers have started, or run out of theirs. */
const LISTS_TIMEOUT_MS = 15_000
/** Names that are printed of each kind; `--json` has all. */
const MAX_ROWS = 10

/** A server, and what came of its handshake. */
interface CheckedServer extends Pick<UpstreamStatus, 'name' | 'type' | 'state'> {
  readonly era?: string
  readonly version?: string
  readonly problem?: string
  readonly tools?: number
}

/** A name that two servers have. */
interface Duplicate {
  readonly name: string
  readonly kind: string
  readonly owner: string
  readonly withheld: string
}

/** Tools in another form than their servers list them, for one client of the table. */
interface FittedClient {
  readonly client: string
  readonly profile?: string
  readonly renamed: readonly { readonly name: string; readonly shown: string; readonly why: string }[]
  readonly unfit: readonly { readonly name: string; readonly why: string }[]
  readonly tools: number
  /** Most tools that it takes, where there are more. */
  readonly tooMany?: number
}

/** A list of tools, and what it costs the context of a model, as estimated. */
interface ListCost {
  readonly profile: string
  readonly tools: number
  readonly tokens: number
}

/** All that can only be said by asking the servers. */
export interface OnlineValidation {
  readonly servers: readonly CheckedServer[]
  readonly warnings: readonly Problem[]
  readonly duplicates: readonly Duplicate[]
  readonly clients: readonly FittedClient[]
  readonly profiles: readonly ListCost[]
  /** Profiles for named callers: nobody in particular is shown anything there. */
  readonly notAsked: readonly string[]
  /** True if some lists did not come in time. */
  readonly isCut: boolean
}

/** Starts the servers of a configuration for as long as it takes to ask them, and says what is there. Nothing is called or recorded. */
export async function checkServersOnline(
  source: LoadedConfig,
  terminal: Terminal,
  ms: number,
): Promise<OnlineValidation> {
  return withUnstartedGateway(disableRecords(source), terminal, async gateway => {
    await gateway.start()
    await awaitWithin(ms, gateway.settled())
    const inspection = await awaitWithin(LISTS_TIMEOUT_MS, gateway.inspect())
    const asked = new ListClient(source, gateway)
    const all = inspection === undefined ? undefined : await awaitWithin(LISTS_TIMEOUT_MS, asked.requestAll())
    const servers = [...gateway.upstreams.values()].map(one => createServerReport(one.status(), inspection))
    const { clients = [], profiles = [] } = all ?? {}
    return {
      servers,
      warnings: inspection?.unmatched ?? [],
      duplicates: (inspection?.withheld ?? []).map(({ kind, name, owner, upstream }) => ({
        ...{ name, kind, owner },
        withheld: upstream,
      })),
      clients,
      profiles,
      notAsked: asked.notAsked,
      isCut: all === undefined,
    }
  })
}

const TIMER = {
  after(ms: number, callback: () => void) {
    const timer = setTimeout(callback, ms)
    return () => clearTimeout(timer)
  },
}

/** What came in time; undefined where nothing did. */
async function awaitWithin<T>(ms: number, wanted: Promise<T>): Promise<T | undefined> {
  return (await waitAtMost(TIMER, ms, wanted)) ? wanted : undefined
}

function createServerReport(status: UpstreamStatus, inspection: Inspection | undefined): CheckedServer {
  const { name, type, state, era, version, problem } = status
  const tools = inspection?.upstreams.find(one => one.name === name)?.offers?.tools
  return {
    ...{ name, type, state },
    ...(era === undefined || version === undefined ? {} : { era, version }),
    ...(problem === undefined ? {} : { problem }),
    ...(tools === undefined ? {} : { tools }),
  }
}

/** Asks a gateway for lists as clients are shown them. */
class ListClient {
  readonly #gateway: Gateway
  readonly #profiles: readonly (string | undefined)[]
  readonly notAsked: readonly string[]

  constructor({ config }: LoadedConfig, gateway: Gateway) {
    const profiles = Object.entries(config.profiles ?? {})
    this.#gateway = gateway
    this.#profiles = [
      undefined,
      ...profiles.flatMap(([name, { principals }]) => (principals === undefined ? [name] : [])),
    ]
    this.notAsked = profiles.flatMap(([name, { principals }]) => (principals === undefined ? [] : [name]))
  }

  async requestAll(): Promise<{
    readonly clients: readonly FittedClient[]
    readonly profiles: readonly ListCost[]
  }> {
    const names = await this.#requestClients()
    const clients: FittedClient[] = []
    const profiles: ListCost[] = []
    for (const profile of this.#profiles) {
      const { count, tokens } = await this.#requestListing('tapgate', profile)
      profiles.push({ profile: profile ?? '', tools: Number(count), tokens: Number(tokens) })
      for (const client of names) {
        await this.#requestListing(client, profile)
        const report = await this.#gateway.control('fit.report', { client })
        clients.push(createClientReport(report, client, profile))
      }
    }
    return { clients, profiles }
  }

  #requestListing(client: string, profile: string | undefined): Promise<JsonObject> {
    return this.#gateway.control('listing', { client, ...(profile === undefined ? {} : { profile }) })
  }

  /** Rows of the table of clients; none where lists are not fitted. */
  async #requestClients(): Promise<string[]> {
    const asked = await this.#gateway.control('fit.clients', {}).catch(() => undefined)
    return filterObjects(asked?.clients).map(({ client }) => String(client))
  }
}

function createClientReport(report: JsonObject, client: string, profile: string | undefined): FittedClient {
  const changes = filterObjects(report.changes)
  return {
    client,
    ...(profile === undefined ? {} : { profile }),
    tools: Number(report.tools),
    renamed: changes.flatMap(({ name, shown, notes }) =>
      typeof shown === 'string'
        ? [{ name: String(name), shown, why: String(Array.isArray(notes) ? notes[0] : '') }]
        : [],
    ),
    unfit: changes.flatMap(({ name, unfit }) =>
      unfit === undefined ? [] : [{ name: String(name), why: String(unfit) }],
    ),
    ...(typeof report.tooMany === 'number' ? { tooMany: report.tooMany } : {}),
  }
}

/** True for a server that was spoken to: one that wants a login has answered. */
export function isReached({ state }: Pick<CheckedServer, 'state'>): boolean {
  return state === 'ready' || state === 'idle' || state === 'needs_auth'
}

/** What people read, on stdout. */
export function formatOnline(online: OnlineValidation, terminal: Terminal): string[] {
  const { out } = terminal
  const late = online.isCut ? [out.paint('yellow', 'some lists did not come in time')] : []
  return [
    ...formatTable(
      online.servers.map(server => formatServerRow(server, terminal)),
      out,
    ),
    ...formatRowSection('withheld, as another server has the name', formatDuplicates(online), terminal),
    ...formatRowSection('under another name', formatRenamed(online), terminal),
    ...formatRowSection('not shown', formatUnfit(online), terminal),
    ...formatRowSection('too many tools', formatTooMany(online), terminal),
    ...formatRowSection('tokens of the list, as estimated', formatListCosts(online), terminal),
    ...late,
  ]
}

function formatServerRow(
  { name, state, era, version, problem, tools }: CheckedServer,
  { out }: Terminal,
): string[] {
  const color = state === 'ready' || state === 'idle' ? 'green' : state === 'needs_auth' ? 'yellow' : 'red'
  const said = version === undefined ? '' : `${String(era)} ${version}`
  const rest = problem === undefined ? plural(tools ?? 0, 'tool') : toOneLine(problem)
  return [out.paint('bold', name), out.paint(color, state), said, rest]
}

function formatDuplicates({ duplicates }: OnlineValidation): string[][] {
  return duplicates.map(({ kind, name, owner, withheld }) => [
    toOneLine(name),
    `${kind} of ${withheld}`,
    owner,
  ])
}

function formatRenamed({ clients }: OnlineValidation): string[][] {
  const rows = clients.flatMap(({ client, profile, renamed }) =>
    renamed.map(({ name, shown }) => ({
      key: JSON.stringify([name, shown]),
      name,
      shown,
      who: formatClientName(client, profile),
    })),
  )
  return groupRows(rows, ({ name, shown }, names) => [toOneLine(name), `→ ${toOneLine(shown)}`, names])
}

function formatUnfit({ clients }: OnlineValidation): string[][] {
  const rows = clients.flatMap(({ client, profile, unfit }) =>
    unfit.map(({ name, why }) => ({
      key: JSON.stringify([name, why]),
      name,
      why,
      who: formatClientName(client, profile),
    })),
  )
  return groupRows(rows, ({ name, why }, names) => [toOneLine(name), toOneLine(why), names])
}

function formatTooMany({ clients }: OnlineValidation): string[][] {
  return clients.flatMap(({ client, profile, tools, tooMany }) =>
    tooMany === undefined ? [] : [[formatClientName(client, profile), `${tools}, and it takes ${tooMany}`]],
  )
}

function formatListCosts({ profiles }: OnlineValidation): string[][] {
  return profiles.map(({ profile, tools, tokens }) => [
    profile === '' ? 'no profile' : profile,
    plural(tools, 'tool'),
    plural(tokens, 'token'),
  ])
}

function formatClientName(client: string, profile: string | undefined): string {
  return profile === undefined ? client : `${client} (${profile})`
}

/** Rows that say the same of several clients are one. */
function groupRows<T extends { readonly key: string; readonly who: string }>(
  rows: readonly T[],
  write: (row: T, names: string) => string[],
): string[][] {
  return [...Map.groupBy(rows, ({ key }) => key).values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [write(first, [first, ...others].map(one => one.who).join(', '))],
  )
}

function formatRowSection(title: string, rows: readonly string[][], { out }: Terminal): string[] {
  if (rows.length === 0) return []
  const more =
    rows.length > MAX_ROWS ? [out.paint('dim', `  and ${rows.length - MAX_ROWS} more; --json has all`)] : []
  return ['', out.paint('bold', title), ...formatTable(rows.slice(0, MAX_ROWS), out, 2), ...more]
}
