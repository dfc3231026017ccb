import type { Upstream, UpstreamStatus } from '../api/index.ts'
import { hideIn } from '../util/secrets.ts'
import type { Graph } from './types.ts'

/** One upstream as people see it. */
export function statusOf(upstream: Upstream, { hooks, catalog, hide }: Graph): UpstreamStatus {
  const lists = catalog.troubles(upstream.name)
  const status = lists === undefined ? ownStatus(upstream) : { ...ownStatus(upstream), lists }
  return hideIn(hooks.runner('status')?.(status, upstream) ?? status, hide)
}

function ownStatus(upstream: Upstream): UpstreamStatus {
  const { name, spec, state, problem, pid, server, dropped, degraded, runtime } = upstream
  return {
    name,
    type: spec.type,
    state,
    ...(upstream.isRemembered === true ? { remembered: true as const } : {}),
    ...(problem === undefined ? {} : { problem }),
    ...(pid === undefined ? {} : { pid }),
    ...(dropped === undefined ? {} : { dropped }),
    ...(degraded === undefined ? {} : { degraded }),
    ...(runtime === undefined ? {} : { runtime }),
    ...(server === undefined
      ? {}
      : {
          era: server.era,
          version: server.version,
          server: { name: server.info.name, version: server.info.version },
        }),
  }
}
