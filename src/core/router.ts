import type { CatalogEntry } from '../api/catalog-entry.ts'
import { createUnlistedEntry } from '../api/catalog-entry.ts'
import type { Call, Exchange, Route, Session } from '../api/index.ts'
import type { ParamHeader } from '../protocol/headers.ts'
import { getParamHeaders, findParamMismatch } from '../protocol/headers.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { isObject, findMistakableName, stringifyNumbers } from '../protocol/json/json.ts'
import type { Kind } from '../protocol/methods.ts'
import { METHODS } from '../protocol/methods.ts'
import type { RpcError } from '../protocol/rpc-error.ts'
import { RPC, rpcError } from '../protocol/rpc-error.ts'
import { canonicalizeUri } from '../protocol/uri.ts'
import { findMethodOwner } from './capabilities.ts'
import { EntrySearch } from './catalog/entry-search.ts'
import { isModernHttp } from './exchange.ts'
import type { RouteResult, Graph, UpstreamNode } from './graph-types.ts'

/** Methods that name a tool or a prompt. */
const NAMED: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'completion/complete'])

/** Finds the upstream for an exchange by its name or URI. */
export class Router {
  readonly #graph: Graph
  readonly #search: EntrySearch
  /** Entry found by name, so that it is looked up once per request. */
  readonly #entriesByName = new WeakMap<Exchange, { readonly name: string; readonly entry: CatalogEntry | undefined }>()

