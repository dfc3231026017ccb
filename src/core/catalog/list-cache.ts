import type { Session } from '../../api/index.ts'
import { gatewayError, reasonOf } from '../../errors/errors.ts'
import { type Kind, LISTS } from '../../protocol/methods.ts'
import { parseDuration } from '../../util/units.ts'
import { within } from '../../util/within.ts'
import type { PipelineCall } from '../exchange.ts'
import type { Graph, UpstreamNode } from '../types.ts'
import { fetchPart, lacks, listCall } from './fetch-lists.ts'
import { EMPTY, type LateList, type Part } from './part.ts'

/** Lists kept of one upstream: by kind, caller, and what was sent along. */
const MAX_SHELVES = 1024

/** One list of one upstream, as one caller sees it. */
interface Shelf {
  /** As it was listed last. */
  known: Part | undefined
  /** The list that took too long and is on its way still. */
  late: Promise<Outcome> | undefined
  /** Since when no list has come that anybody could use. */
  lateSince: number | undefined
  /** Why the last one that took too long was not taken in the end. */
  failure: string | undefined
}

const NEVER = new Promise<never>(() => undefined)

type Outcome = { readonly part: Part } | { readonly error: unknown }

/**
 * What each upstream lists, without waiting long for a slow one: what is late is used when it arrives, and what was
 * known last in the meantime.
 */
export class Parts {
  readonly #graph: Graph
  readonly #shelves = new Map<UpstreamNode, Map<string, Shelf>>()
  readonly #troubles = new Map<string, Map<Kind, string>>()
  readonly #waitMs: number

  constructor(graph: Graph) {
    this.#graph = graph
    this.#waitMs = parseDuration(graph.config.lists.wait)
  }

  /** What is amiss with an upstream's lists, by kind; undefined when nothing is. */
  troubles(upstream: string): Readonly<Partial<Record<Kind, string>>> | undefined {
    const troubles = this.#troubles.get(upstream)
    return troubles === undefined ? undefined : Object.fromEntries(troubles)
  }

  /** Whether an upstream may have things that it could not list in time, or at all. */
  isMissing({ upstream }: UpstreamNode, kind: Kind): boolean {
    return this.#troubles.get(upstream.name)?.has(kind) === true
  }

