/** API types for the page. No imports, because the page is built for browsers. */

export type Json = Readonly<Record<string, unknown>>

/** `GET session` answer. */
export interface SessionInfo {
  readonly subject: string
  readonly issuer: string
  readonly acts: boolean
  /** True after login by a `gateway ui` link. */
  readonly isOwner: boolean
  readonly gateway: { readonly name: string; readonly version: string }
  /** Configuration environment, as set by `--env`. */
  readonly env?: string | undefined
  /** Replica name, in a cluster. */
  readonly replica?: string | undefined
  readonly parts: readonly PagePart[]
}

/** Optional gateway features with their own page. */
export type PagePart = 'approvals' | 'logins' | 'cache' | 'agents'

/** Answer of `POST session`. The key is sent in the header `x-tapgate-ui`. */
export interface LoginReply {
  readonly key: string
}

/** Health finding about the gateway or one server. */
export interface HealthFinding {
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
  readonly pid?: number
  /** Memory used by its processes, in bytes. */
  readonly rss?: number
  readonly restarts?: number
  readonly inFlight?: number
  readonly waiting?: number
  readonly cacheHits?: number
  readonly cacheMisses?: number
  readonly lastError?: string
  readonly lastErrorAt?: number
  readonly findings?: readonly HealthFinding[]
}

/** A chart span, in equal intervals. */
export interface FigureSpan {
  readonly label: string
  readonly intervalMs: number
  readonly intervals: number
}

/** Chart spans by name. */
export const FIGURE_SPANS: Readonly<Record<string, FigureSpan>> = {
  '15m': { label: '15 minutes', intervalMs: 10_000, intervals: 90 },
  '1h': { label: '1 hour', intervalMs: 60_000, intervals: 60 },
  '24h': { label: '24 hours', intervalMs: 900_000, intervals: 96 },
}

/** Statistics for one interval. */
export interface Figures {
  /** Start, in milliseconds since 1970 like all times. */
  readonly at: number
  readonly calls: number
  /** Calls with errors. */
  readonly failed: number
  /** Calls refused by a policy or limit. */
  readonly refused: number
  /** Successful calls answered without the server. */
  readonly cached: number
  readonly p95: number
  /** Message bytes, in and out. */
  readonly bytes: number
}

/** `GET overview` answer. */
export interface Overview {
  readonly gateway: { readonly pid: number; readonly startedAt?: number; readonly rss: number }
  readonly listeners: readonly { readonly name: string; readonly type: string; readonly url?: string }[]
  readonly servers: readonly ServerRow[]
  /** Worst finding level. */
  readonly level: string
  /** Findings about the gateway. */
  readonly findings: readonly HealthFinding[]
}

/** `GET figures` answer. */
export interface FigureAnswer {
  readonly now: number
  /** Oldest first, without intervals that have no calls. */
  readonly figures: readonly Figures[]
}

/** Milliseconds in the server and at the client; the rest of the call's duration is the gateway's. */
export interface Timing {
  readonly upstream: number
  readonly client: number
  readonly tries: number
}

/** Call in a list. */
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

/** Call with all recorded data. */
export interface CallDetail extends CallRow {
  readonly issuer: string
  readonly era: string
  readonly via: string
  readonly profile: string
  /** Plugin that refused or answered it. */
  readonly by: string
  readonly timing?: Timing
  /** Argument names and types, as JSON. */
  readonly shape: string
  /** Arguments and result as JSON; absent unless `ui.values` matches the tool. */
  readonly arguments?: string
  readonly result?: string
  readonly error?: string
}

/** Call page, newest first. */
export interface Calls {
  readonly calls: readonly CallRow[]
  /** Recorded calls, with or without a match. */
  readonly kept: number
  /** `before` for the next page; absent at the end. */
  readonly next?: number
}

export interface ToolRow {
  readonly name: string
  readonly upstream: string
  readonly title: string
  /** The description's first sentence. */
  readonly summary: string
  readonly isReadOnly: boolean
  readonly isDestructive: boolean
  /** Estimated definition tokens. */
  readonly tokens: number
  readonly isShown: boolean
}

export interface Tools {
  readonly tools: readonly ToolRow[]
  readonly total: number
  /** Tokens of all matching tools. */
  readonly tokens: number
  readonly servers: readonly { readonly name: string; readonly tools: number; readonly tokens: number }[]
}

export interface SkillRow {
  readonly uri: string
  readonly name: string
  readonly description: string
  /** Absent if the skill is generated. */
  readonly files?: number
}

export interface ToolDetail extends ToolRow {
  readonly original: string
  readonly withheld?: string
  readonly value: Json
}

/** Tool as one client sees it. */
export interface ToolVisibility {
  readonly client: string
  /** True if the client's list contains it. */
  readonly isShown: boolean
  /** Name in that list. */
  readonly name: string
  /** Descriptions of the changes made for the client. */
  readonly notes: readonly string[]
  /** Reason for hiding it. */
  readonly why?: string
}

export interface ConfigValue {
  /** JSON pointer. */
  readonly pointer: string
  readonly value: unknown
  /** File and line, a flag, or "default". */
  readonly origin: string
}

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

/** `GET events` event. */
export type Event =
  /** Calls settled since the last event; `call` is the last one. */
  | { readonly type: 'call'; readonly call: CallRow; readonly count: number }
  | { readonly type: 'server'; readonly name: string; readonly state: string; readonly problem?: string }
  | { readonly type: 'changed'; readonly what: 'approvals' | 'configuration' }
  /** Events dropped because the reader was slow. */
  | { readonly type: 'missed'; readonly count: number }
