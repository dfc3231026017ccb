import type { Call, CatalogEntry, Config, Exchange, JsonObject, Plugin } from '../../src/plugin.ts'
import {
  canonicalizeUri,
  createProfileLookup,
  isAppOnly,
  isObject,
  parseAppUri,
  readList,
  readText,
  readTexts,
  refuse,
  RPC,
  toAppUri,
} from '../../src/plugin.ts'
import { changeLinks, listLinks } from './app-links.ts'

const READ = ['resources/read']
const FIRST = { stage: 'unwrap', readers: () => '' } as const

/**
 * Keeps the MCP Apps (SEP-1865) of several servers apart: clients see `ui://<upstream>.tapgate/…`, and a read of it
 * never reaches another server. A server's own URI is read if only one server has it.
 */
export const apps: Plugin<undefined> = {
  name: 'apps',
  setup({ config, hooks, slot }) {
    const owner = slot.exchange((): { upstream?: string } => ({}))
    const expose = (upstream: string, uri: string): string =>
      isChosen(uri, upstream, config) ? uri : toAppUri(upstream, uri)
    const exposeEntry = (entry: CatalogEntry): CatalogEntry => {
      const exposed = entry.kind === 'resources' ? expose(entry.upstream, entry.exposed) : entry.exposed
      const value = entry.kind === 'tools' ? changeLinks(entry.value, uri => expose(entry.upstream, uri)) : entry.value
      return exposed === entry.exposed && value === entry.value ? entry : { ...entry, exposed, value }
    }
    // After the rules for resources, which match the server's URIs.
    hooks.catalog.tap({ stage: 'transform', onlyRenames: true }, (entries, { kind }) =>
      kind === 'tools' || kind === 'resources' ? entries.map(exposeEntry) : undefined,
    )
    // Names in an earlier list form can be called: add the servers' own ones, and restore the list.
    const lists = new WeakMap<readonly CatalogEntry[], readonly CatalogEntry[]>()
    const findProfile = createProfileLookup(config)
    hooks.listing.tap(FIRST, (entries, reader) => {
      const named = reader.kind === 'tools' ? listOwnNames(entries) : []
      if (named.length === 0) return undefined
      const isForeign = createForeignNameCheck(config, findProfile(reader))
      const own = named.filter(entry => !isForeign(entry))
      if (own.length === 0) return undefined
      lists.set(own, entries)
      return own
    })
    hooks.listing.tap(FIRST, own => lists.get(own))
    hooks.call.tap({ methods: ['tools/call'] }, refuseModels)
    hooks.request.tap({ methods: READ }, async exchange => {
      const uri = readUri(exchange)
      if (uri === undefined || findTarget(uri, config) !== undefined) return undefined
      const owners = await findOwners(uri, exchange, expose)
      const [upstream, second] = owners
      if (second !== undefined) {
        const exposed = owners.map(name => expose(name, uri)).join(', ')
        return refuse(RPC.invalidParams, `Several servers have ${uri}: read one of ${exposed}`, { uri })
      }
      if (upstream !== undefined) owner.get(exchange).upstream = upstream
      return undefined
    })
    hooks.route.tap({ methods: READ }, exchange => {
      const uri = readUri(exchange)
      if (uri === undefined) return undefined
      const { upstream } = owner.get(exchange)
      const target = upstream === undefined ? findTarget(uri, config) : { upstream, uri }
      return target && { to: 'one', upstream: target.upstream, params: { ...exchange.params, uri: target.uri } }
    })
    hooks.response.tap({ methods: READ }, (answer, exchange) => {
      const { route } = exchange
      const uri = readUri(exchange)
      if (uri === undefined || route?.to !== 'one' || !('result' in answer)) return undefined
      const own = route.params?.uri
      if (own === uri) return undefined
      const contents = readList(answer.result.value(), 'contents').map(content => {
        const named = readText(content, 'uri')
        if (!isObject(content) || named === undefined) return content
        return { ...content, uri: named === own ? uri : toAppUri(route.upstream, named) }
      })
      return { result: answer.result.edit(['contents'], { contents }) }
    })
  },
}

