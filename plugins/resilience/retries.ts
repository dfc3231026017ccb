import type { Call } from '../../src/plugin.ts'
import { GatewayError, compileGlobs } from '../../src/plugin.ts'

const TOO_MANY = 429

/** Statuses from a busy or unavailable server or proxy. */
const RETRYABLE_STATUSES: ReadonlySet<unknown> = new Set([TOO_MANY, 502, 503, 504])

const FAILURE_CODES: ReadonlySet<string> = new Set(['GW_UPSTREAM_DOWN', 'GW_UPSTREAM_CLOSED', 'GW_UPSTREAM_START'])

/** Internal gateway or plugin error. */
const UNKNOWN_FAILURE: FailureKind = {
  isUpstreamFault: false,
  isRetryable: false,
  isStaleConnection: false,
  retryAfterMs: undefined,
}

export interface RetryLimits {
  /** Attempts in total. */
  readonly attempts: number
  /** Milliseconds before the second attempt; doubles for each further one. */
  readonly backoff: number
  /** Globs for tools that may be retried, by original name. */
  readonly tools: readonly string[]
}

/** Methods that are read-only by definition. */
const READ_METHODS: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
])

const JITTER = 0.5

/** One retry per 5 calls, and three initially: attempts ≤ 1.2 × calls + 3. */
const CALLS_PER_RETRY = 5

const FIRST_RETRIES = 3

const MAX_RETRIES = 20

/** Decides whether to retry a call. Calls earn retries, so that these stay a bounded share even if every call fails. */
export class Retries {
  readonly #limits: RetryLimits
  #earned = FIRST_RETRIES * CALLS_PER_RETRY
  readonly #isSafeTool: (name: string) => boolean
  readonly #random: () => number
  /** Retries since the gateway started. */
  made = 0

  constructor(limits: RetryLimits, random: () => number) {
    this.#limits = limits
    this.#random = random
    this.#isSafeTool = limits.tools.length === 0 ? () => false : compileGlobs(limits.tools)
  }

  /** Records a call's first attempt. */
  recordCall(): void {
    if (this.#earned < MAX_RETRIES * CALLS_PER_RETRY) this.#earned++
  }

  /**
   * Milliseconds until the next attempt; undefined if a retry is unsafe, too late or over budget. A call with client
   * requests or notifications has had effects.
   */
  nextRetryDelayMs(call: Call, failure: FailureKind, attempt: number, leftMs: number): number | undefined {
    if (attempt >= this.#limits.attempts || !failure.isRetryable || !this.#isSafe(call)) return undefined
    const backoff = failure.isStaleConnection && attempt === 1 ? 0 : this.#limits.backoff
    const pause = backoff * 2 ** (attempt - 1) * (1 - JITTER + 2 * JITTER * this.#random())
    const ms = Math.max(pause, failure.retryAfterMs ?? 0)
    if (ms >= leftMs || this.#earned < CALLS_PER_RETRY) return undefined
    this.#earned -= CALLS_PER_RETRY
    this.made++
    return ms
  }

  #isSafe({ method, params, exchange }: Call): boolean {
    if (exchange.cancelled || exchange.hasReachedClient) return false
    if (params?.inputResponses !== undefined || params?.requestState !== undefined) return false
    if (method === 'tools/call') return typeof params?.name === 'string' && this.#isSafeTool(params.name)
    return READ_METHODS.has(method)
  }
}

/** Upstream error classification. */
export interface FailureKind {
  /** Counts against the upstream: connection refused, closed, or 5xx. */
  readonly isUpstreamFault: boolean
  /** Likely temporary, so a retry may succeed. */
  readonly isRetryable: boolean
  /** A kept-alive connection was closed just before reuse: retry immediately. */
  readonly isStaleConnection: boolean
  /** Delay requested by the server, in milliseconds. */
  readonly retryAfterMs: number | undefined
}

/** Classifies a rejected dispatch. Error answers from the server are not rejections. */
export function classifyFailure(error: unknown): FailureKind {
  if (!(error instanceof GatewayError)) return UNKNOWN_FAILURE
  const { status, stale, retryAfterMs } = error.fields
  return {
    // A rate limit does not mean that the server is unhealthy.
    isUpstreamFault: FAILURE_CODES.has(error.code) && status !== TOO_MANY,
    isRetryable: RETRYABLE_STATUSES.has(status) || error.code === 'GW_UPSTREAM_CLOSED',
    isStaleConnection: stale === true,
    retryAfterMs: typeof retryAfterMs === 'number' ? retryAfterMs : undefined,
  }
}
