/** All that the bench and its load client tell each other. */

export type Era = 'legacy' | 'modern'

/** One kind of request, sent again and again. */
export interface Ask {
  readonly era: Era
  readonly method: 'tools/call' | 'tools/list'
  readonly tool?: string
  /** Bytes of text in the arguments; none by default. */
  readonly bytes?: number
  /** Says whether progress is asked for, with a token of its own for each request. */
  readonly wantsProgress?: boolean
}

/** Target of the load: a URL of Streamable HTTP, or a process that the load client has started under this name. */
export type Target =
  { readonly url: string; readonly headers?: Readonly<Record<string, string>> } | { readonly process: string }

/** One measurement. */
export interface Cell {
  readonly target: Target
  readonly ask: Ask
  readonly concurrency: number
  /** Not counted: processes get warm. At least this long, and up to ten times that for so many calls. */
  readonly warmMs: number
  readonly warmCalls: number
  readonly ms: number
  /** Process whose processor time is measured. */
  readonly pid: number | undefined
  /** Calls per second at most, over all that are in flight; without it as many as go through. */
  readonly pace?: number
}

export interface Measured {
  readonly calls: number
  readonly rps: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  /** Processor time of the subject per call, in microseconds; undefined where nothing stands between, or nothing tells. */
  readonly cpu: number | undefined
  /** Resident memory of the subject after it, in MB. */
  readonly rss: number | undefined
}

/** Sessions that are opened and kept, with their GET streams or without, or ended at once. */
export interface Hold {
  readonly url: string
  readonly sessions: number
  readonly hasStreams: boolean
  readonly areEnded?: boolean
}

export type Order =
  | { readonly id: number; readonly start: { readonly name: string; readonly args: readonly string[] } }
  | { readonly id: number; readonly hold: Hold }
  | { readonly id: number; readonly cell: Cell }

export type Report = {
  readonly id: number
  readonly pid?: number
  readonly measured?: Measured
  readonly error?: string
}
