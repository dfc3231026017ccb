import type { Inspection, UpstreamStatus } from '../../api/gateway.ts'
import type { LoadedConfig, Problem } from '../../config/index.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { disableRecords } from '../../gateway/load-config.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { filterObjects } from '../../protocol/json/json.ts'
import { settlesWithin } from '../../util/clock.ts'
import { toOneLine, plural } from '../../util/plain-text.ts'
import { formatTable } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { withUnstartedGateway } from './gateway-handle.ts'

/** Time limit for lists after servers have started or timed out. */
const LISTS_TIMEOUT_MS = 15_000
/** Printed rows per section; `--json` has all. */
const MAX_ROWS = 10

/** Server with its handshake result. */
interface CheckedServer extends Pick<UpstreamStatus, 'name' | 'type' | 'state'> {
  readonly era?: string
  readonly version?: string
  readonly problem?: string
  readonly tools?: number
}

/** Name that two servers use. */
interface Duplicate {
  readonly name: string
  readonly kind: string
  readonly owner: string
  readonly withheld: string
}

/** Tools that are changed for one client. */
interface FittedClient {
  readonly client: string
  readonly profile?: string
  readonly renamed: readonly { readonly name: string; readonly shown: string; readonly why: string }[]
  readonly unfit: readonly { readonly name: string; readonly why: string }[]
  readonly tools: number
  /** The client's tool limit, if exceeded. */
  readonly tooMany?: number
}

/** Tool list with estimated tokens. */
interface ListCost {
  readonly profile: string
  readonly tools: number
  readonly tokens: number
}

/** Results that require running servers. */
export interface OnlineValidation {
  readonly servers: readonly CheckedServer[]
  readonly warnings: readonly Problem[]
  readonly duplicates: readonly Duplicate[]
  readonly clients: readonly FittedClient[]
  readonly profiles: readonly ListCost[]
  /** Profiles for specific principals, which an anonymous request cannot list. */
  readonly notAsked: readonly string[]
  /** True if some lists timed out. */
  readonly isCut: boolean
}

/** Starts the servers temporarily and checks their lists. Nothing is called or recorded. */
export async function checkServersOnline(
  source: LoadedConfig,
  terminal: Terminal,
  ms: number,
): Promise<OnlineValidation> {
  return withUnstartedGateway(disableRecords(source), terminal, async gateway => {
    await gateway.start()
    await awaitWithin(ms, gateway.settled())
    const inspection = await awaitWithin(LISTS_TIMEOUT_MS, gateway.inspect())
    const listClient = new ListClient(source, gateway)
    const all = inspection === undefined ? undefined : await awaitWithin(LISTS_TIMEOUT_MS, listClient.requestAll())
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
      notAsked: listClient.notAsked,
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

/** Returns the value, or undefined after the time limit. */
async function awaitWithin<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  return (await settlesWithin(TIMER, ms, promise)) ? promise : undefined
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

/** Requests lists as clients see them. */
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

  /** Returns client names; empty if lists are not fitted to clients. */
  async #requestClients(): Promise<string[]> {
    const reply = await this.#gateway.control('fit.clients', {}).catch(() => undefined)
    return filterObjects(reply?.clients).map(({ client }) => String(client))
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

/** True if the server responded; a login request counts as a response. */
export function isReached({ state }: Pick<CheckedServer, 'state'>): boolean {
  return state === 'ready' || state === 'idle' || state === 'needs_auth'
}

export function formatOnline(online: OnlineValidation, terminal: Terminal): string[] {
  const { out } = terminal
  const timeoutNotes = online.isCut ? [out.paint('yellow', 'some lists timed out')] : []
  return [
    ...formatTable(
      online.servers.map(server => formatServerRow(server, terminal)),
      out,
    ),
    ...formatRowSection('withheld, as another server has the name', formatDuplicates(online), terminal),
    ...formatRowSection('renamed', formatRenamed(online), terminal),
    ...formatRowSection('not shown', formatUnfit(online), terminal),
    ...formatRowSection('too many tools', formatTooMany(online), terminal),
    ...formatRowSection('tokens per list (estimated)', formatListCosts(online), terminal),
    ...timeoutNotes,
  ]
}

function formatServerRow({ name, state, era, version, problem, tools }: CheckedServer, { out }: Terminal): string[] {
  const color = state === 'ready' || state === 'idle' ? 'green' : state === 'needs_auth' ? 'yellow' : 'red'
  const serverVersion = version === undefined ? '' : `${String(era)} ${version}`
  const details = problem === undefined ? plural(tools ?? 0, 'tool') : toOneLine(problem)
  return [out.paint('bold', name), out.paint(color, state), serverVersion, details]
}

function formatDuplicates({ duplicates }: OnlineValidation): string[][] {
  return duplicates.map(({ kind, name, owner, withheld }) => [toOneLine(name), `${kind} of ${withheld}`, owner])
}

function formatRenamed({ clients }: OnlineValidation): string[][] {
  const rows = clients.flatMap(({ client, profile, renamed }) =>
    renamed.map(({ name, shown }) => ({
      key: JSON.stringify([name, shown]),
      name,
      shown,
      clientName: formatClientName(client, profile),
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
      clientName: formatClientName(client, profile),
    })),
  )
  return groupRows(rows, ({ name, why }, names) => [toOneLine(name), toOneLine(why), names])
}

function formatTooMany({ clients }: OnlineValidation): string[][] {
  return clients.flatMap(({ client, profile, tools, tooMany }) =>
    tooMany === undefined ? [] : [[formatClientName(client, profile), `${tools}; maximum ${tooMany}`]],
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

/** Merges rows that only differ in the client. */
function groupRows<T extends { readonly key: string; readonly clientName: string }>(
  rows: readonly T[],
  write: (row: T, names: string) => string[],
): string[][] {
  return [...Map.groupBy(rows, ({ key }) => key).values()].flatMap(([first, ...more]) =>
    first === undefined ? [] : [write(first, [first, ...more].map(one => one.clientName).join(', '))],
  )
}

function formatRowSection(title: string, rows: readonly string[][], { out }: Terminal): string[] {
  if (rows.length === 0) return []
  const more =
    rows.length > MAX_ROWS ? [out.paint('dim', `  and ${rows.length - MAX_ROWS} more; use --json for all`)] : []
  return ['', out.paint('bold', title), ...formatTable(rows.slice(0, MAX_ROWS), out, 2), ...more]
}
