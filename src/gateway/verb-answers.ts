import { gatewayError, getErrorMessage, getOwnerProblem } from '../errors/errors.ts'
import { createListCall, fetchList } from '../core/catalog/fetch-lists.ts'
import { getTruncationReason } from '../core/catalog/list-cache.ts'
import { createOnlooker } from '../core/session.ts'
import type { Graph, UpstreamNode } from '../core/graph-types.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { filterObjects } from '../protocol/json/json.ts'
import type { EntryKind } from '../protocol/methods.ts'
import { KINDS } from '../protocol/methods.ts'
import { readOwnPackage } from '../util/version.ts'
import type { KnownEntry } from '../core/catalog/catalog.ts'
import type { RuntimeGraph } from '../core/generation-graph.ts'
import { estimateTokens } from '../util/units.ts'
import { redactValue } from '../util/secrets.ts'

/** A server's descriptions of itself and its features, unmodified. */
interface ServerDefinitions {
  readonly upstream: string
  readonly server: JsonObject
  readonly instructions?: string
  /** Entries by kind; without kinds that it cannot list. */
  readonly lists: Readonly<Partial<Record<EntryKind, readonly JsonObject[]>>>
  /** Why a list is missing or outdated, by kind. */
  readonly troubles?: Readonly<Partial<Record<EntryKind, string>>>
}

/**
 * Requests all descriptions from one server, as an anonymous client; starts it if necessary.
 * @throws GatewayError GW_UPSTREAM_DOWN if it is unreachable.
 */
export async function fetchDefinitions(node: UpstreamNode, graph: Graph): Promise<ServerDefinitions> {
  const { upstream } = node
  await upstream.start()
  const { name, server, state } = upstream
  if (server === undefined || state === 'failed' || state === 'stopped') {
    const reason = getOwnerProblem(upstream) ?? `status: ${state}`
    throw gatewayError('GW_UPSTREAM_DOWN', { upstream: name, why: reason })
  }
  const session = createOnlooker(readOwnPackage())
  const parts = await Promise.all(
    KINDS.map(async kind => [kind, await graph.catalog.getList(name, kind, session)] as const),
  )
  const { skills, trouble } = await fetchSkills(node, graph)
  const known = graph.catalog.getListProblems(name)
  const troubles = trouble === undefined ? known : { ...known, skills: trouble }
  return {
    upstream: name,
    server: { ...server.info },
    ...(server.instructions === undefined ? {} : { instructions: server.instructions }),
    lists: {
      ...Object.fromEntries(
        parts.flatMap(([kind, part]) => (part === undefined ? [] : [[kind, part.entries.map(({ value }) => value)]])),
      ),
      ...(skills === undefined ? {} : { skills }),
    },
    ...(troubles === undefined ? {} : { troubles }),
  }
}

/** Requests the skills, which the catalog does not store. */
async function fetchSkills(node: UpstreamNode, graph: Graph) {
  const session = createOnlooker(readOwnPackage())
  try {
    const pages = await fetchList(graph, node, 'skills', session, createListCall(graph, node, 'skills', session))
    if (pages === undefined) return {}
    const skills = pages.flatMap(page => filterObjects(page.value().skills))
    return { skills, trouble: getTruncationReason(pages, skills.length) }
  } catch (error) {
    return { trouble: getErrorMessage(error) }
  }
}

/** A server's listed entry, as an anonymous client sees it. */
export interface KnownEntryRow {
  readonly kind: string
  /** Name for clients; for a hidden entry, its name without any rule. */
  readonly name: string
  readonly upstream: string
  readonly original: string
  /** Server description, as clients see it. */
  readonly value: JsonObject
  /** True if an anonymous client sees it in its list. */
  readonly isShown: boolean
  /** Why calls are rejected. */
  readonly withheld?: string
}

/** Handles the verb `catalogue.list`: all entries listed so far. Sends no request and starts no server. */
export function listKnownEntries(graph: RuntimeGraph, { kind }: JsonObject): { readonly entries: KnownEntryRow[] } {
  const kinds = KINDS.filter(one => kind === undefined || kind === one)
  if (kinds.length === 0)
    throw gatewayError('GW_VERB_PARAMS', {
      verb: 'catalogue.list',
      why: `"kind" must be one of ${KINDS.join(', ')}`,
    })
  const viewer = createOnlooker(readOwnPackage())
  return { entries: kinds.flatMap(one => graph.catalog.collectKnownEntries(one, viewer).map(createKnownRow)) }
}

function createKnownRow({ entry, visible }: KnownEntry): KnownEntryRow {
  const { kind, exposed, upstream, original, value } = visible ?? entry
  const { refusal } = visible ?? {}
  return {
    ...{ kind, name: exposed, upstream, original, value },
    isShown: visible !== undefined && refusal === undefined,
    ...(refusal === undefined ? {} : { withheld: refusal.message }),
  }
}

/** One tool as a client sees it. */
interface ShownToolRow {
  /** Original name. */
  readonly name: string
  readonly upstream: string
  /** Displayed name, if different. */
  readonly shown?: string
}

/** Lists the tools that a client of this name sees without authentication, and the hidden ones that it could call. */
export async function listShownTools(graph: Graph, params: JsonObject): Promise<object> {
  const { client, profile } = params
  const info = { name: typeof client === 'string' ? client : 'unknown', version: '' }
  const viewer = typeof profile === 'string' ? { profile } : {}
  const session = createOnlooker(info, viewer)
  const view = await graph.catalog.load('tools', session)
  const { view: listedView } = graph.catalog.listings.getListedView(view, session)
  const tools: ShownToolRow[] = listedView.entries.map(entry => {
    const name = view.findSource(entry)?.exposed ?? entry.exposed
    return { name, upstream: entry.upstream, ...(name === entry.exposed ? {} : { shown: entry.exposed }) }
  })
  const visibleNames = new Set(tools.map(({ name }) => name))
  const hidden = view.entries.filter(({ exposed }) => !visibleNames.has(exposed))
  const tokens = listedView.entries.reduce(
    (sum, { exposed, value }) => sum + estimateTokens(JSON.stringify({ ...value, name: exposed })),
    0,
  )
  return {
    tools,
    count: tools.length,
    tokens,
    hidden: hidden.map(({ exposed, upstream }) => ({ name: exposed, upstream })),
  }
}

/** Limit for tasks in one answer. */
const MAX_COUNT = 1000

/** Lists calls that continue as gateway tasks, for all callers, newest first. */
export function listHostedTasks({ tasks, hide }: Graph, { limit = MAX_COUNT }: JsonObject): object {
  const count = Number(limit)
  return { tasks: redactValue(tasks.listAll().slice(0, count > 0 ? count : MAX_COUNT), hide) }
}

/**
 * Cancels a task for the gateway's owner. Returns counters, because several processes are asked and one has the task.
 * @throws GatewayError GW_VERB_PARAMS if no task is given.
 */
export function cancelHostedTask({ tasks }: Graph, { task }: JsonObject): object {
  if (typeof task !== 'string')
    throw gatewayError('GW_VERB_PARAMS', { verb: 'tasks.cancel', why: '"task" must be a task id' })
  const cancelled = tasks.cancelTask(task, 'cancelled by the gateway owner')
  return { found: cancelled === undefined ? 0 : 1, cancelled: cancelled === true ? 1 : 0 }
}
