import { gatewayError } from '../errors.ts'
import { servesTasks } from '../protocol/era/tasks.ts'
import { LISTS, type Kind } from '../protocol/methods.ts'
import type { Payload } from '../protocol/payload.ts'
import { RPC } from '../protocol/rpc-error.ts'
import { parseDuration } from '../util/units.ts'
import { entriesOf, type CatalogEntry } from './catalog-entry.ts'
import { cannotAsk } from './ask-client.ts'
import { RoadCall, RoadExchange, type Carrier } from './exchange.ts'
import type { Graph, UpstreamNode } from './graph.ts'
import type { Session } from './ports.ts'

/** Pages asked of one upstream for one list, and entries taken from it. */
const MAX_PAGES = 64
const MAX_ENTRIES = 10_000

/** One upstream's list, all pages. */
export interface Part {
  readonly payloads: readonly Payload[]
  readonly entries: readonly CatalogEntry[]
}

const EMPTY: Part = { payloads: [], entries: [] }

/** The parsed entries of payloads, kept as long as somebody keeps the payloads. */
const parsed = new WeakMap<Payload, CatalogEntry[]>()

/**
 * Asks one upstream for one list. Waits at most `lists.grace` for an upstream that is still starting.
 * @throws GatewayError when it cannot be asked.
 */
export async function fetchPart(
  graph: Graph,
  node: UpstreamNode,
  kind: Kind,
  session: Session,
): Promise<Part> {
  await ready(graph, node)
  if (!offers(node, kind)) return EMPTY
  const payloads = await fetchPages(graph, node, kind, session)
  const entries =
    payloads.length === 1
      ? entriesIn(payloads[0] as Payload, kind, node)
      : payloads.flatMap(page => entriesIn(page, kind, node))
  return { payloads, entries: entries.length > MAX_ENTRIES ? entries.slice(0, MAX_ENTRIES) : entries }
}

function entriesIn(payload: Payload, kind: Kind, node: UpstreamNode): CatalogEntry[] {
  let entries = parsed.get(payload)
  if (entries === undefined) {
    entries = entriesOf(payload, kind, node.upstream.name, node.prefix)
    if (kind === 'tools' && mayBeTasks(node)) entries = entries.map(asOptional)
    parsed.set(payload, entries)
  }
  return entries
}

/** A modern server decides by itself what becomes a task, so any of its tools may (2026-07-28, tasks extension). */
function mayBeTasks({ upstream: { server } }: UpstreamNode): boolean {
  return server?.era === 'modern' && servesTasks(server)
}

function asOptional(entry: CatalogEntry): CatalogEntry {
  return { ...entry, value: { ...entry.value, execution: { taskSupport: 'optional' } } }
}

/** Resolves when the upstream has been spoken to, or when waiting longer would make others wait for it. */
async function ready(graph: Graph, node: UpstreamNode): Promise<void> {
  if (node.upstream.server !== undefined || node.upstream.state === 'stopped') return
  const graceMs = parseDuration(graph.config.lists.grace)
  await within(graph, graceMs, node.upstream.start())
  if (node.upstream.server !== undefined) return
  const why = node.upstream.problem ?? `still starting after ${graceMs} ms`
  throw gatewayError('GW_UPSTREAM_DOWN', { upstream: node.upstream.name, why })
}

function within(graph: Graph, ms: number, work: Promise<void>): Promise<void> {
  return new Promise(resolve => {
    const cancel = graph.clock.after(ms, resolve)
    void work.then(() => {
      cancel()
      resolve()
    })
  })
}

function offers(node: UpstreamNode, kind: Kind): boolean {
  return node.upstream.server?.capabilities[LISTS[kind].capability] !== undefined
}

async function fetchPages(
  graph: Graph,
  node: UpstreamNode,
  kind: Kind,
  session: Session,
): Promise<Payload[]> {
  const payloads: Payload[] = []
  let cursor: unknown
  for (let page = 0; page < MAX_PAGES; page++) {
    const payload = await fetchPage(graph, node, kind, session, cursor)
    if (payload === undefined) break
    payloads.push(payload)
    cursor = payload.value().nextCursor
    if (typeof cursor !== 'string') break
  }
  return payloads
}

async function fetchPage(
  graph: Graph,
  node: UpstreamNode,
  kind: Kind,
  session: Session,
  cursor: unknown,
): Promise<Payload | undefined> {
  const { method } = LISTS[kind]
  const call = new RoadCall(
    node.upstream.name,
    method,
    cursor === undefined ? undefined : { cursor },
    detached(graph, session, method),
  )
  graph.hooks.runner('call', method)?.(call)
  const answer = await node.dispatch(call)
  if ('result' in answer) return answer.result
  const error = 'error' in answer ? answer.error : undefined
  // A server may advertise resources and have no templates: an unknown list method is an empty list.
  if (error?.code === RPC.methodNotFound) return undefined
  throw gatewayError('GW_UPSTREAM_PROTOCOL', {
    upstream: node.upstream.name,
    why: `${method} failed: ${error?.message ?? 'it asks for input'}`,
  })
}

/** An exchange of our own in somebody's session: many callers may wait for it, so none of them can cancel it. */
export function detached(graph: Graph, session: Session, method: string): RoadExchange {
  return new RoadExchange(
    graph.nextId(),
    session,
    { method, params: undefined, emit: () => undefined },
    SILENT,
    graph.clock.now(),
  )
}

/** Nobody waits for what is told on the way to a list, and nobody can be asked. */
const SILENT: Carrier = { emit: () => undefined, ask: (_exchange, ask) => Promise.resolve(cannotAsk(ask)) }
