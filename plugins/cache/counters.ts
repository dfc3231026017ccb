/** What happened to the calls of one upstream, since this configuration began to run. */
export interface Counters {
  /** Answered from memory while fresh. */
  hits: number
  /** Answered by the server. */
  misses: number
  /** Answered from memory although it had grown old. */
  stale: number
  /** Answered by a call that was under way for somebody else. */
  coalesced: number
  /** Refused at once because the server could not be asked a moment ago. */
  negative: number
  /** Dropped because there was no room. */
  evictions: number
  /** Dropped because something said that they are out of date. */
  purges: number
  /** Kept now. */
  entries: number
  bytes: number
}

/** The counters of every upstream. */
export class Counts {
  readonly #byUpstream = new Map<string, Counters>()

  of(upstream: string): Counters {
    let counters = this.#byUpstream.get(upstream)
    if (counters === undefined) {
      counters = {
        hits: 0,
        misses: 0,
        stale: 0,
        coalesced: 0,
        negative: 0,
        evictions: 0,
        purges: 0,
        entries: 0,
        bytes: 0,
      }
      this.#byUpstream.set(upstream, counters)
    }
    return counters
  }
}