  /** What an upstream listed to this caller last; undefined when it never did. */
  lastKnown(node: UpstreamNode, kind: Kind, caller: string): Part | undefined {
    const shelves = [...(this.#shelves.get(node) ?? [])].reverse()
    return shelves.find(
      ([key, { known }]) => key.startsWith(`${kind}\n${caller}\n`) && known !== undefined,
    )?.[1].known
  }

  /** A first list of an upstream that is late, as one caller sees it; undefined where none is, or its grace is over. */
  late(node: UpstreamNode, kind: Kind, caller: string): LateList | undefined {
    const list = this.#starting(node) ?? this.#lateList(node, kind, caller)
    return list !== undefined && list.leftMs > 0 ? list : undefined
  }

  /** One that starts has no list on its way: it is asked when it is up. */
  #starting({ upstream }: UpstreamNode): LateList | undefined {
    if (upstream.server !== undefined || upstream.state !== 'starting') return undefined
    // Whoever says too early that it has tried is waited for no less, but not asked over and over.
    const tried = upstream.start().then(() => (upstream.state === 'starting' ? NEVER : undefined))
    return { done: tried, leftMs: this.#graph.grace.left(upstream) }
  }

  #lateList(node: UpstreamNode, kind: Kind, caller: string): LateList | undefined {
    const { clock, grace } = this.#graph
    for (const [key, { known, late, lateSince }] of this.#shelves.get(node) ?? []) {
      if (late === undefined || known !== undefined || !key.startsWith(`${kind}\n${caller}\n`)) continue
      return { done: late, leftMs: grace.ms - (clock.now() - (lateSince ?? 0)) }
    }
    return undefined
  }

  /**
   * One upstream's list; `caller` says whose view it is for.
   * @throws GatewayError when there is none to give.
   */
  async take(node: UpstreamNode, kind: Kind, session: Session, caller: string): Promise<Part> {
    if (lacks(node, kind)) {
      this.#graph.grace.listed(kind)
      return EMPTY
    }
    const call = listCall(this.#graph, node, kind, session)
    const shelf = this.#shelf(node, kind, caller, call)
    if (shelf.late !== undefined) return this.#meanwhile(node, kind, shelf)
    const flight = settled(fetchPart(this.#graph, node, kind, session, call))
    if (await this.#waits(node, kind, shelf, flight)) return this.#arrived(node, kind, shelf, await flight)
    shelf.late = flight
    shelf.lateSince ??= this.#graph.clock.now()
    void flight.then(outcome => this.#cameLate(node, kind, shelf, outcome))
    return this.#meanwhile(node, kind, shelf)
  }

  /** Waits for a list; true when it came in time. One of an upstream that starts has its grace on top. */
  #waits(
    { upstream }: UpstreamNode,
    kind: Kind,
    { known }: Shelf,
    flight: Promise<Outcome>,
  ): Promise<boolean> {
    const { grace, clock } = this.#graph
    if (known !== undefined) return within(clock, this.#waitMs, flight)
    if (upstream.server === undefined) return grace.within(flight, kind, { extra: this.#waitMs + 1 })
    return grace.within(flight, kind, { longest: Math.max(grace.ms, this.#waitMs) })
  }

  #arrived(node: UpstreamNode, kind: Kind, shelf: Shelf, outcome: Outcome): Part {
    if ('error' in outcome) {
      const { known } = shelf
      if (known === undefined || node.upstream.spec.onFailure !== 'keep') {
        this.#note(node, kind, `left out: ${reasonOf(outcome.error)}`)
        throw outcome.error
      }
      return this.#stale(node, kind, known, reasonOf(outcome.error))
    }
    shelf.known = outcome.part
    shelf.failure = undefined
    shelf.lateSince = undefined
    this.#isWell(node, kind)
    this.#graph.grace.listed(kind)
    return outcome.part
  }

  #cameLate(node: UpstreamNode, kind: Kind, shelf: Shelf, outcome: Outcome): void {
    shelf.late = undefined
    if ('error' in outcome) return this.#failedLate(node, kind, shelf, reasonOf(outcome.error))
    shelf.failure = undefined
    shelf.lateSince = undefined
    const isNew = shelf.known === undefined || !isSame(shelf.known, outcome.part)
    shelf.known = outcome.part
    this.#isWell(node, kind)
    if (isNew) this.#graph.notifier.listChanged(LISTS[kind].changed, node.upstream.name)
  }

  /** Says each reason once: whoever asked has been told only that it takes long. */
  #failedLate(node: UpstreamNode, kind: Kind, shelf: Shelf, why: string): void {
    const { name } = node.upstream
    if (why !== shelf.failure)
      this.#graph.log.warn(`a list of upstream "${name}" took long, and failed then`, {
        method: LISTS[kind].method,
        upstream: name,
        reason: why,
      })
    shelf.failure = why
    this.#note(node, kind, why)
  }

  /** What stands in for a list that is on its way. */
  #meanwhile(node: UpstreamNode, kind: Kind, { known, failure }: Shelf): Part {
    const why = failure ?? `${LISTS[kind].method} takes longer than others should wait`
    if (known !== undefined) return this.#stale(node, kind, known, why)
    this.#note(node, kind, `left out: ${why}`)
    throw gatewayError('GW_UPSTREAM_DOWN', { upstream: node.upstream.name, why })
  }

  #stale(node: UpstreamNode, kind: Kind, known: Part, why: string): Part {
    const { name, state } = node.upstream
    if (state !== 'stopped' && this.#troubles.get(name)?.has(kind) !== true)
      this.#graph.log.warn(`the last known list of upstream "${name}" is used`, {
        method: LISTS[kind].method,
        upstream: name,
        reason: why,
      })
    this.#note(node, kind, `as it was last known: ${why}`)
    return { ...known, isStale: true }
  }

  #note({ upstream }: UpstreamNode, kind: Kind, why: string): void {
    let troubles = this.#troubles.get(upstream.name)
    if (troubles === undefined) this.#troubles.set(upstream.name, (troubles = new Map<Kind, string>()))
    troubles.set(kind, why)
  }

  #isWell({ upstream }: UpstreamNode, kind: Kind): void {
    const troubles = this.#troubles.get(upstream.name)
    if (troubles?.delete(kind) === true && troubles.size === 0) this.#troubles.delete(upstream.name)
  }

  #shelf(node: UpstreamNode, kind: Kind, caller: string, { headers }: PipelineCall): Shelf {
    let shelves = this.#shelves.get(node)
    if (shelves === undefined) this.#shelves.set(node, (shelves = new Map<string, Shelf>()))
    const sent = Object.keys(headers).length === 0 ? '' : JSON.stringify(headers)
    const key = `${kind}\n${caller}\n${sent}`
    const shelf = shelves.get(key) ?? emptyShelf()
    shelves.delete(key)
    shelves.set(key, shelf)
    const oldest = shelves.keys().next().value
    if (shelves.size > MAX_SHELVES && oldest !== undefined) shelves.delete(oldest)
    return shelf
  }
}

function emptyShelf(): Shelf {
  return { known: undefined, late: undefined, lateSince: undefined, failure: undefined }
}

function settled(work: Promise<Part>): Promise<Outcome> {
  return work.then(
    part => ({ part }),
    (error: unknown) => ({ error }),
  )
}

function isSame(one: Part, other: Part): boolean {
  if (one.entries === other.entries) return true
  return JSON.stringify(values(one)) === JSON.stringify(values(other))
}

function values({ entries }: Part): unknown[] {
  return entries.map(({ value }) => value)
}
