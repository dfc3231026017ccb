import { hash } from 'node:crypto'
import type { ListPage } from '../../api/catalog-entry.ts'
import { readListPage } from '../../api/catalog-entry.ts'
import type { Payload } from '../../protocol/payload.ts'
import type { Session, Upstream } from '../../api/index.ts'
import type { Reason } from '../../errors/errors.ts'
import {
  GatewayError,
  describeReason,
  gatewayError,
  getOwnerReason,
  getErrorMessage,
  needsAuth,
} from '../../errors/errors.ts'
import type { Kind } from '../../protocol/methods.ts'
import { LISTS } from '../../protocol/methods.ts'
import { BoundedMap } from '../../util/bounded-map.ts'
import { parseDuration } from '../../util/units.ts'
import { settlesWithin } from '../../util/clock.ts'
import type { PipelineCall } from '../exchange.ts'
import type { Graph, UpstreamNode } from '../graph-types.ts'
import { fetchList, lacksKind, createListCall, MAX_PAGES } from './fetch-lists.ts'
import type { LateList, UpstreamList } from './upstream-list.ts'
import { EMPTY_LIST, describeMalformed, summarizeNames } from './upstream-list.ts'

/**
 * Maximum cached lists of one upstream, in total and per caller. The key includes the kind and the forwarded headers,
 * so one caller may have many.
 */
const LIST_LIMITS = { max: 1024, share: 64 }

/** Maximum entries of one upstream list. */
const MAX_ENTRIES = 10_000

/** Maximum dropped fields that are logged once each. */
const MAX_LOGGED = 1000

/** Parsed page entries; two upstreams may share one page. */
interface ParsedPage {
  readonly upstream: string
  readonly page: ListPage
  readonly digest: string
}

/** One upstream list as one caller sees it. */
interface CachedList {
  lastKnown: UpstreamList | undefined
  pending: Promise<FetchOutcome> | undefined
  failure: Reason | undefined
}

const NEVER = new Promise<never>(() => undefined)

/** Why a list is incomplete, and whether its upstream was up at that time. */
interface ListProblem {
  readonly why: string
  readonly upstream: Upstream
  readonly wasUp: boolean
  /** True if the upstream may have entries that the list lacks. */
  readonly isMissing: boolean
}

type FetchOutcome = { readonly part: UpstreamList } | { readonly error: unknown }

/**
 * Caches each upstream's list per caller, so that no caller waits long for a slow upstream: the last known list is
 * served, even if expired, until the late one arrives.
 */
export class ListCache {
  readonly #graph: Graph
  readonly #lists = new Map<UpstreamNode, BoundedMap<string, CachedList>>()
  readonly #problems = new Map<string, Map<Kind, ListProblem>>()
  /** Parsed entries by page payload, as many callers share one. */
  readonly #parsed = new WeakMap<Payload, ParsedPage>()
  readonly #logged = new Set<string>()
  readonly #waitMs: number

  constructor(graph: Graph) {
    this.#graph = graph
    this.#waitMs = parseDuration(graph.config.lists.wait)
  }

