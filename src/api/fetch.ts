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
  readonly withinMs?: number | undefined
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
