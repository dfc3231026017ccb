import type { Exchange } from '../api/index.ts'
import type { Found, Graph } from './graph-types.ts'

/** The route of an exchange by one configuration, or the error that says why there is none. */
export function findRoute(exchange: Exchange, graph: Graph): Found | Promise<Found> {
  const refused = graph.catalog.refuses(exchange)
  if (refused !== undefined) return { error: refused }
  const decided = graph.hooks.runnersFor(exchange.method).route?.(exchange)
  return decided === undefined ? graph.router.find(exchange) : graph.router.permit(exchange, decided)
}
