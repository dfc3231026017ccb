import type { Upstream, UpstreamStatus } from '../api/index.ts'
import { ownerProblemOf } from '../errors/errors.ts'
import { hideIn } from '../util/secrets.ts'
import type { Graph } from './graph-types.ts'

/** Tells whether a call can be made: an idle upstream starts for it. */
export function isUp({ state }: Upstream): boolean {
  return state === 'ready' || state === 'idle'
}

/** One upstream as people see it. */
export function statusOf(upstream: Upstream, { hooks, catalog, hide }: Graph): UpstreamStatus {
  const lists = catalog.troubles(upstream.name)
  const status = lists === undefined ? ownStatus(upstream) : { ...ownStatus(upstream), lists }
  return hideIn(hooks.runner('status')?.(status, upstream) ?? status, hide)
}

function ownStatus(upstream: Upstream): UpstreamStatus {
  const { name, spec, state, pid, server, dropped, degraded, runtime } = upstream
  const problem = ownerProblemOf(upstream)
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
