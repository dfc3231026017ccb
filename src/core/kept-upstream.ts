import type { Call, Session, Upstream, UpstreamConfig } from '../api/index.ts'

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

  listsOf(session: Session): string | undefined {
    return this.live.listsOf?.(session)
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
