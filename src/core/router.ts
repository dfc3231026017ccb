import type { CatalogEntry } from '../api/catalog-entry.ts'
import { hasName, createUnlistedEntry } from '../api/catalog-entry.ts'
import type { Call, Exchange, Route, Session } from '../api/index.ts'
import type { ParamHeader } from '../protocol/headers.ts'
import { getParamHeaders, findParamMismatch } from '../protocol/headers.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { stringifyNumbers } from '../protocol/json/json.ts'
import type { Kind } from '../protocol/methods.ts'
import { METHODS } from '../protocol/methods.ts'
import type { RpcError } from '../protocol/rpc-error.ts'
import { RPC, rpcError } from '../protocol/rpc-error.ts'
import { matchesRawTemplate } from '../protocol/uri-patterns.ts'
import { canonicalizePattern, parseCanonicalUri } from '../protocol/uri.ts'
import { settlesWithin } from '../util/clock.ts'
import { parseDuration } from '../util/units.ts'
import type { LateList } from './catalog/upstream-list.ts'
import { isModernHttp } from './exchange.ts'
import type { RouteResult, Graph, UpstreamNode } from './graph-types.ts'
import type { RequestTarget } from './request-target.ts'
import { getTarget } from './request-target.ts'
import { isUp } from './reused-upstream.ts'

/** Methods that name a tool or a prompt. */
const NAMED: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'completion/complete'])

/** Finds the upstream for an exchange by its name or URI. */
export class Router {
  readonly #graph: Graph
  readonly #waitMs: number
  /** Entry found by name, so that it is looked up once per request. */
  readonly #entriesByName = new WeakMap<Exchange, { readonly name: string; readonly entry: CatalogEntry | undefined }>()

  constructor(graph: Graph) {
    this.#graph = graph
    this.#waitMs = parseDuration(graph.config.lists.wait)
  }

  /**
   * Replaces a shown name (`listing` taps) by the real one before any rule runs. Real names take precedence. Only a
   * caller's first request loads the lists.
   */
  resolveShownName(exchange: Exchange): Promise<void> | undefined {
    const { catalog } = this.#graph
    if (!catalog.listings.isTapped || !NAMED.has(exchange.method)) return undefined
    const target = getTarget(exchange.method, exchange.params)
    if (target === undefined || target.kind === 'resources') return undefined
    const view = catalog.getCachedView(target.kind, exchange.session)
    if (view === undefined) return this.#findEntry(exchange, target)
    if (view.findByName(target.name) !== undefined) return undefined
    const real = this.#findShown(target, exchange.session)
    if (real !== undefined && real.exposed !== target.name) exchange.params = target.withName(real.exposed)
    return undefined
  }

  async #findEntry(exchange: Exchange, target: RequestTarget): Promise<void> {
    const { kind, name } = target
    const { session } = exchange
    const entry = await this.#find(exchange, kind, name, () => this.#findShown(target, session))
    if (entry?.upstream === '') return
    this.#entriesByName.set(exchange, { name: entry?.exposed ?? name, entry })
    if (entry !== undefined && entry.exposed !== name) exchange.params = target.withName(entry.exposed)
    // This caller's next request will find a list.
    if (this.#graph.catalog.getCachedView(kind, session) === undefined)
      void this.#graph.catalog.load(kind, session).catch(() => undefined)
  }

