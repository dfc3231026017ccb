/** Types of the API, which the page shares. No other imports: the page is built for browsers. */

/** Any JSON object. */
export type Json = Readonly<Record<string, unknown>>

/** Answer of `GET session`: who looks, and what there is to look at. */
export interface Me {
  readonly subject: string
  readonly issuer: string
  /** True where it may change things, too. */
  readonly acts: boolean
  /** True for who has opened a link of `gateway ui`. */
  readonly isOwner: boolean
  readonly gateway: { readonly name: string; readonly version: string }
  /** Name of this replica where there may be others, of which this page knows nothing; empty where several processes are one. */
  readonly replica?: string
  /** Parts that this gateway has: a page without its part is not shown. */
  readonly parts: readonly Part[]
}

/** Parts of a gateway that may be there or not. */
export type Part = 'calls' | 'clients' | 'trials' | 'approvals' | 'logins' | 'cache' | 'agents'

/** Answer of `POST session`. The key goes into the header `x-tapgate-ui` of every request. */
export interface Opened {
  readonly key: string
}

/** Something that the owner should know, or do. */
export interface Finding {
  readonly level: string
  readonly code: string
  readonly summary: string
  readonly detail?: string
  readonly fix: string
  /** The server that it is about. */
  readonly upstream?: string
}

/** A server on the first page. */
export interface ServerRow {
  readonly name: string
  readonly type: string
  readonly state: string
  readonly problem?: string
  readonly protocol?: string
  readonly server?: string
  readonly restarts?: number
  readonly inFlight?: number
  readonly waiting?: number
  readonly cacheHits?: number
  readonly cacheMisses?: number
  /** Count of tools that it has listed. */
  readonly tools?: number
  readonly lastError?: string
  readonly lastErrorAt?: number
  readonly findings?: readonly Finding[]
}

/** Figures of ten seconds. */
export interface Figures {
  /** Its beginning, in milliseconds since 1970. */
  readonly at: number
  readonly calls: number
  readonly failed: number
  /** Calls that were answered well without their server. */
  readonly cached: number
  readonly p50: number
  readonly p95: number
  /** Bytes of messages, in and out. */
  readonly bytes: number
}

/** Answer of `GET overview`. */
export interface Overview {
  readonly gateway: {
    readonly name: string
    readonly version: string
    readonly pid: number
    readonly startedAt?: number
    readonly config?: string
    readonly rss: number
  }
  readonly listeners: readonly { readonly name: string; readonly type: string; readonly url?: string }[]
  readonly servers: readonly ServerRow[]
  /** The worst of all findings: ok, info, warning or error. */
  readonly level: string
  /** Findings that are about no server. */
  readonly findings: readonly Finding[]
  /** Of the last hour, the oldest first; ten seconds without a call are left out. */
  readonly figures: readonly Figures[]
}

/** Times on the way of a call, in milliseconds. */
export interface Timing {
  /** Until it left for a server: who calls, what is allowed. */
  readonly before: number
  /** In rules: limits, policies, and the wait for approvals and logins. */
  readonly policy: number
  /** In the cache, and in the wait for another call that asks the same. */
  readonly cache: number
  /** Waiting for a turn at the server, and between tries. */
  readonly queue: number
  /** At the server, over all tries. */
  readonly server: number
  /** Waiting for the client, while it was asked something. */
  readonly client: number
  /** In plugins that do not say what they do. */
  readonly other: number
  /** From there to the answer. */
  readonly after: number
  readonly tries: number
}

/** A call in a list. */
export interface CallRow {
  readonly id: number
  /** Milliseconds since 1970. */
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

/** A call with all that was kept of it. */
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
  /** Arguments and result as JSON; absent where they are not kept. */
  readonly arguments?: string
  readonly result?: string
  readonly error?: string
}

/** A page of calls, the newest first. */
export interface Calls {
  readonly calls: readonly CallRow[]
  /** Calls that are kept, whether they fit or not. */
  readonly kept: number
  /** Id of the newest that is kept, whether it fits or not: `after` of the next question, which then looks at none twice. */
  readonly newest: number
  /** Id for `before` of the next page; absent at the end. */
  readonly next?: number
}

/** A tool in a list. */
export interface ToolRow {
  readonly name: string
  readonly upstream: string
  readonly title: string
  /** Estimate of what its description costs a model. */
  readonly tokens: number
  readonly isShown: boolean
}

/** A page of tools. */
export interface Tools {
  readonly tools: readonly ToolRow[]
  readonly total: number
  /** Tokens of all that fit. */
  readonly tokens: number
  readonly servers: readonly { readonly name: string; readonly tools: number; readonly tokens: number }[]
}

/** A tool with all that is known of it. */
export interface ToolDetail extends ToolRow {
  readonly original: string
  readonly withheld?: string
  readonly value: Json
}