  constructor(graph: Graph) {
    this.#graph = graph
    this.#search = new EntrySearch(graph)
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
    const entry = await this.#search.find(exchange, kind, name, () => this.#findShown(target, session))
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
    const entry = cached ?? (await this.#search.find(exchange, 'resources', uri))
    return entry?.refusal === undefined ? entry : undefined
  }

  /** Checks a plugin's route against the entries that this caller may see. */
  checkRoute(exchange: Exchange, route: Route): RouteResult {
    if (route.to === 'many') return route
    if (route.entry?.kind === 'skills' && this.#search.isAmbiguousUri(route.entry.original))
      return createUnknownError(exchange, 'resources', String(exchange.params?.uri))
    if (route.entry !== undefined) return createRoute(route.entry, () => route.params)
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
    if (kind === 'resources' && this.#search.isAmbiguousUri(name)) return undefined
    const entry = createUnlistedEntry(kind, node.upstream.name, name, node.prefix)
    return this.#graph.catalog.applyCatalogTaps(entry, session)
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

  /** Routes an unknown method to the only upstream, or the only one with its extension; else a plugin must route it. */
  #routeUnknownMethod(exchange: Exchange): RouteResult {
    const upstream = findMethodOwner(this.#graph, exchange.method, exchange.session)
    if (upstream !== undefined) return { to: 'one', upstream, params: exchange.params }
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
    return this.#searchOwner(exchange, kind, name, params)
  }

  async #searchOwner(
    exchange: Exchange,
    kind: Kind,
    name: string,
    params: (original: string) => JsonObject,
  ): Promise<RouteResult> {
    const previous = this.#entriesByName.get(exchange)
    const entry = previous?.name === name ? previous.entry : await this.#search.find(exchange, kind, name)
    if (entry !== undefined) return createRoute(entry, params)
    const unavailable = this.#search.findUnavailableOwner(kind, name, exchange.session)
    if (unavailable !== undefined) return createRoute(unavailable, params)
    return createUnknownError(exchange, kind, name)
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

function createRoute(entry: CatalogEntry, params: (original: string) => JsonObject | undefined): RouteResult {
  if (entry.refusal !== undefined) return { error: entry.refusal }
  return { to: 'one', upstream: entry.upstream, params: params(entry.original), entry }
}

function createUnknownError(exchange: Exchange, kind: Kind, name: string): { error: RpcError } {
  if (kind === 'tools') return { error: rpcError(RPC.invalidParams, `Unknown tool: ${name}`) }
  if (kind === 'prompts') return { error: rpcError(RPC.invalidParams, `Unknown prompt: ${name}`) }
  const code = exchange.session.client.era === 'legacy' ? RPC.legacyNoResource : RPC.invalidParams
  return { error: rpcError(code, `Resource not found: ${name}`, { uri: name }) }
}

/** Routes an exchange by one configuration; returns an error without a match. */
export function findRoute(exchange: Exchange, graph: Graph): RouteResult | Promise<RouteResult> {
  const refused = graph.catalog.findUnsupportedError(exchange)
  if (refused !== undefined) return { error: refused }
  const decided = graph.hooks.getRunners(exchange.method).route?.(exchange)
  return decided === undefined ? graph.router.findRoute(exchange) : graph.router.checkRoute(exchange, decided)
}

type Params = JsonObject | undefined
/** Parameters with a normalized target, or the error. */
type TargetResult = { readonly params: Params } | { readonly error: RpcError }

const TARGETS: ReadonlyMap<string, (params: Params) => TargetResult> = new Map([
  ['resources/read', withCanonicalUri],
  ['resources/subscribe', withCanonicalUri],
  ['resources/unsubscribe', withCanonicalUri],
  ['skills/get', withCanonicalUri],
  ['resources/directory/read', withCanonicalUri],
  ['completion/complete', checkReference],
])

/** For each reference type: its required member, and its forbidden one. */
const MEMBERS: ReadonlyMap<unknown, readonly ['name' | 'uri', 'name' | 'uri']> = new Map([
  ['ref/prompt', ['name', 'uri']],
  ['ref/resource', ['uri', 'name']],
])

/**
 * Normalizes a request's target before any rule runs, so that rules, router and server see the same name. Returns an
 * error if a request has two targets.
 */
export function normalizeTarget(exchange: Exchange): RpcError | undefined {
  const settled = TARGETS.get(exchange.method)?.(exchange.params)
  if (settled === undefined) return undefined
  if ('error' in settled) return settled.error
  exchange.params = settled.params
  return undefined
}

/** A URI without a canonical form passes unchanged: plugins with resource rules refuse it. */
function withCanonicalUri(params: Params): TargetResult {
  const uri = params?.uri
  const own = typeof uri === 'string' ? canonicalizeUri(uri) : uri
  return { params: own === uri ? params : { ...params, uri: own } }
}

/** The reference type decides which member is allowed (2025-11-25 and 2026-07-28, completion). */
function checkReference(params: Params): TargetResult {
  const ref = params?.ref
  if (!isObject(ref)) return createInvalidTarget('"ref" must be an object')
  const members = MEMBERS.get(ref.type)
  if (members === undefined) return createInvalidTarget('"ref.type" must be "ref/prompt" or "ref/resource"')
  const odd = Object.keys(ref).find(findMistakableName)
  if (odd !== undefined) return createInvalidTarget(`ambiguous member "${odd}" in "ref"`)
  return checkReferenceName(params, ref, members)
}

function checkReferenceName(
  params: Params,
  ref: JsonObject,
  [member, forbidden]: readonly ['name' | 'uri', 'name' | 'uri'],
): TargetResult {
  const name = ref[member]
  if (ref[forbidden] !== undefined) return createInvalidTarget('"ref" has both a prompt and a resource')
  if (typeof name !== 'string') return createInvalidTarget(`"ref.${member}" must be a string`)
  // Completion may be for a URI template, which is not a URI.
  if (member === 'name' || name.includes('{')) return { params }
  const uri = canonicalizeUri(name)
  return { params: uri === name ? params : { ...params, ref: { ...ref, uri } } }
}

function createInvalidTarget(reason: string): TargetResult {
  return { error: rpcError(RPC.invalidParams, `Invalid params: ${reason}`) }
}

export interface RequestTarget {
  readonly kind: Kind
  readonly name: string
  /** Returns the parameters with another name. */
  readonly withName: (name: string) => JsonObject
}

/** Returns a request's target: a tool or prompt name, or a URI; for completion, the one in its reference. */
export function getTarget(method: string, params: JsonObject | undefined): RequestTarget | undefined {
  const { kind, target } = METHODS.get(method) ?? {}
  if (target === 'ref') return isObject(params?.ref) ? resolveTarget(params, params.ref) : undefined
  const name = target === undefined ? undefined : params?.[target]
  if (target === undefined || typeof name !== 'string' || kind === undefined) return undefined
  return { kind, name, withName: newName => ({ ...params, [target]: newName }) }
}

/** The reference type alone decides the target kind. */
function resolveTarget(params: JsonObject, ref: JsonObject): RequestTarget | undefined {
  const [kind, member] = ref.type === 'ref/prompt' ? (['prompts', 'name'] as const) : (['resources', 'uri'] as const)
  const name = ref[member]
  if (typeof name !== 'string') return undefined
  return { kind, name, withName: newName => ({ ...params, ref: { ...ref, [member]: newName } }) }
}
