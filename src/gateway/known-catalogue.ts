import type { KnownEntry } from '../core/catalog/catalog.ts'
import type { RuntimeGraph } from '../core/graph.ts'
import { onlooker } from '../core/session.ts'
import { gatewayError } from '../errors/errors.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { KINDS } from '../protocol/methods.ts'
import { ownPackage } from '../util/version.ts'

/** One thing that a server has listed, as an anonymous client sees it. */
export interface KnownRow {
  readonly kind: string
  /** Name for clients; where they do not see it, the one that it would have without any rule. */
  readonly name: string
  readonly upstream: string
  readonly original: string
  /** Description of the server, as clients see it. */
  readonly value: JsonObject
  /** True where an anonymous client has it in its list. */
  readonly isShown: boolean
  /** Why calls of it are refused. */
  readonly withheld?: string
}

/** Answers the verb `catalogue.list`: all that servers have listed so far. No server is asked, and none is started. */
export function knownIn(graph: RuntimeGraph, { kind }: JsonObject): { readonly entries: KnownRow[] } {
  const kinds = KINDS.filter(one => kind === undefined || kind === one)
  if (kinds.length === 0)
    throw gatewayError('GW_VERB_PARAMS', {
      verb: 'catalogue.list',
      why: `"kind" is one of ${KINDS.join(', ')}`,
    })
  const viewer = onlooker(ownPackage())
  return { entries: kinds.flatMap(one => graph.catalog.known(one, viewer).map(rowOf)) }
}

function rowOf({ entry, seen }: KnownEntry): KnownRow {
  const { kind, exposed, upstream, original, value } = seen ?? entry
  const { refusal } = seen ?? {}
  return {
    ...{ kind, name: exposed, upstream, original, value },
    isShown: seen !== undefined && refusal === undefined,
    ...(refusal === undefined ? {} : { withheld: refusal.message }),
  }
}