  /** Finds the entry that this client knows by another name, or that a `listing` tap added. */
  #findShown({ kind, name }: RequestTarget, session: Session): CatalogEntry | undefined {
    const { catalog } = this.#graph
    const view = catalog.getCachedView(kind, session)
    if (view === undefined) return undefined
    const shown = catalog.listings.getListedView(view, session)
    const added = shown.view.findByName(name)
    return added?.upstream === '' ? added : shown.real.get(name)
  }

  /** Routes by the catalog: synchronously for a known name, else after listing the upstreams. */
  findRoute(exchange: Exchange): RouteResult | Promise<RouteResult> {
    const row = METHODS.get(exchange.method)
    if (row === undefined) return this.#routeUnknownMethod(exchange)
    if (row.to === 'list') return { to: 'many', upstreams: [...this.#graph.upstreams.keys()] }
    if (row.target === 'ref') return this.#findByReference(exchange)
    if (row.target === undefined || row.kind === undefined) return this.#routeUnknownMethod(exchange)
    const name = exchange.params?.[row.target]
    if (typeof name !== 'string')
      return { error: rpcError(RPC.invalidParams, `Invalid params: "${row.target}" must be a string`) }
    const target = row.target
    return this.#owner(exchange, row.kind, name, original => ({ ...exchange.params, [target]: original }))
  }

  /** Finds the catalog entry of a URI: its owner, and the URI that the owner uses. */
  async findOwner(uri: string, exchange: Exchange): Promise<CatalogEntry | undefined> {
    const cached = this.#graph.catalog.getCachedView('resources', exchange.session)?.findByName(uri)
    const entry = cached ?? (await this.#find(exchange, 'resources', uri))
    return entry?.refusal === undefined ? entry : undefined
  }

  /** Checks a plugin's route against the entries that this caller may see. */
  checkRoute(exchange: Exchange, route: Route): RouteResult {
    if (route.to === 'many') return route
    const withheld = this.#findRefusal(exchange)
    return withheld === undefined ? this.#checkSingleRoute(exchange, route) : { error: withheld }
  }

  #checkSingleRoute(exchange: Exchange, route: Extract<Route, { to: 'one' }>): RouteResult {
    const target = getTarget(exchange.method, route.params)
    const node = this.#graph.upstreams.get(route.upstream)
    if (target === undefined || node === undefined) return route
    const entry = this.#findVisible(target, node, exchange.session)
    if (entry?.original === target.name && entry.refusal === undefined) return { ...route, entry }
    if (entry !== undefined) return createRoute(entry, target.withName)
    // Same error as for an unknown name, so that it does not reveal the entry.
    return createUnknownError(exchange, target.kind, getTarget(exchange.method, exchange.params)?.name ?? target.name)
  }

  /** Returns the entry's refusal, which plugin routes cannot bypass. */
  #findRefusal({ method, params, session }: Exchange): RpcError | undefined {
    const target = getTarget(method, params)
    return target && this.#graph.catalog.getCachedView(target.kind, session)?.findByName(target.name)?.refusal
  }

  /** Finds an entry that this caller may see, listed or not. */
  #findVisible({ kind, name }: RequestTarget, node: UpstreamNode, session: Session): CatalogEntry | undefined {
    // The view already passed the taps.
    const listed = this.#graph.catalog.getCachedView(kind, session)?.findByOriginal(node.upstream.name, name)
    if (listed !== undefined) return listed
    if (kind === 'resources' && this.#isAmbiguousUri(name)) return undefined
    const entry = createUnlistedEntry(kind, node.upstream.name, name, node.prefix)
    return this.#graph.catalog.applyCatalogTaps(entry, session)
  }

  /** Rules cannot judge a URI without a canonical form: if any exist, only exactly listed URIs match. */
  #isAmbiguousUri(uri: string): boolean {
    return this.#graph.judgesUris && parseCanonicalUri(uri) === undefined
  }

  /** Copies a tool's annotated arguments to headers, and checks those that the client sent (`x-mcp-header`). */
  mirrorParams(call: Call, entry: CatalogEntry | undefined): RpcError | undefined {
    const annotations = entry === undefined ? undefined : this.#graph.catalog.getHeaderParams(entry)
    return annotations === undefined || annotations.length === 0 ? undefined : this.#mirrorHeaders(call, annotations)
  }

  #mirrorHeaders(call: Call, annotations: readonly ParamHeader[]): RpcError | undefined {
    const { headers, received } = call.exchange
    const args = stringifyNumbers(call.params, received)?.arguments
    const mismatch =
      isModernHttp(call.exchange) && !call.exchange.isUnwrapped
        ? findParamMismatch(annotations, headers, args)
        : undefined
    if (mismatch === undefined) Object.assign(call.headers, getParamHeaders(annotations, args))
    return mismatch
  }

  /** Routes an unknown method to the only upstream; with several, a plugin must route it. */
  #routeUnknownMethod(exchange: Exchange): RouteResult {
    const [only, second] = this.#graph.upstreams.keys()
    if (only !== undefined && second === undefined) return { to: 'one', upstream: only, params: exchange.params }
    return { error: rpcError(RPC.methodNotFound, `Method not found: ${exchange.method}`) }
  }

  #owner(
    exchange: Exchange,
    kind: Kind,
    name: string,
    params: (original: string) => JsonObject,
  ): RouteResult | Promise<RouteResult> {
    const cached = this.#graph.catalog.getCachedView(kind, exchange.session)?.findByName(name)
    if (cached !== undefined) return createRoute(cached, params)
    return this.#search(exchange, kind, name, params)
  }

  async #search(
    exchange: Exchange,
    kind: Kind,
    name: string,
    params: (original: string) => JsonObject,
  ): Promise<RouteResult> {
    const previous = this.#entriesByName.get(exchange)
    const entry = previous?.name === name ? previous.entry : await this.#find(exchange, kind, name)
    if (entry !== undefined) return createRoute(entry, params)
    const unavailable = this.#findUnavailableOwner(kind, name, exchange.session)
    if (unavailable !== undefined) return createRoute(unavailable, params)
    return createUnknownError(exchange, kind, name)
  }

  /** Finds a name's owner: in the lists, waiting for late first ones, else by guesses from prefixes and templates. */
  async #find(
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
  #findUnavailableOwner(kind: Kind, name: string, session: Session): CatalogEntry | undefined {
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
    if (this.#isAmbiguousUri(uri)) return undefined
    const templates = await this.#graph.catalog.load('resourceTemplates', session)
    const matchesEntry = ({ original }: CatalogEntry): boolean => matchesRawTemplate(original, uri)
    const template = templates.entries.find(matchesEntry) ?? templates.refused.find(matchesEntry)
    if (template?.refusal !== undefined) return template
    return this.#createUnlisted(uri, template?.upstream, session)
  }

  #suggestName(uri: string, session: Session): CatalogEntry | undefined {
    if (this.#isAmbiguousUri(uri)) return undefined
    return this.#createUnlisted(uri, this.#findOnlyResourceUpstream() ?? this.#findBySameOrigin(uri, session), session)
  }

  #createUnlisted(uri: string, upstream: string | undefined, session: Session): CatalogEntry | undefined {
    const node = upstream === undefined ? undefined : this.#graph.upstreams.get(upstream)
    if (node === undefined) return undefined
    const entry = createUnlistedEntry('resources', node.upstream.name, uri, node.prefix)
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

  async #findByReference(exchange: Exchange): Promise<RouteResult> {
    const target = getTarget(exchange.method, exchange.params)
    if (target === undefined) return { error: rpcError(RPC.invalidParams, 'Invalid params: "ref" has no name or URI') }
    const { kind, name, withName } = target
    if (kind === 'prompts') return this.#owner(exchange, kind, name, withName)
    const template = await this.#graph.catalog.find('resourceTemplates', exchange.session, name)
    if (template !== undefined) return createRoute(template, () => exchange.params ?? {})
    return this.#owner(exchange, kind, name, withName)
  }
}

