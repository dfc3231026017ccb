import type { Call, Session, Upstream, UpstreamConfig, UpstreamStatus } from '../api/index.ts'
import { ownerProblemOf } from '../errors/errors.ts'
import { hideIn } from '../util/secrets.ts'
import type { Graph } from './graph-types.ts'

/**
 * A server that goes on under the next generation, whose spec differs in what only the core and plugins read of it. Each
 * generation sees its own spec; what runs is the same.
 */
export class KeptUpstream implements Upstream {
  readonly name: string
  readonly spec: UpstreamConfig
  readonly live: Upstream

  constructor(live: Upstream, spec: UpstreamConfig) {
    this.name = live.name
    this.spec = spec
    this.live = live
  }

  get state(): Upstream['state'] {
    return this.live.state
  }

  get problem(): Upstream['problem'] {
    return this.live.problem
  }

  get problemDetail(): Upstream['problemDetail'] {
    return this.live.problemDetail
  }

  get server(): Upstream['server'] {
    return this.live.server
  }

  get pid(): Upstream['pid'] {
    return this.live.pid
  }

  get dropped(): Upstream['dropped'] {
    return this.live.dropped
  }

  get runtime(): Upstream['runtime'] {
    return this.live.runtime
  }

  get degraded(): Upstream['degraded'] {
    return this.live.degraded
  }

  get logs(): Upstream['logs'] {
    return this.live.logs
  }

  get memory(): Upstream['memory'] {
    return this.live.memory
  }

  get isRemembered(): boolean {
    return this.live.isRemembered === true
  }

  dispatch(call: Call): ReturnType<Upstream['dispatch']> {
    return this.live.dispatch(call)
  }

  sessionEnded(session: Session): void {
    this.live.sessionEnded?.(session)
  }

  rootsChanged(changed: readonly Session[]): void {
    this.live.rootsChanged?.(changed)
  }

  start(): Promise<void> {
    return this.live.start()
  }

  stop(): Promise<void> {
    return this.live.stop()
  }
}

/** Returns what runs behind an upstream: the same in every generation that keeps it. */
export function liveOf(upstream: Upstream): Upstream {
  return upstream instanceof KeptUpstream ? upstream.live : upstream
}

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
