import type { CatalogEntry } from '../../api/catalog-entry.ts'
import { hasName } from '../../api/catalog-entry.ts'
import type { Answer, Exchange, Principal, Session } from '../../api/index.ts'
import { ANONYMOUS, principalKey, viewerKey } from '../../api/principal.ts'
import type { ProfileViewer } from '../../api/profile-lookup.ts'
import { GatewayError, getOwnerReason } from '../../errors/errors.ts'
import { getListForm } from '../../protocol/era/adapt-entry.ts'
import type { ParamHeader } from '../../protocol/headers.ts'
import { parseParamHeaders } from '../../protocol/headers.ts'
import type { EntryKind, Kind } from '../../protocol/methods.ts'
import { KINDS, LISTS, METHODS } from '../../protocol/methods.ts'
import type { Payload } from '../../protocol/payload.ts'
import type { RpcError } from '../../protocol/rpc-error.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { BoundedMap } from '../../util/bounded-map.ts'
import { isModernHttp } from '../exchange.ts'
import type { Graph, ListChange, UpstreamNode } from '../graph-types.ts'
import { createOnlooker } from '../session.ts'
import { isUp } from '../reused-upstream.ts'
import { ListCache } from './list-cache.ts'
import type { Freshness, RejectedListing } from './view.ts'
import { Listings, View } from './view.ts'
import type { LateList, UpstreamList } from './upstream-list.ts'
import { guessEntries, EMPTY_LIST } from './upstream-list.ts'

const NO_CACHE: Freshness = { ttlMs: () => 0, cacheScope: 'private' }

/** A merged list expires with its oldest part, and is private if any part is. */
function computeFreshness(parts: readonly UpstreamList[], perCaller: boolean): Freshness {
  const payloads = parts.flatMap(part => part.payloads)
  const ttls = payloads.map(payload => (payload.era === 'modern' ? payload.value().ttlMs : 0))
  const isPublic = payloads.length > 0 && payloads.every(payload => payload.value().cacheScope === 'public')
  const ttlMs = Math.min(...ttls.map(ttl => (typeof ttl === 'number' && ttl > 0 ? ttl : 0)))
  const cacheScope = isPublic && !perCaller ? 'public' : 'private'
  if (!Number.isFinite(ttlMs) || ttlMs === 0) return { ttlMs: () => 0, cacheScope }
  return { ttlMs: now => getRemainingTtl(payloads, ttlMs, now), cacheScope }
}

/** Limits a lifetime to the time left in the cached payloads. */
function getRemainingTtl(payloads: readonly Payload[], ttlMs: number, now: number): number {
  return payloads.reduce(
    (minTtl, { freshUntil }) => Math.max(0, Math.min(minTtl, (freshUntil ?? Infinity) - now)),
    ttlMs,
  )
}

/** One view per kind and principal. */
const MAX_VIEWS = 4096
const MAX_REPORTED = 10_000

const MIXED_DIGEST = 'several'

interface CachedView {
  readonly view: View
  readonly identity: readonly unknown[]
}

/** Entry as listed, and as a viewer sees it; undefined if hidden. */
export interface KnownEntry {
  readonly entry: CatalogEntry
  readonly visible: CatalogEntry | undefined
}

