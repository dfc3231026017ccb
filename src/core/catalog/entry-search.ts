import type { CatalogEntry } from '../../api/catalog-entry.ts'
import { hasName, createUnlistedEntry } from '../../api/catalog-entry.ts'
import type { Exchange, Session } from '../../api/index.ts'
import type { Kind } from '../../protocol/methods.ts'
import { parseAppUri } from '../../protocol/app-uri.ts'
import { matchesRawTemplate } from '../../protocol/uri-patterns.ts'
import { canonicalizePattern, parseCanonicalUri } from '../../protocol/uri.ts'
import { settlesWithin } from '../../util/clock.ts'
import { parseDuration } from '../../util/units.ts'
import type { Graph, UpstreamNode } from '../graph-types.ts'
import { isUp } from '../reused-upstream.ts'
import type { LateList } from './upstream-list.ts'

/** Finds the owner for a name or URI that no cached view has. */
export class EntrySearch {
  readonly #graph: Graph
  readonly #waitMs: number

  constructor(graph: Graph) {
    this.#graph = graph
    this.#waitMs = parseDuration(graph.config.lists.wait)
  }

  /** Finds a name's owner: in the lists, waiting for late first ones, else by guesses from prefixes and templates. */
  async find(
    exchange: Exchange,
    kind: Kind,
    name: string,
    otherwise?: () => CatalogEntry | undefined,
  ): Promise<CatalogEntry | undefined> {
    const { session } = exchange
    const query = { kinds: getRelatedKinds(kind), exchange }
    const entry = await findWithRetries(
      this.#graph,
      query,
      async () =>
        (await this.#findByPrefix(kind, name, session)) ??
        (await this.#findListed(kind, name, session)) ??
        otherwise?.(),
    )
    return entry ?? (kind === 'resources' ? this.#suggestName(name, session) : undefined)
  }

  /** Lists only the upstream whose prefix matches, so that slow upstreams do not delay the call. */
  async #findByPrefix(kind: Kind, name: string, session: Session): Promise<CatalogEntry | undefined> {
    const node = this.#listPrefixed(kind, name)
    if (node === undefined) return undefined
    const listed = this.#graph.catalog.getList(node.upstream.name, kind, session)
    // Without rules that change names, a late first list would not change the route.
    if (!mayOwn(this.#graph, node, kind) && !(await settlesWithin(this.#graph.clock, this.#waitMs, listed)))
      return createUnlistedEntry(kind, node.upstream.name, name.slice(node.prefix.length), node.prefix)
    const entry = (await listed)?.entries.find(candidate => candidate.exposed === name)
    const permitted = entry === undefined ? undefined : this.#graph.catalog.applyCatalogTaps(entry, session)
    return permitted?.exposed === name ? permitted : undefined
  }

  #listPrefixed(kind: Kind, name: string): UpstreamNode | undefined {
    if (kind !== 'tools' && kind !== 'prompts') return undefined
    const nodes = [...this.#graph.upstreams.values()].filter(({ prefix }) => prefix !== '' && name.startsWith(prefix))
    return nodes.sort((a, b) => b.prefix.length - a.prefix.length)[0]
  }

  async #findListed(kind: Kind, name: string, session: Session): Promise<CatalogEntry | undefined> {
    const entry = await this.#graph.catalog.find(kind, session, name)
    return entry ?? (kind === 'resources' ? this.#findByTemplate(name, session) : undefined)
  }

  /** Routes to an upstream that is down or cannot list, so that the caller receives its error. */
  findUnavailableOwner(kind: Kind, name: string, session: Session): CatalogEntry | undefined {
    const entry = this.#graph.catalog.findLastKnown(kind, session, name) ?? this.#findGuessed(kind, name)
    const permitted = entry === undefined ? undefined : this.#graph.catalog.applyCatalogTaps(entry, session)
    return permitted !== undefined && hasName(permitted, name) ? permitted : undefined
  }

  #findGuessed(kind: Kind, name: string): CatalogEntry | undefined {
    const node = this.#listPrefixed(kind, name)
    if (node === undefined) return undefined
    if (isUp(node.upstream) && !this.#graph.catalog.isMissing(node, kind)) return undefined
    const original = name.slice(node.prefix.length)
    return createUnlistedEntry(kind, node.upstream.name, original, node.prefix)
  }

  /**
   * Servers may serve unlisted URIs: match by template, else the only upstream, else the one that lists that origin.
   */
  async #findByTemplate(uri: string, session: Session): Promise<CatalogEntry | undefined> {
    if (this.isAmbiguousUri(uri)) return undefined
    const templates = await this.#graph.catalog.load('resourceTemplates', session)
    const matchesEntry = ({ original }: CatalogEntry): boolean => matchesRawTemplate(original, uri)
    const template = templates.entries.find(matchesEntry) ?? templates.refused.find(matchesEntry)
    if (template?.refusal !== undefined) return template
    return this.#createUnlisted(uri, template?.upstream, session)
  }

  #suggestName(uri: string, session: Session): CatalogEntry | undefined {
    if (this.isAmbiguousUri(uri)) return undefined
    return this.#createUnlisted(uri, this.#findOnlyResourceUpstream() ?? this.#findBySameOrigin(uri, session), session)
  }

  #createUnlisted(uri: string, upstream: string | undefined, session: Session): CatalogEntry | undefined {
    const app = parseAppUri(uri)
    const node = this.#graph.upstreams.get(app?.upstream ?? '') ?? this.#graph.upstreams.get(upstream ?? '')
    if (node === undefined) return undefined
    const { name } = node.upstream
    const entry = createUnlistedEntry('resources', name, app?.upstream === name ? app.uri : uri, node.prefix)
    return this.#graph.catalog.applyCatalogTaps(entry, session)
  }

  #findOnlyResourceUpstream(): string | undefined {
    const names = [...this.#graph.upstreams.values()].filter(
      ({ upstream }) => upstream.server?.capabilities.resources !== undefined,
    )
    return names.length === 1 ? names[0]?.upstream.name : undefined
  }