/** A value of the configuration. */
export interface ConfigValue {
  readonly pointer: string
  readonly value: unknown
  /** File and line, a flag, or "default". */
  readonly origin: string
}

/** Answer of `GET config`. */
export interface ConfigValues {
  readonly file?: string
  readonly values: readonly ConfigValue[]
  readonly total: number
}

/** Answer of `POST plan`. */
export interface Plan {
  /** Why the text is no configuration. */
  readonly problems?: readonly string[]
  readonly changes: boolean
  readonly servers?: {
    readonly started: readonly string[]
    readonly stopped: readonly string[]
    readonly restarted: readonly string[]
    readonly changed: readonly string[]
    readonly kept: readonly string[]
    readonly unknown: Readonly<Record<string, string>>
  }
  readonly tools?: {
    readonly added: readonly string[]
    readonly removed: readonly string[]
    readonly renamed: readonly { readonly from: string; readonly to: string }[]
    readonly changed: readonly string[]
  }
  readonly settings?: readonly string[]
  /** Calls of late that other rules would treat otherwise. */
  readonly verdicts?: readonly {
    readonly tool: string
    readonly caller: string
    readonly client: string
    readonly now: string
    readonly then: string
  }[]
  readonly compared?: number
}

/** A tool as one client is shown it. */
export interface Shown {
  readonly client: string
  /** False where it is not in the client's list. */
  readonly isShown: boolean
  /** Its name in that list. */
  readonly name: string
  /** Changes that were made for the client, in words. */
  readonly notes: readonly string[]
  /** Why it is not shown. */
  readonly why?: string
}

/** A client that has been here. */
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

/** A login to a server, or one that is missing. */
export interface LoginRow {
  /** The server; empty where the configuration has it no more. */
  readonly upstream: string
  /** `gateway`, or a digest of the caller. */
  readonly account: string
  readonly caller?: string
  readonly state: string
  readonly resource?: string
  readonly issuer?: string
  readonly scopes?: readonly string[]
  readonly renews?: boolean
  readonly why?: string
  /** Milliseconds since 1970, as the others. */
  readonly expiresAt?: number
  readonly lostAt?: number
  readonly since?: number
}

/** An agent. */
export interface AgentRow {
  readonly id: string
  readonly title?: string
  readonly description?: string
  readonly health: string
  readonly why?: string
  readonly running: number
  readonly queued: number
}

/** A call that goes on after its caller was answered, in a list. */
export interface CallTaskRow {
  readonly id: string
  readonly tool: string
  readonly upstream: string
  readonly subject: string
  readonly issuer: string
  readonly client: string
  readonly state: string
  readonly message?: string
  /** What it waits for its client to answer. */
  readonly asks: number
  /** Milliseconds since 1970, as the others. */
  readonly createdAt: number
  readonly updatedAt: number
  readonly expiresAt: number
  /** Size of its result, once there is one. */
  readonly resultBytes?: number
}

/** Answer of `GET tasks`. */
export interface Tasks {
  readonly calls: readonly CallTaskRow[]
  readonly tasks: readonly TaskRow[]
}

/** A task of an agent in a list. */
export interface TaskRow {
  readonly id: string
  readonly state: string
  readonly why?: string
  readonly agent?: string
  readonly subject: string
  readonly issuer: string
  readonly parent?: string
  readonly progress?: string
  readonly isError: boolean
  readonly hasDiff: boolean
  readonly createdAt: number
  readonly updatedAt: number
  readonly endedAt?: number
}

/** A task, opened. */
export interface TaskDetail {
  readonly task_id: string
  readonly state: string
  readonly is_error: boolean
  readonly why?: string
  readonly agent?: string
  readonly routed_by: string
  readonly cwd: string
  readonly progress?: string
  readonly files_changed: readonly string[]
  readonly has_diff: boolean
  readonly denied: readonly string[]
  readonly warnings: readonly string[]
  readonly attempts: readonly { readonly agent: string; readonly failure?: string }[]
  readonly questions: readonly {
    readonly question_id: string
    readonly kind: string
    readonly message: string
    readonly schema: Json
  }[]
  readonly duration_ms: number
  readonly events: readonly {
    readonly seq: number
    readonly at: number
    readonly kind: string
    readonly text: string
  }[]
}

/** A piece of what a task has said or changed. */
export interface Piece {
  readonly text: string
  /** Offset behind it. */
  readonly end: number
  readonly total: number
  readonly cut: boolean
  readonly hasMore: boolean
}

/** An event of the stream at `GET events`. */
export type Event =
  /** So many calls have settled since the event before, this one last. */
  | { readonly type: 'call'; readonly call: CallRow; readonly count: number }
  | { readonly type: 'server'; readonly name: string; readonly state: string; readonly problem?: string }
  | { readonly type: 'changed'; readonly what: 'approvals' | 'configuration' }
  /** So many events were left out, as they were not read. */
  | { readonly type: 'missed'; readonly count: number }