/**
 * Lists the tools of servers with apps under their own names, by which an app calls them; without those of several
 * servers, as calls do not name their app.
 */
function listOwnNames(entries: readonly CatalogEntry[]): readonly CatalogEntry[] {
  const servers = new Set(entries.filter(({ value }) => listLinks(value).length > 0).map(({ upstream }) => upstream))
  const callable = entries.filter(({ upstream, value }) => servers.has(upstream) && isForApps(value))
  return [...Map.groupBy(callable, ({ original }) => original).values()].flatMap(([entry, second]) =>
    entry === undefined || second !== undefined ? [] : [{ ...entry, exposed: entry.original }],
  )
}

/**
 * Recognizes names that another server may have, whether it is up and whatever this caller may use: calls of them
 * are not meant for the entry's server.
 */
function createForeignNameCheck(
  { filters, upstreams, profiles = {} }: Config,
  profile = '',
): (entry: CatalogEntry) => boolean {
  const renamed = Object.values(filters?.tools?.rename ?? {})
  const servers = Object.entries(upstreams).map(([name, { prefix = `${name}__` }]) => ({
    name,
    prefix: profiles[profile]?.prefixes?.[name] ?? prefix,
  }))
  return ({ original, upstream }) =>
    renamed.includes(original) || servers.some(({ name, prefix }) => name !== upstream && original.startsWith(prefix))
}

function isForApps(tool: JsonObject): boolean {
  const visibility = readTexts(tool, '_meta', 'ui', 'visibility')
  return visibility.length === 0 || visibility.includes('app')
}

/** Refuses calls of tools for apps only that are wrapped, in a script or over REST, where no host hides them. */
function refuseModels({ exchange }: Call): void {
  const { entry, isUnwrapped = false, via } = exchange
  if (entry === undefined || !(isUnwrapped || via === 'rest') || !isAppOnly(entry.value)) return
  const message = `Unknown tool: ${String(exchange.params?.name)}`
  exchange.entry = { ...entry, refusal: { code: RPC.invalidParams, message } }
}

function readUri({ params }: Exchange): string | undefined {
  const uri = readText(params, 'uri')
  return uri?.startsWith('ui://') === true ? uri : undefined
}

/** Checks whether the configuration chose the URI for this server, so that it stays as it is. */
function isChosen(uri: string, upstream: string, { filters, upstreams }: Config): boolean {
  const sections = [filters?.resources, upstreams[upstream]?.resources]
  return sections.some(section => Object.values(section?.rename ?? {}).includes(uri))
}

function findTarget(uri: string, { upstreams }: Config): ReturnType<typeof parseAppUri> {
  const target = parseAppUri(uri)
  return target !== undefined && Object.hasOwn(upstreams, target.upstream) ? target : undefined
}

/** Finds the servers whose tools name a server's own URI, or that list it; else those with its host. */
async function findOwners(
  uri: string,
  exchange: Exchange,
  expose: (upstream: string, uri: string) => string,
): Promise<readonly string[]> {
  const resources = await exchange.listShownEntries('resources')
  if (resources.some(({ exposed }) => exposed === uri)) return []
  const tools = await exchange.listShownEntries('tools')
  const named = tools.flatMap(({ upstream, value }) => listLinks(value).map(link => ({ upstream, link })))
  const listed = resources.map(({ upstream, exposed }) => ({ upstream, link: exposed }))
  const links = [...named, ...listed].map(({ upstream, link }) => ({ upstream, link: canonicalizeUri(link) }))
  const [host = ''] = /^ui:\/\/[^/?#]*/.exec(uri) ?? []
  const same = links.filter(({ upstream, link }) => link === expose(upstream, uri))
  const near = links.filter(({ upstream, link }) => link.startsWith(`${expose(upstream, host)}/`))
  return [...new Set((same.length > 0 ? same : near).map(({ upstream }) => upstream))]
}
