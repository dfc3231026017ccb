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