/** Maps exposed names to their owners. A view is rebuilt only if one of its lists changed. */
export class Catalog {
  readonly #graph: Graph
  readonly #lists: ListCache
  readonly listings: Listings
  readonly #cachedViews = new BoundedMap<string, CachedView>({
    max: MAX_VIEWS,
    onForget: () => (this.#hasForgotten = true),
  })
  /** Digests of the lists given to readers, by kind and upstream. */
  readonly #givenDigests = new Map<string, string>()
  readonly #reported = new Set<string>()
  /** Upstreams omitted during startup; logged in one line. */
  readonly #starting = new Set<string>()
  /** Set once a view was evicted: clients may have seen it, and it can no longer be compared. */
  #hasForgotten = false
  readonly #partial = new Set<Kind>()
  readonly #headerParams = new WeakMap<CatalogEntry, readonly ParamHeader[] | undefined>()
  readonly #viewKeys = new WeakMap<Principal, Map<Kind, string>>()

  constructor(graph: Graph) {
    this.#graph = graph
    this.#lists = new ListCache(graph)
    this.listings = new Listings(graph.hooks, unshown => this.#reportUnshown(unshown))
  }

  /** Returns an error if no upstream supports the method. */
  findUnsupportedError(exchange: Exchange): RpcError | undefined {
    const capability = METHODS.get(exchange.method)?.capability
    if (capability === undefined || offersCapability(this.#graph, capability)) return undefined
    return rpcError(RPC.methodNotFound, `Method not found: no upstream offers ${capability}`)
  }

  /** Answers a list method from the upstreams' lists. */
  async list(exchange: Exchange, upstreams?: readonly string[]): Promise<Answer> {
    const kind = METHODS.get(exchange.method)?.kind
    if (kind === undefined) return { error: rpcError(RPC.methodNotFound, `Method not found: ${exchange.method}`) }
    const offset = this.#parseOffset(exchange, kind)
    if (offset === undefined) return { error: rpcError(RPC.invalidParams, 'Invalid params: unknown cursor') }
    const { view } = this.listings.getListedView(await this.load(kind, exchange.session, upstreams), exchange.session)
    const form = getListForm(exchange.session.client)
    const without = isModernHttp(exchange) ? this.#findUnfitTools(view) : undefined
    return { result: view.page(offset, form, this.#graph.clock.now(), without) }
  }

  #findUnfitTools(view: View): readonly CatalogEntry[] {
    for (const { upstream, exposed } of view.listUnfitTools()) {
      if (!this.#isNew(JSON.stringify(['unfit', upstream, exposed]))) continue
      this.#graph.log.warn(`tool "${exposed}" of upstream "${upstream}" is withheld from HTTP clients`, {
        hint: 'its input schema has an invalid x-mcp-header annotation',
      })
    }
    return view.listUnfitTools()
  }

  #parseOffset(exchange: Exchange, kind: Kind): number | undefined {
    const cursor = exchange.params?.cursor
    if (cursor === undefined) return 0
    const opened =
      typeof cursor === 'string' ? this.#graph.seal.openValue(cursor, bindCursor(kind, exchange.session)) : undefined
    return typeof opened === 'number' ? opened : undefined
  }

  /** Returns the tool's parameters sent as headers; undefined if its annotations are invalid. */
  getHeaderParams(entry: CatalogEntry): readonly ParamHeader[] | undefined {
    const cached = this.#headerParams.get(entry)
    if (cached !== undefined || this.#headerParams.has(entry)) return cached
    const read = parseParamHeaders(entry.value.inputSchema)
    this.#headerParams.set(entry, read)
    return read
  }

  /** Returns the cached view; undefined before the first list. */
  getCachedView(kind: Kind, session: Session): View | undefined {
    return this.#cachedViews.get(this.#getViewKey(kind, session))?.view
  }

  /** True if an upstream has listed any entry of this kind that the viewer may see. */
  hasVisibleEntries(kind: Kind, viewer: ProfileViewer, upstream: string): boolean {
    const node = this.#graph.upstreams.get(upstream)
    const entries = node && this.#lists.getLastKnown(node, kind, this.#getViewKey(kind, viewer))?.entries
    return entries !== undefined && this.#isAnySeen(entries, kind, viewer)
  }

  #isAnySeen(entries: readonly CatalogEntry[], kind: Kind, viewer: ProfileViewer): boolean {
    return this.#runCatalogTaps(entries, kind, viewer).some(entry => entry.refusal === undefined)
  }

  /** Returns all entries listed so far, with this viewer's form of each. Sends no request. */
  collectKnownEntries(kind: Kind, viewer: ProfileViewer): readonly KnownEntry[] {
    return [...this.#graph.upstreams.values()].flatMap(node => {
      const { entries = [] } = this.#lists.getLastKnown(node, kind) ?? {}
      const visible = new Map(this.#runCatalogTaps(entries, kind, viewer).map(entry => [entry.original, entry]))
      return entries.map(entry => ({ entry, visible: visible.get(entry.original) }))
    })
  }

  /** True if a client may have seen another view of this kind: a partial or an evicted one. */
  isDoubtful(kind: Kind): boolean {
    return this.#hasForgotten || this.#partial.has(kind)
  }

  /** Builds the view from the current lists; upstreams that are down are left out. */
  async load(kind: Kind, session: Session, only?: readonly string[]): Promise<View> {
    const names = [...this.#graph.upstreams.keys()].filter(name => only?.includes(name) ?? true)
    const isWhole = this.#isWhole(names)
    // Compute the key before loading: a session may switch to other connections in the meantime.
    const key = this.#getViewKey(kind, session) + (isWhole ? '' : JSON.stringify({ names }))
    const settled = await Promise.all(names.map(name => this.#recordGiven(name, kind, session)))
    if (!isWhole) this.#partial.add(kind)
    return this.#getView(key, kind, session, settled)
  }

  async #recordGiven(name: string, kind: Kind, session: Session): Promise<UpstreamList | undefined> {
    const part = await this.getList(name, kind, session)
    const key = `${kind} ${name}`
    const digest = (part ?? EMPTY_LIST).digest
    const previous = this.#givenDigests.get(key)
    this.#givenDigests.set(key, previous === undefined || previous === digest ? digest : MIXED_DIGEST)
    return part
  }

  /** Lists an upstream again, and compares the result with the list given to readers. */
  async findChange(kind: Kind, name: string): Promise<ListChange | undefined> {
    const node = this.#graph.upstreams.get(name)
    if (node === undefined) return undefined
    const { state, spec } = node.upstream
    if (state !== 'ready' && spec.onFailure === 'keep') return undefined
    const { entries: former = [] } = this.#lists.getLastKnown(node, kind) ?? {}
    const reader = createOnlooker(this.#graph.identity())
    // Do not wake an upstream that went idle.
    const { entries, digest } = (state === 'ready' && (await this.getList(name, kind, reader))) || EMPTY_LIST
    const key = `${kind} ${name}`
    const previous = this.#givenDigests.get(key)
    if (previous === digest) return undefined
    this.#givenDigests.set(key, digest)
    const all = [...former, ...entries]
    return {
      wasGiven: previous !== undefined,
      isSeenBy: viewer => all.length === 0 || this.#isAnySeen(all, kind, viewer),
    }
  }

  /** True if a list of these upstreams is complete and can be compared with others. */
  #isWhole(upstreams: readonly string[]): boolean {
    return upstreams.length === this.#graph.upstreams.size
  }

  /** Finds an entry by name, waiting only for upstreams declared earlier that could own it. */
  async find(kind: Kind, session: Session, exposed: string): Promise<CatalogEntry | undefined> {
    const key = this.#getViewKey(kind, session)
    const parts = [...this.#graph.upstreams.keys()].map(name => this.getList(name, kind, session))
    const view = Promise.all(parts).then(all => this.#getView(key, kind, session, all))
    view.catch(() => undefined)
    for (const part of parts) {
      const entries = this.#runCatalogTaps((await part)?.entries ?? [], kind, session)
      const entry = entries.find(candidate => hasName(candidate, exposed))
      if (entry !== undefined) return entry
    }
    return (await view).findByName(exposed)
  }

  #getView(key: string, kind: Kind, session: Session, settled: readonly (UpstreamList | undefined)[]): View {
    this.#reportStartingSoon(kind)
    const parts = settled.filter(part => part !== undefined)
    const identity: unknown[] = parts.flatMap<unknown>(({ isStale, payloads }) =>
      isStale === true ? [...payloads, isStale] : payloads,
    )
    const cached = this.#cachedViews.get(key)
    if (cached !== undefined && hasSameMembers(cached.identity, identity)) return cached.view
    const view = this.#makeView(kind, session, parts)
    this.#cachedViews.set(key, { view, identity })
    return view
  }

  async getList(name: string, kind: Kind, session: Session): Promise<UpstreamList | undefined> {
    const node = this.#graph.upstreams.get(name)
    if (node === undefined) return undefined
    try {
      const part = await this.#lists.getList(node, kind, session, this.#getViewKey(kind, session))
      if (part.isStale !== true) this.#reported.delete(name)
      return part
    } catch (error) {
      if (node.upstream.spec.onFailure === 'fail') throw error
      // A stopped upstream is not missing.
      if (node.upstream.state === 'starting') this.#starting.add(name)
      else if (node.upstream.state !== 'stopped') this.#reportStarting(name, kind, error)
      return undefined
    }
  }

  /** Returns the pending first list of a starting upstream, if its grace period has time left. */
  getLateList(node: UpstreamNode): LateList | undefined {
    return this.#lists.getLateList(node)
  }

  /** Problems with an upstream's lists, by kind; undefined if it has none. */
  getListProblems(upstream: string): Readonly<Partial<Record<Kind, string>>> | undefined {
    return this.#lists.getListProblems(upstream)
  }

  /** True if an upstream may have entries of this kind that could not be listed, at all or in time. */
  isMissing(node: UpstreamNode, kind: Kind): boolean {
    return this.#lists.isMissing(node, kind)
  }

  /**
   * Finds a name in lists that are unavailable now: the last listed entry, else a guess if no list was ever received.
   */
  findLastKnown(kind: Kind, session: Session, exposed: string): CatalogEntry | undefined {
    for (const node of this.#graph.upstreams.values()) {
      const isAway = !isUp(node.upstream) || this.isMissing(node, kind)
      // A late list may have arrived in the meantime.
      const lastKnown = this.#lists.getLastKnown(node, kind, this.#getViewKey(kind, session))?.entries
      const entries = this.#runCatalogTaps(
        lastKnown ?? (isAway ? guessEntries(node, kind, exposed) : []),
        kind,
        session,
      )
      const entry = entries.find(candidate => hasName(candidate, exposed))
      if (entry !== undefined) return entry
    }
    return undefined
  }

  /** Returns the entry as the `catalog` taps let this principal see it, listed or not; undefined if they hide it. */
  applyCatalogTaps(entry: CatalogEntry, session: ProfileViewer): CatalogEntry | undefined {
    return this.#runCatalogTaps([entry], entry.kind, session)[0]
  }

  #reportStarting(name: string, kind: Kind, error: unknown): void {
    if (!this.#isNew(name)) return
    const code = error instanceof GatewayError ? error.code : 'GW_INTERNAL'
    this.#graph.log.warn(`upstream "${name}" is missing from the lists`, {
      method: LISTS[kind].method,
      upstream: name,
      code,
      reason: getOwnerReason(error),
    })
  }

  #reportStartingSoon(kind: Kind): void {
    const upstreams = [...this.#starting].filter(name => this.#isNew(name))
    this.#starting.clear()
    if (upstreams.length === 0) return
    this.#graph.log.warn('starting upstreams are missing from the lists', {
      method: LISTS[kind].method,
      upstreams,
    })
  }

  /** Logs each problem once until it is over. */
  #isNew(key: string): boolean {
    if (this.#reported.has(key) || this.#reported.size >= MAX_REPORTED) return false
    this.#reported.add(key)
    return true
  }

  #makeView(kind: Kind, session: Session, parts: readonly UpstreamList[]): View {
    const graph = this.#graph
    const all = parts.flatMap(part => part.entries)
    const entries = this.#runCatalogTaps(all, kind, session)
    const perCaller = graph.judgesEntries && principalKey(session.principal) !== principalKey(ANONYMOUS)
    const stale = parts.flatMap(({ isStale, upstream }) => (isStale === true ? [upstream] : []))
    const view = new View({
      kind,
      entries,
      stale,
      freshness: stale.length === 0 ? computeFreshness(parts, perCaller) : NO_CACHE,
      pageSize: graph.config.lists.pageSize,
      serverInfo: graph.identity(),
      getHeaderParams: entry => this.getHeaderParams(entry),
      cursor: offset => graph.seal.sealValue(offset, bindCursor(kind, session)),
    })
    for (const { entry, owner } of view.withheld) this.#reportWithheld(entry, owner)
    return view
  }

  #runCatalogTaps(entries: readonly CatalogEntry[], kind: EntryKind, session: ProfileViewer): readonly CatalogEntry[] {
    const { principal, profile } = session
    return this.#graph.hooks.getRunner('catalog')?.(entries, { kind, principal, profile }) ?? entries
  }

  #reportWithheld(entry: CatalogEntry, owner: string): void {
    if (!this.#isNew(JSON.stringify(['withheld', entry.kind, entry.upstream, entry.exposed]))) return
    const hint = entry.kind.startsWith('resource')
      ? 'the URI is already used by the upstream that is declared first'
      : 'set a prefix for one of the upstreams, or rename the entry'
    this.#graph.log.warn(
      `${entry.kind} "${entry.exposed}" of upstream "${entry.upstream}" is withheld: upstream "${owner}" already uses the name`,
      { hint },
    )
  }

  #reportUnshown({ entry: { kind, upstream, original, exposed }, why }: RejectedListing): void {
    if (!this.#isNew(JSON.stringify(['unshown', kind, upstream, original, exposed]))) return
    this.#graph.log.warn(`${kind} "${original}" of upstream "${upstream}" cannot be listed as "${exposed}": ${why}`, {
      hint: 'a plugin that rewrites lists chose the name; the entry can still be called by its original name',
    })
  }

  #getViewKey(kind: Kind, session: ProfileViewer): string {
    if (session.profile !== undefined) return writeViewKey(kind, session)
    let keys = this.#viewKeys.get(session.principal)
    if (keys === undefined) this.#viewKeys.set(session.principal, (keys = new Map<Kind, string>()))
    let key = keys.get(kind)
    if (key === undefined) keys.set(kind, (key = writeViewKey(kind, session)))
    return key
  }
}

function hasSameMembers(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((member, index) => member === b[index])
}

function writeViewKey(kind: Kind, session: ProfileViewer): string {
  return `${KINDS.indexOf(kind)}${viewerKey(session)}`
}

function bindCursor(kind: Kind, session: Session): string {
  return JSON.stringify(['cursor', kind, principalKey(session.principal)])
}

/**
 * Checks one capability without merging all of them, as every exchange needs it. An unreached upstream may have any.
 */
function offersCapability({ upstreams }: Graph, capability: string): boolean {
  for (const { upstream } of upstreams.values()) {
    const { server, state } = upstream
    if (server === undefined ? state !== 'stopped' : server.capabilities[capability] !== undefined) return true
  }
  return false
}