  /** Problems with an upstream's lists, by kind; undefined if it has none. */
  getListProblems(upstream: string): Readonly<Partial<Record<Kind, string>>> | undefined {
    const troubles = [...(this.#problems.get(upstream) ?? [])].filter(([, trouble]) => isCurrent(trouble))
    return troubles.length === 0 ? undefined : Object.fromEntries(troubles.map(([kind, { why }]) => [kind, why]))
  }

  /** True if an upstream may have entries that it could not list, at all or in time. */
  isMissing({ upstream }: UpstreamNode, kind: Kind): boolean {
    return this.#problems.get(upstream.name)?.get(kind)?.isMissing === true
  }

  /** Returns an upstream's last list for this viewer, or for anyone; undefined if it never sent one. */
  getLastKnown(node: UpstreamNode, kind: Kind, viewer?: string): UpstreamList | undefined {
    const shelves = [...(this.#lists.get(node)?.entries() ?? [])].reverse()
    const start = viewer === undefined ? `${kind}\n` : createListKey(kind, viewer)
    return shelves.find(([key, { lastKnown }]) => key.startsWith(start) && lastKnown !== undefined)?.[1].lastKnown
  }

  /**
   * Returns the pending first list of a starting upstream, if its grace period has time left; it is requested when
   * the upstream is up.
   */
  getLateList({ upstream }: UpstreamNode): LateList | undefined {
    const leftMs = this.#graph.grace.getRemaining(upstream)
    if (upstream.server !== undefined || upstream.state !== 'starting' || leftMs <= 0) return undefined
    // Wait as long even if the attempt ends early, but do not retry in a loop.
    const done = upstream.start().then(() => (upstream.state === 'starting' ? NEVER : undefined))
    return { done, leftMs }
  }

  /**
   * Returns one upstream's list; `viewer` is the key of the view that it is for.
   * @throws GatewayError if no list is available.
   */
  async getList(node: UpstreamNode, kind: Kind, session: Session, viewer: string): Promise<UpstreamList> {
    if (lacksKind(node, kind)) return EMPTY_LIST
    const call = createListCall(this.#graph, node, kind, session)
    const shelf = this.#getCachedList(node, kind, viewer, call)
    if (shelf.pending !== undefined) return this.#getFallback(node, kind, shelf)
    const flight = toFetchOutcome(this.#fetch(node, kind, session, call))
    if (await this.#waitForList(node, kind, shelf, flight)) return this.#storeList(node, kind, shelf, await flight)
    shelf.pending = flight
    void flight.then(outcome => this.#storeLateList(node, kind, shelf, outcome))
    return this.#getFallback(node, kind, shelf)
  }

  async #fetch(node: UpstreamNode, kind: Kind, session: Session, call: PipelineCall): Promise<UpstreamList> {
    const payloads = await fetchList(this.#graph, node, kind, session, call)
    if (payloads === undefined) return EMPTY_LIST
    const parsed = payloads.map(payload => this.#readPage(payload, kind, node))
    const pages = parsed.map(({ page }) => page)
    const [only, second] = pages
    const entries = only !== undefined && second === undefined ? only.entries : pages.flatMap(page => page.entries)
    const cut = getTruncationReason(payloads, entries.length)
    const malformed = describeMalformed(pages)
    const dropped = pages.flatMap(page => page.dropped)
    return {
      upstream: node.upstream.name,
      payloads,
      digest: parsed.map(({ digest }) => digest).join(' '),
      entries: entries.length > MAX_ENTRIES ? entries.slice(0, MAX_ENTRIES) : entries,
      ...(cut === undefined ? {} : { cut }),
      ...(malformed === undefined ? {} : { malformed }),
      ...(dropped.length === 0 ? {} : { dropped }),
    }
  }

  #readPage(payload: Payload, kind: Kind, node: UpstreamNode): ParsedPage {
    const upstream = node.upstream.name
    const cached = this.#parsed.get(payload)
    if (cached?.upstream === upstream) return cached
    const page = readListPage(payload, kind, upstream, node.prefix)
    const parsed = { upstream, page, digest: hash('sha256', payload.bytes(), 'base64') }
    this.#parsed.set(payload, parsed)
    return parsed
  }

  /** Waits for a list; true if it arrived in time. A first list has its grace period. */
  #waitForList(
    { upstream }: UpstreamNode,
    kind: Kind,
    { lastKnown }: CachedList,
    flight: Promise<FetchOutcome>,
  ): Promise<boolean> {
    const { grace, clock } = this.#graph
    if (lastKnown !== undefined) return settlesWithin(clock, this.#waitMs, flight)
    // A start fails by itself when its grace is over, with a better reason.
    if (upstream.server === undefined) return settlesWithin(clock, grace.startWaiting(upstream) + 1, flight)
    return settlesWithin(clock, Math.max(grace.startWaiting(upstream, kind), this.#waitMs), flight)
  }

  #storeList(node: UpstreamNode, kind: Kind, shelf: CachedList, outcome: FetchOutcome): UpstreamList {
    if ('error' in outcome) {
      const { lastKnown } = shelf
      if (lastKnown === undefined || !keepsLastList(node, outcome.error)) {
        this.#noteProblem(node, kind, `missing: ${getOwnerReason(outcome.error)}`)
        throw outcome.error
      }
      return this.#markStale(node, kind, lastKnown, getOwnerReason(outcome.error))
    }
    shelf.lastKnown = outcome.part
    shelf.failure = undefined
    this.#noteListProblems(node, kind, outcome.part)
    return outcome.part
  }

  #storeLateList(node: UpstreamNode, kind: Kind, shelf: CachedList, outcome: FetchOutcome): void {
    shelf.pending = undefined
    if ('error' in outcome) return this.#storeLateFailure(node, kind, shelf, outcome.error)
    shelf.failure = undefined
    const isNew = shelf.lastKnown?.digest !== outcome.part.digest
    shelf.lastKnown = outcome.part
    this.#noteListProblems(node, kind, outcome.part)
    if (isNew) this.#graph.notifier.announceListChange(LISTS[kind].changed, node.upstream.name)
  }

  /** Logs each reason once: the caller only received a timeout. */
  #storeLateFailure(node: UpstreamNode, kind: Kind, shelf: CachedList, error: unknown): void {
    const { name } = node.upstream
    const reason = getOwnerReason(error)
    if (shelf.failure === undefined || reason !== describeReason(shelf.failure))
      this.#graph.log.warn(`slow list request to upstream "${name}" failed`, {
        method: LISTS[kind].method,
        upstream: name,
        reason,
      })
    shelf.failure = {
      why: getErrorMessage(error),
      detail: error instanceof GatewayError ? error.detail : undefined,
    }
    this.#noteProblem(node, kind, reason)
  }

  /** Returns the last known list in place of a pending one; throws if there is none. */
  #getFallback(node: UpstreamNode, kind: Kind, { lastKnown, failure }: CachedList): UpstreamList {
    const reason = failure ?? { why: `${LISTS[kind].method} is too slow` }
    if (lastKnown !== undefined) return this.#markStale(node, kind, lastKnown, describeReason(reason))
    this.#noteProblem(node, kind, `missing: ${describeReason(reason)}`)
    throw gatewayError('GW_UPSTREAM_DOWN', { upstream: node.upstream.name, ...reason })
  }

  #markStale(node: UpstreamNode, kind: Kind, lastKnown: UpstreamList, reason: string): UpstreamList {
    const { name, state } = node.upstream
    if (state !== 'stopped' && this.#problems.get(name)?.has(kind) !== true)
      this.#graph.log.warn(`using the last known list of upstream "${name}"`, {
        method: LISTS[kind].method,
        upstream: name,
        reason,
      })
    this.#noteProblem(node, kind, `out of date: ${reason}`)
    return { ...lastKnown, isStale: true }
  }

  #noteProblem({ upstream }: UpstreamNode, kind: Kind, why: string, isMissing = true): void {
    let troubles = this.#problems.get(upstream.name)
    if (troubles === undefined) this.#problems.set(upstream.name, (troubles = new Map<Kind, ListProblem>()))
    troubles.set(kind, { why, upstream, wasUp: upstream.state === 'ready', isMissing })
  }

  /** Clears the problem unless the list is truncated or malformed. */
  #noteListProblems(node: UpstreamNode, kind: Kind, { cut, malformed, dropped }: UpstreamList): void {
    if (dropped !== undefined) this.#logDropped(node, kind, dropped)
    if (cut === undefined && malformed === undefined) return this.#clearProblem(node, kind)
    const { name } = node.upstream
    const previousReason = this.#problems.get(name)?.get(kind)?.why
    const reason = [cut, malformed].filter(part => part !== undefined).join('; ')
    const fields = { method: LISTS[kind].method, upstream: name }
    if (previousReason !== reason && cut !== undefined)
      this.#graph.log.warn(`a list from upstream "${name}" is truncated`, {
        ...fields,
        reason: cut,
        hint: "reduce the server's list, or split the server into two upstreams",
      })
    if (previousReason !== reason && malformed !== undefined)
      this.#graph.log.warn(`a list from upstream "${name}" is malformed`, { ...fields, reason: malformed })
    this.#noteProblem(node, kind, reason, cut !== undefined)
  }

  #logDropped({ upstream: { name } }: UpstreamNode, kind: Kind, dropped: readonly string[]): void {
    const reason = summarizeNames(dropped)
    const key = JSON.stringify([name, kind, reason])
    if (this.#logged.has(key) || this.#logged.size >= MAX_LOGGED) return
    this.#logged.add(key)
    this.#graph.log.warn(`dropped malformed fields in a list from upstream "${name}"`, {
      method: LISTS[kind].method,
      upstream: name,
      reason,
    })
  }

  #clearProblem({ upstream }: UpstreamNode, kind: Kind): void {
    const troubles = this.#problems.get(upstream.name)
    if (troubles?.delete(kind) === true && troubles.size === 0) this.#problems.delete(upstream.name)
  }

  #getCachedList(node: UpstreamNode, kind: Kind, viewer: string, { headers }: PipelineCall): CachedList {
    let shelves = this.#lists.get(node)
    if (shelves === undefined) this.#lists.set(node, (shelves = new BoundedMap<string, CachedList>(LIST_LIMITS)))
    const sent = Object.keys(headers).length === 0 ? '' : JSON.stringify(headers)
    const key = `${createListKey(kind, viewer)}${sent}`
    const cached = shelves.use(key)
    if (cached !== undefined) return cached
    const shelf: CachedList = { lastKnown: undefined, pending: undefined, failure: undefined }
    shelves.set(key, shelf, viewer)
    return shelf
  }
}

/** False if the upstream has started since: its lists are requested again. */
function isCurrent({ upstream, wasUp }: ListProblem): boolean {
  return wasUp || upstream.state !== 'ready'
}

function createListKey(kind: Kind, viewer: string): string {
  return `${kind}\n${viewer}\n`
}

function toFetchOutcome(work: Promise<UpstreamList>): Promise<FetchOutcome> {
  return work.then(
    part => ({ part }),
    (error: unknown) => ({ error }),
  )
}

/** Returns why a list is truncated; undefined if complete. */
export function getTruncationReason(payloads: readonly Payload[], entries: number): string | undefined {
  if (entries > MAX_ENTRIES) return `limited to the first ${MAX_ENTRIES} of ${entries} entries`
  const isMore = payloads.length === MAX_PAGES && typeof payloads.at(-1)?.value().nextCursor === 'string'
  return isMore ? `limited to the first ${MAX_PAGES} pages` : undefined
}

/** True if the last known list is used: a login problem removes no entries. */
function keepsLastList({ upstream }: UpstreamNode, error: unknown): boolean {
  const { onFailure } = upstream.spec
  return onFailure === 'keep' || (onFailure === 'omit' && needsAuth(error))
}