function createRoute(entry: CatalogEntry, params: (original: string) => JsonObject): RouteResult {
  if (entry.refusal !== undefined) return { error: entry.refusal }
  return { to: 'one', upstream: entry.upstream, params: params(entry.original), entry }
}

/** Returns the kinds whose lists may reveal an entry's owner. */
function getRelatedKinds(kind: Kind): readonly Kind[] {
  return kind === 'resources' ? ['resources', 'resourceTemplates'] : [kind]
}

function createUnknownError(exchange: Exchange, kind: Kind, name: string): { error: RpcError } {
  if (kind === 'tools') return { error: rpcError(RPC.invalidParams, `Unknown tool: ${name}`) }
  if (kind === 'prompts') return { error: rpcError(RPC.invalidParams, `Unknown prompt: ${name}`) }
  const code = exchange.session.client.era === 'legacy' ? RPC.legacyNoResource : RPC.invalidParams
  return { error: rpcError(code, `Resource not found: ${name}`, { uri: name }) }
}

function getUriOrigin(uri: string): string {
  return /^[a-z][a-z0-9+.-]*:(?:\/\/[^/?#]*)?/i.exec(uri)?.[0] ?? uri
}

/** Search for an entry of one of these kinds. */
interface EntrySearch {
  readonly kinds: readonly Kind[]
  /** The request that needs the entry; the search stops if it is cancelled. */
  readonly exchange: Exchange
}

/** Searches, and again after each upstream that finishes starting within its grace period. */
async function findWithRetries<T>(
  graph: Graph,
  query: EntrySearch,
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
function listReadyNodes(graph: Graph, { kinds }: EntrySearch): readonly UpstreamNode[] {
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

function listLateLists(graph: Graph, { kinds }: EntrySearch): LateList[] {
  return [...graph.upstreams.values()]
    .filter(node => kinds.some(kind => mayOwn(graph, node, kind)))
    .flatMap(node => graph.catalog.getLateList(node) ?? [])
}

/** True if a name's owner depends on lists: without rules that change names, the prefix decides. */
function mayOwn({ hooks }: Graph, { prefix }: UpstreamNode, kind: Kind): boolean {
  const isNamed = kind === 'tools' || kind === 'prompts'
  return !isNamed || prefix === '' || hooks.getRunner('catalog') !== undefined
}

/** Routes an exchange by one configuration; returns an error without a match. */
export function findRoute(exchange: Exchange, graph: Graph): RouteResult | Promise<RouteResult> {
  const refused = graph.catalog.findUnsupportedError(exchange)
  if (refused !== undefined) return { error: refused }
  const decided = graph.hooks.getRunners(exchange.method).route?.(exchange)
  return decided === undefined ? graph.router.findRoute(exchange) : graph.router.checkRoute(exchange, decided)
}
