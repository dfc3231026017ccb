import type { JsonObject } from '../protocol/json/json.ts'
import type { Exchange } from './exchange.ts'

/**
 * An audit event that is no exchange: a client request, a permission of an agent, a control verb, a changed
 * definition, a redaction, a login, or a refused HTTP request.
 */
export interface AuditEvent {
  readonly kind: 'client_request' | 'permission' | 'control' | 'definition' | 'redaction' | 'login' | 'refused'
  /** A method, an action, or a verb. */
  readonly name: string
  /** One word, such as `accept`, `denied` or an error code. */
  readonly outcome: string
  /** The exchange during which it happened. */
  readonly exchange?: Exchange | undefined
  /** Additional fields. Secrets are hidden, long texts cut. */
  readonly fields?: Readonly<Record<string, string | number>>
}

/** A Prometheus metric. */
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
 * Sealed handles for data in this process. A request with one as its argument `handle`, or at the end of its URI, is
 * routed to the replica that created it.
 */
export interface Handles {
  /** Creates an unguessable handle for a key and an owner, valid for `forMs` milliseconds. */
  seal(key: string, owner: string, forMs: number): string
  /** Returns the key; undefined if the handle is invalid, expired, or another owner's. */
  open(handle: string, owner: string): string | undefined
}

/** Process load and overload protection. */
export interface Load {
  /** Bytes buffered at all listeners: request bodies and unread answers. */
  readonly held: number
  /** Resident memory, in bytes. */
  readonly rss: number
  /** Used fractions, 0 to 1: of the heap limit, and of the available memory. */
  readonly heap?: number
  readonly memory?: number
  /** Event loop delay at the last measurement, in milliseconds. */
  readonly lagMs?: number
  /** Active measure: connections close after their answer (`close`), or new requests are refused (`refuse`). */
  readonly shedding?: 'none' | 'close' | 'refuse'
  /** Requests refused by overload protection. */
  readonly refused?: number
}

/** Structured log to stderr. */
export interface Log {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
  child(fields: Record<string, unknown>): Log
}

/** Clock, replaceable in tests. */
export interface Clock {
  /** Monotonic milliseconds with an arbitrary origin, for differences only. Unaffected by system clock changes. */
  now(): number
  /**
   * Runs `callback` once after `ms`; returns a function that cancels it. The timer does not keep the process alive.
   */
  after(ms: number, callback: () => void): () => void
}

/** Client program limits, by unverified name. */
export interface ClientLimits {
  /** Client-side call timeout, in milliseconds. */
  readonly timeoutMs?: number
  /** Maximum result size, in tokens. */
  readonly maxResultTokens?: number
}

/** Options for a request to a URL that may be untrusted. */
export interface FetchOptions {
  /**
   * Configured URL that led to this one, such as the server's: a private host may name private hosts. A URL from the
   * configuration is its own.
   */
  readonly namedBy: string | URL
  /** Default: GET. */
  readonly method?: string | undefined
  readonly headers?: Headers | Readonly<Record<string, string>> | undefined
  readonly body?: string | URLSearchParams | Uint8Array | undefined
  readonly signal?: AbortSignal | undefined
  /** Maximum reply size in bytes; default 64 KiB. */
  readonly maxBytes?: number | undefined
  /** Timeout in milliseconds, redirects included; default 10 seconds. */
  readonly timeoutMs?: number | undefined
  /** Additional certificate authority, as PEM. */
  readonly ca?: string | undefined
}

/**
 * Requests one URL, and resolves with the whole reply, whatever its status is.
 *
 * Only public addresses are allowed, by https, unless `namedBy` is private or `network.private` lists the host. The
 * address of the
 * connection is checked. GET follows up to three redirects within the origin.
 * @throws GatewayError GW_FETCH_REFUSED if the URL is not allowed, GW_FETCH_FAILED if there is no whole reply
 */
export type Fetch = (url: string | URL, options: FetchOptions) => Promise<Response>

/** Tools of each server with a known list, before any rules. */
export type KnownTools = ReadonlyMap<
  string,
  readonly {
    /** Name at the server. */
    readonly original: string
    /** Name that `filters` use. */
    readonly exposed: string
    readonly value: JsonObject
  }[]
>
