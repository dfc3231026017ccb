import type { LogLine, Upstream } from '../api/index.ts'

/** Hears what the upstreams of the running generation write, while somebody wants to know. */
export class LogFeed {
  readonly #tell: (upstream: string, line: LogLine) => void
  readonly #followed = new Map<Upstream, () => void>()
  #upstreams: readonly Upstream[] = []
  #holders = 0

  constructor(tell: (upstream: string, line: LogLine) => void) {
    this.#tell = tell
  }

  /** From here on these are the upstreams. */
  over(upstreams: readonly Upstream[]): void {
    this.#upstreams = upstreams
    this.#adjust()
  }

  /** Follows until what it returns is called. */
  hold(): () => void {
    this.#holders++
    this.#adjust()
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#holders--
      this.#adjust()
    }
  }

  #adjust(): void {
    const wanted = new Set(this.#holders > 0 ? this.#upstreams : [])
    for (const [upstream, leave] of this.#followed) {
      if (wanted.has(upstream)) continue
      this.#followed.delete(upstream)
      leave()
    }
    for (const upstream of wanted) {
      if (this.#followed.has(upstream)) continue
      const leave = upstream.logs?.follow(line => this.#tell(upstream.name, line))
      if (leave !== undefined) this.#followed.set(upstream, leave)
    }
  }
}
