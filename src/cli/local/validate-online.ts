import type { Inspection, UpstreamStatus } from '../../api/gateway.ts'
import type { LoadedConfig, Problem } from '../../config/index.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { withoutTraces } from '../../gateway/load-config.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { filterObjects } from '../../protocol/json/json.ts'
import { within } from '../../util/clock.ts'
import { toOneLine, plural } from '../../util/plain-text.ts'
import { table } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { withUnstarted } from './ask-gateway.ts'

/** Time that lists have once the servers have started, or run out of theirs. */
const LISTS_MS = 15_000
/** Names that are printed of each kind; `--json` has all. */
const MAX_COUNT = 10

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
export interface Online {
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
export async function askServers(source: LoadedConfig, terminal: Terminal, ms: number): Promise<Online> {
  return withUnstarted(withoutTraces(source), terminal, async gateway => {
    await gateway.start()
    await inTime(ms, gateway.settled())
    const inspection = await inTime(LISTS_MS, gateway.inspect())
    const asked = new ListClient(source, gateway)
    const all = inspection === undefined ? undefined : await inTime(LISTS_MS, asked.lists())
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
async function inTime<T>(ms: number, wanted: Promise<T>): Promise<T | undefined> {
  return (await within(TIMER, ms, wanted)) ? wanted : undefined
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

  async lists(): Promise<{
    readonly clients: readonly FittedClient[]
    readonly profiles: readonly ListCost[]
  }> {
    const names = await this.#clients()
    const clients: FittedClient[] = []
    const profiles: ListCost[] = []
    for (const profile of this.#profiles) {
      const { count, tokens } = await this.#listing('tapgate', profile)
      profiles.push({ profile: profile ?? '', tools: Number(count), tokens: Number(tokens) })
      for (const client of names) {
        await this.#listing(client, profile)
        const report = await this.#gateway.control('fit.report', { client })
        clients.push(fittedClient(report, client, profile))
      }
    }
    return { clients, profiles }
  }

  #listing(client: string, profile: string | undefined): Promise<JsonObject> {
    return this.#gateway.control('listing', { client, ...(profile === undefined ? {} : { profile }) })
  }

  /** Rows of the table of clients; none where lists are not fitted. */
  async #clients(): Promise<string[]> {
    const asked = await this.#gateway.control('fit.clients', {}).catch(() => undefined)
    return filterObjects(asked?.clients).map(({ client }) => String(client))
  }
}

function fittedClient(report: JsonObject, client: string, profile: string | undefined): FittedClient {
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
export function onlineLines(online: Online, terminal: Terminal): string[] {
  const { out } = terminal
  const late = online.isCut ? [out.paint('yellow', 'some lists did not come in time')] : []
  return [
    ...table(
      online.servers.map(server => serverRow(server, terminal)),
      out,
    ),
    ...some('withheld, as another server has the name', duplicateRows(online), terminal),
    ...some('under another name', renamedRows(online), terminal),
    ...some('not shown', unfitRows(online), terminal),
    ...some('too many tools', tooManyRows(online), terminal),
    ...some('tokens of the list, as estimated', costRows(online), terminal),
    ...late,
  ]
}

function serverRow(
  { name, state, era, version, problem, tools }: CheckedServer,
  { out }: Terminal,
): string[] {
  const color = state === 'ready' || state === 'idle' ? 'green' : state === 'needs_auth' ? 'yellow' : 'red'
  const said = version === undefined ? '' : `${String(era)} ${version}`
  const rest = problem === undefined ? plural(tools ?? 0, 'tool') : toOneLine(problem)
  return [out.paint('bold', name), out.paint(color, state), said, rest]
}

function duplicateRows({ duplicates }: Online): string[][] {
  return duplicates.map(({ kind, name, owner, withheld }) => [
    toOneLine(name),
    `${kind} of ${withheld}`,
    owner,
  ])
}

function renamedRows({ clients }: Online): string[][] {
  const rows = clients.flatMap(({ client, profile, renamed }) =>
    renamed.map(({ name, shown }) => ({
      key: JSON.stringify([name, shown]),
      name,
      shown,
      who: who(client, profile),
    })),
  )
  return grouped(rows, ({ name, shown }, names) => [toOneLine(name), `→ ${toOneLine(shown)}`, names])
}

function unfitRows({ clients }: Online): string[][] {
  const rows = clients.flatMap(({ client, profile, unfit }) =>
    unfit.map(({ name, why }) => ({
      key: JSON.stringify([name, why]),
      name,
      why,
      who: who(client, profile),
    })),
  )
  return grouped(rows, ({ name, why }, names) => [toOneLine(name), toOneLine(why), names])
}

function tooManyRows({ clients }: Online): string[][] {
  return clients.flatMap(({ client, profile, tools, tooMany }) =>
    tooMany === undefined ? [] : [[who(client, profile), `${tools}, and it takes ${tooMany}`]],
  )
}

function costRows({ profiles }: Online): string[][] {
  return profiles.map(({ profile, tools, tokens }) => [
    profile === '' ? 'no profile' : profile,
    plural(tools, 'tool'),
    plural(tokens, 'token'),
  ])
}

function who(client: string, profile: string | undefined): string {
  return profile === undefined ? client : `${client} (${profile})`
}

/** Rows that say the same of several clients are one. */
function grouped<T extends { readonly key: string; readonly who: string }>(
  rows: readonly T[],
  write: (row: T, names: string) => string[],
): string[][] {
  return [...Map.groupBy(rows, ({ key }) => key).values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [write(first, [first, ...others].map(one => one.who).join(', '))],
  )
}

function some(title: string, rows: readonly string[][], { out }: Terminal): string[] {
  if (rows.length === 0) return []
  const more =
    rows.length > MAX_COUNT ? [out.paint('dim', `  and ${rows.length - MAX_COUNT} more; --json has all`)] : []
  return ['', out.paint('bold', title), ...table(rows.slice(0, MAX_COUNT), out, 2), ...more]
}
