import { gatewayError, ownerProblemOf } from '../errors/errors.ts'
import { onlooker } from '../core/session.ts'
import type { Graph, UpstreamNode } from '../core/graph-types.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { KINDS, type Kind } from '../protocol/methods.ts'
import { ownPackage } from '../util/version.ts'

/** Descriptions that one server gives of itself and of what it offers, as it writes them. */
export interface Definitions {
  readonly upstream: string
  readonly server: JsonObject
  readonly instructions?: string
  /** Entries by kind; without those that it cannot list. */
  readonly lists: Readonly<Partial<Record<Kind, readonly JsonObject[]>>>
  /** Why a list is missing, or not the newest, by kind. */
  readonly troubles?: Readonly<Partial<Record<Kind, string>>>
}

/**
 * Asks one server, which is started for it, for all that it describes, as an anonymous client would.
 * @throws GatewayError GW_UPSTREAM_DOWN where it cannot be asked.
 */
export async function definitionsOf(node: UpstreamNode, graph: Graph): Promise<Definitions> {
  const { upstream } = node
  await upstream.start()
  const { name, server, state } = upstream
  if (server === undefined || state === 'failed' || state === 'stopped') {
    const why = ownerProblemOf(upstream) ?? `it is ${state}`
    throw gatewayError('GW_UPSTREAM_DOWN', { upstream: name, why })
  }
  const session = onlooker(ownPackage())
  const parts = await Promise.all(
    KINDS.map(async kind => [kind, await graph.catalog.part(name, kind, session)] as const),
  )
  const troubles = graph.catalog.troubles(name)
  return {
    upstream: name,
    server: { ...server.info },
    ...(server.instructions === undefined ? {} : { instructions: server.instructions }),
    lists: Object.fromEntries(
      parts.flatMap(([kind, part]) =>
        part === undefined ? [] : [[kind, part.entries.map(({ value }) => value)]],
      ),
    ),
    ...(troubles === undefined ? {} : { troubles }),
  }
}
