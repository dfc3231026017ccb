import type { Exchange } from './exchange.ts'

/**
 * Something beside the exchanges that an audit keeps: a server asked the client for something, an agent was permitted
 * something, the owner steered the gateway, a server describes something in another way than was accepted, something was
 * taken out of a message, or a caller logged in to a server.
 */
export interface AuditEvent {
  readonly kind: 'client_request' | 'permission' | 'control' | 'definition' | 'redaction' | 'login'
  /** The request: a method, an action, or a verb. */
  readonly name: string
  /** Outcome in a word, such as `accept`, `denied` or an error code. */
  readonly outcome: string
  /** In whose middle it happened. */
  readonly exchange?: Exchange | undefined
  /** More that the line says. Secrets are hidden, and long texts cut. */
  readonly fields?: Readonly<Record<string, string | number>>
}

/** Figures of one kind, as Prometheus has them. */
export interface Metric {
  /** Begins with `tapgate_`; without `_total`. */
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly samples: readonly {
    readonly suffix?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly value: number
  }[]
}

/**
 * Handles that a plugin gives out for what it keeps in this process. Where there are several, a request that brings one as its
 * argument `handle`, or at the end of its URI, is handed to the process that made it.
 */
export interface Handles {
  /** A handle for a key, for one owner and so many milliseconds: nobody can guess one, or read it. */
  seal(key: string, owner: string, forMs: number): string
  /** The key; undefined for what is no handle of this plugin, somebody else's, or too old. */
  open(handle: string, owner: string): string | undefined
}

/** Work of one process, and its measures against too much of it. */
export interface Load {
  /** Bytes held for clients at all listeners: of request bodies, and of answers that are not read. */
  readonly held: number
  /** Bytes of memory. */
  readonly rss: number
  /** Parts of one: of the heap limit, and of the memory that is there. */
  readonly heap?: number
  readonly memory?: number
  /** Milliseconds that the event loop was late at the last look. */
  readonly lagMs?: number
  /** Measure in force: connections end with their answer (`close`), or new requests are refused (`refuse`). */
  readonly shedding?: 'none' | 'close' | 'refuse'
  /** Requests that were refused because of that. */
  readonly refused?: number
}

/** Structured log to stderr; the protocol owns stdout. */
export interface Log {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
  child(fields: Record<string, unknown>): Log
}

/** Time as an argument, so that tests need no mocks. */
export interface Clock {
  /**
   * Milliseconds on a monotonic clock with an origin of its own: for differences, not for dates. It does not jump when the
   * system clock is set; `Date.now()` says what time it is.
   */
  now(): number
  /** Runs `callback` once after `ms`; returns the way to take it back. The timer never keeps the process alive. */
  after(ms: number, callback: () => void): () => void
}

/** Facts about a program that calls, by the name that it gives itself: nothing that it could gain by another name. */
export interface ClientLimits {
  /** Milliseconds that it waits for the answer of a call. */
  readonly timeoutMs?: number
  /** Most tokens of a result that it takes whole. */
  readonly maxResultTokens?: number
}

/** A request to a URL that may have been named by somebody else. */
export interface FetchOptions {
  /**
   * URL in the configuration that led to this one, such as the server's: what is private itself may name what is private.
   * A URL that stands in the configuration is named by itself.
   */
  readonly namedBy: string | URL
  /** Default: GET. */
  readonly method?: string | undefined
  readonly headers?: Headers | Readonly<Record<string, string>> | undefined
  readonly body?: string | URLSearchParams | Uint8Array | undefined
  readonly signal?: AbortSignal | undefined
  /** Largest reply, in bytes; default 64 KiB. */
  readonly maxBytes?: number | undefined
  /** Milliseconds for all of it, redirects included; default 10 seconds. */
  readonly timeoutMs?: number | undefined
  /** Authority that is trusted beside those of the system, as PEM. */
  readonly ca?: string | undefined
}

/**
 * Asks one URL, and resolves with the whole reply whatever its status is.
 *
 * Only public addresses are connected to, by https, unless `namedBy` is private itself or `network.private` has the host. What
 * counts is the address of the connection. GET follows redirects within the origin, three at most.
 * @throws GatewayError GW_FETCH_REFUSED when it may not be asked, GW_FETCH_FAILED when there is no whole reply
 */
export type Fetch = (url: string | URL, options: FetchOptions) => Promise<Response>
