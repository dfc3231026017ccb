/** Answers of the API, as far as the page reads them. No other imports: the page is built for browsers. */

/** Any JSON object. */
export type Json = Readonly<Record<string, unknown>>

/** Answer of `GET session`. */
export interface Me {
  readonly subject: string
  readonly issuer: string
  readonly acts: boolean
  /** True for who has opened a link of `gateway ui`. */
  readonly isOwner: boolean
  readonly gateway: { readonly name: string; readonly version: string }
  /** Name of this replica; absent if there is only one. */
  readonly replica?: string
  readonly parts: readonly Part[]
}

/** Optional parts of a gateway: a page without its part is not shown. */
export type Part = 'approvals' | 'logins' | 'cache' | 'agents'

/** Answer of `POST session`. The key goes into the header `x-tapgate-ui` of every request. */
export interface Opened {
  readonly key: string
}

/** A finding about the health of the gateway or one server. */
export interface Finding {
  readonly level: string
  readonly code: string
  readonly summary: string
  readonly detail?: string
  readonly fix: string
  readonly upstream?: string
}

export interface ServerRow {
  readonly name: string
  readonly type: string
  readonly state: string
  readonly problem?: string
  readonly protocol?: string
  readonly server?: string
  readonly inFlight?: number
  readonly waiting?: number
  readonly cacheHits?: number
  readonly cacheMisses?: number
  readonly lastError?: string
  readonly lastErrorAt?: number
  readonly findings?: readonly Finding[]
}

/** Figures of ten seconds. */
export interface Figures {
  /** The beginning. All times are in milliseconds since 1970. */
  readonly at: number
  readonly calls: number
  readonly failed: number
  /** Successful calls for which the server was not asked. */
  readonly cached: number
  readonly p50: number
  readonly p95: number
  /** Bytes of messages, in and out. */
  readonly bytes: number
}

/** Answer of `GET overview`. */
export interface Overview {
  readonly gateway: { readonly pid: number; readonly startedAt?: number; readonly rss: number }
  readonly listeners: readonly { readonly name: string; readonly type: string; readonly url?: string }[]
  readonly servers: readonly ServerRow[]
  /** The worst level of all findings. */
  readonly level: string
  /** Findings about no server. */
  readonly findings: readonly Finding[]
  /** Of the last hour, the oldest first, without those in which nothing was called. */
  readonly figures: readonly Figures[]
}

/** Milliseconds of a call by phase, and how often its server was tried. */
export interface Timing {
  readonly before: number
  readonly policy: number
  readonly cache: number
  readonly queue: number
  readonly server: number
  readonly client: number
  readonly other: number
  readonly after: number
  readonly tries: number
}

/** A call in a list. */
export interface CallRow {
  readonly id: number
  readonly at: number
  readonly ms: number
  readonly method: string
  readonly name: string
  readonly upstream: string
  readonly subject: string
  readonly client: string
  readonly outcome: string
  readonly code: number
  readonly bytesIn: number
  readonly bytesOut: number
}

/** A call with all that was recorded. */
export interface CallDetail extends CallRow {
  readonly issuer: string
  readonly era: string
  readonly via: string
  readonly profile: string
  /** The plugin that refused or answered it. */
  readonly by: string
  readonly timing?: Timing
  /** Names and types of the arguments, as JSON. */
  readonly shape: string
  /** Arguments and result as JSON; absent unless `ui.values` names the tool. */
  readonly arguments?: string
  readonly result?: string
  readonly error?: string
}

/** A page of calls, the newest first. */
export interface Calls {
  readonly calls: readonly CallRow[]
  /** Recorded calls, whether they match or not. */
  readonly kept: number
  /** Id of the newest recorded call, whether it matches or not: `after` of the next request. */
  readonly newest: number
  /** `before` of the next page; absent at the end. */
  readonly next?: number
}

export interface ToolRow {
  readonly name: string
  readonly upstream: string
  readonly title: string
  /** Estimate of what its definition costs a model. */
  readonly tokens: number
  readonly isShown: boolean
}

/** A page of tools. */
export interface Tools {
  readonly tools: readonly ToolRow[]
  readonly total: number
  /** Tokens of all that match. */
  readonly tokens: number
  readonly servers: readonly { readonly name: string; readonly tools: number; readonly tokens: number }[]
}

export interface ToolDetail extends ToolRow {
  readonly original: string
  readonly withheld?: string
  readonly value: Json
}

/** A tool as one client is shown it. */
export interface Shown {
  readonly client: string
  /** True if it is in the client's list. */
  readonly isShown: boolean
  /** Its name in that list. */
  readonly name: string
  /** Changes that were made for the client, in words. */
  readonly notes: readonly string[]
  /** Why it is not shown. */
  readonly why?: string
}

export interface ConfigValue {
  /** A JSON pointer. */
  readonly pointer: string
  readonly value: unknown
  /** File and line, a flag, or "default". */
  readonly origin: string
}

/** A page of values of the configuration. */
export interface ConfigValues {
  readonly file?: string
  readonly values: readonly ConfigValue[]
  readonly total: number
}

export interface ClientRow {
  readonly client: string
  readonly version: string
  readonly era: string
  readonly protocol: string
  readonly subject: string
  readonly issuer: string
  readonly listener: string
  readonly profile: string
  readonly open: number
  readonly calls: number
  readonly seenAt: number
}

/** An event of the stream at `GET events`. */
export type Event =
  /** So many calls have settled since the event before, this one last. */
  | { readonly type: 'call'; readonly call: CallRow; readonly count: number }
  | { readonly type: 'server'; readonly name: string; readonly state: string; readonly problem?: string }
  | { readonly type: 'changed'; readonly what: 'approvals' | 'configuration' }
  /** Events that were left out, as they were not read. */
  | { readonly type: 'missed'; readonly count: number }
