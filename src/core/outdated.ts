import type { Call } from '../api/index.ts'
import { ANONYMOUS, authorizationKey } from '../api/principal.ts'
import { reasonOf } from '../errors/errors.ts'
import type { PipelineCall } from './exchange.ts'
import { findRoute } from './find-route.ts'
import type { Graph } from './graph-types.ts'
import { liveOf } from './kept-upstream.ts'
import { targetOf } from './target.ts'

/**
 * Says why the configuration that runs by now would not make a call that was made by this one, and has waited; undefined where it
 * would. Whoever lets such a call go on asks first: a reload may have taken its server, its name or its caller away.
 */
export async function whyOutdated(call: PipelineCall, graph: Graph): Promise<string | undefined> {
  const now = graph.tasks.graph
  if (now === undefined || now === graph) return undefined
  try {
    if (now.hooks.runner('approval') === undefined) return 'nobody decides about calls any more'
    if (!(await isLetIn(call, now))) return 'its caller is not let in any more'
    return await whyElsewhere(call, graph, now)
  } catch (error) {
    graph.log.warn('a call that waited cannot be compared with the configuration that runs', {
      reason: reasonOf(error),
    })
    return 'the configuration is another one now'
  }
}

/** True for a caller that came over a connection, too: what stays open is asked for its credentials at each reload. */
async function isLetIn({ exchange }: PipelineCall, { hooks }: Graph): Promise<boolean> {
  const { credentials, principal } = exchange
  const find = credentials && hooks.runner('authenticate', credentials.listener)
  if (credentials === undefined || find === undefined) return true
  const found = (await find(credentials)) ?? ANONYMOUS
  return !('status' in found) && authorizationKey(found) === authorizationKey(principal)
}

/** Says what the call would meet, were it made now. */
async function whyElsewhere(
  { upstream, params, exchange }: PipelineCall,
  before: Graph,
  now: Graph,
): Promise<string | undefined> {
  const own = before.upstreams.get(upstream)
  const other = now.upstreams.get(upstream)
  if (own === undefined || other === undefined || liveOf(own.upstream) !== liveOf(other.upstream))
    return 'its server is another one now'
  const route = await findRoute(exchange, now)
  if ('error' in route) return 'its caller is not offered it any more'
  const nameIn = (said: Call['params']): string | undefined => targetOf(exchange.method, said)?.name
  const isSame = route.to === 'one' && route.upstream === upstream && nameIn(route.params) === nameIn(params)
  return isSame ? undefined : 'its name means another thing now'
}