  #findBySameOrigin(uri: string, session: Session): string | undefined {
    const origin = getUriOrigin(uri)
    const entries = this.#graph.catalog.getCachedView('resources', session)?.entries ?? []
    return entries.find(entry => getUriOrigin(canonicalizePattern(entry.original)) === origin)?.upstream
  }

  /** Rules cannot judge a URI without a canonical form: if any exist, only exactly listed URIs match. */
  isAmbiguousUri(uri: string): boolean {
    return this.#graph.judgesUris && parseCanonicalUri(uri) === undefined
  }
}

/** Returns the kinds whose lists may reveal an entry's owner. */
function getRelatedKinds(kind: Kind): readonly Kind[] {
  return kind === 'resources' ? ['resources', 'resourceTemplates'] : [kind]
}

function getUriOrigin(uri: string): string {
  return /^[a-z][a-z0-9+.-]*:(?:\/\/[^/?#]*)?/i.exec(uri)?.[0] ?? uri
}

/** A search for an entry. */
interface EntryQuery {
  readonly kinds: readonly Kind[]
  /** The request that needs the entry; the search stops if it is cancelled. */
  readonly exchange: Exchange
}

/** Searches, and again after each upstream that finishes starting within its grace period. */
async function findWithRetries<T>(
  graph: Graph,
  query: EntryQuery,
  look: () => Promise<T | undefined>,
): Promise<T | undefined> {
  for (;;) {
    const before = listReadyNodes(graph, query)
    const result = await look()
    if (result !== undefined || query.exchange.cancelled) return result
    const pending = listLateLists(graph, query)
    if (pending.length > 0) await waitForNextList(pending, graph, query.exchange)
    // An upstream that became ready during the search may have been missed: search again.
    else if (listReadyNodes(graph, query).every(node => before.includes(node))) return undefined
  }
}

/** Lists the contacted upstreams that may own such an entry. */
function listReadyNodes(graph: Graph, { kinds }: EntryQuery): readonly UpstreamNode[] {
  return [...graph.upstreams.values()].filter(
    node => node.upstream.server !== undefined && kinds.some(kind => mayOwn(graph, node, kind)),
  )
}

/** Waits for the first late list, until the grace period expires or the request is cancelled. */
async function waitForNextList(pending: readonly LateList[], { clock }: Graph, exchange: Exchange): Promise<void> {
  const leftMs = Math.max(...pending.map(list => list.leftMs))
  let takeBack = (): void => undefined
  const cancelled = new Promise<void>(resolve => {
    takeBack = exchange.onCancel(() => resolve())
  })
  await settlesWithin(clock, leftMs, Promise.race([cancelled, ...pending.map(({ done }) => done)]))
  takeBack()
}

function listLateLists(graph: Graph, { kinds }: EntryQuery): LateList[] {
  return [...graph.upstreams.values()]
    .filter(node => kinds.some(kind => mayOwn(graph, node, kind)))
    .flatMap(node => graph.catalog.getLateList(node) ?? [])
}

/** True if a name's owner depends on lists: without rules that change names, the prefix decides. */
function mayOwn({ judgesEntries }: Graph, { prefix }: UpstreamNode, kind: Kind): boolean {
  const isNamed = kind === 'tools' || kind === 'prompts'
  return !isNamed || prefix === '' || judgesEntries
}
