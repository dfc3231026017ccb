import type { Call, UpstreamConfig } from '../../src/plugin.ts'
import { GatewayError, compileGlobs, defineErrors, parseDuration, RPC } from '../../src/plugin.ts'
import type { BreakerLimits } from './breaker.ts'
import type { PermitLimits } from './permit-queue.ts'

export const ERRORS = {
  GW_TIMEOUT: {
    text: 'upstream "{upstream}" timed out: no answer to {method} within {ms} ms',
    hint: 'Raise upstreams.{upstream}.timeout if the server is slow by design.',
    http: 504,
    rpc: RPC.internal,
  },
  GW_UPSTREAM_RESTING: {
    text: 'circuit of upstream "{upstream}" is open: {why}',
    hint: 'Retry after retryAfterMs. gateway inspect shows the circuit state.',
    http: 503,
    rpc: RPC.internal,
  },
} as const

export const resilienceError = defineErrors(ERRORS)

/** Call deadline in milliseconds; 0 means none. */
export interface CallTimeout {
  /** Time without an answer or progress. */
  readonly idle: number
  /** Total time regardless of progress; at least `idle`, Infinity if only `idle` applies. */
  readonly total: number
}

/** Bulkhead settings. Times are milliseconds; 0 means none. */
export interface BulkheadSettings {
  readonly timeout: CallTimeout
  /** Tool timeouts by original name. */
  readonly tools: ReadonlyMap<unknown, CallTimeout>
  readonly permits: PermitLimits & { readonly queueTimeout: number }
  readonly breaker: BreakerLimits | undefined
  readonly retry: RetryLimits | undefined
}

export function parseBulkheadSettings({ timeout, tools, limits, breaker, retry }: UpstreamConfig): BulkheadSettings {
  return {
    timeout: parseTimeout(timeout),
    tools: new Map(Object.entries(tools?.timeout ?? {}).map(([name, value]) => [name, parseTimeout(value)])),
    permits: {
      concurrency: limits.concurrency,
      queue: limits.queue,
      queueTimeout: parseDuration(limits.queueTimeout),
    },
    breaker: breaker === false ? undefined : { ...breaker, open: parseDuration(breaker.open) },
    retry: retry === false ? undefined : { ...retry, backoff: parseDuration(retry.backoff) },
  }
}

/** Parses a plain timeout, which progress does not extend, or one with `idle` and `total`. */
function parseTimeout(timeout: UpstreamConfig['timeout']): CallTimeout {
  if (typeof timeout !== 'object') return { idle: parseDuration(timeout), total: parseDuration(timeout) }
  const total = parseDuration(timeout.total)
  const idle = parseDuration(timeout.idle) || total
  return total === 0 ? { idle, total: Infinity } : { idle: Math.min(idle, total), total }
}

/** True if no limit applies to any call. */
export function hasNoLimits({ timeout, tools, permits, breaker, retry }: BulkheadSettings): boolean {
  const hasDeadline = timeout.idle > 0 || tools.size > 0
  return !hasDeadline && permits.concurrency === 0 && breaker === undefined && retry === undefined
}

/** Returns the tool's own timeout, if configured. */
export function findToolTimeout({ tools }: BulkheadSettings, { method, params }: Call): CallTimeout | undefined {
  return tools.size > 0 && method === 'tools/call' ? tools.get(params?.name) : undefined
}

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

interface RetryLimits {
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

/** Decides whether to retry a call. */
export class Retries {
  readonly #limits: RetryLimits
  readonly #isSafeTool: (name: string) => boolean
  readonly #random: () => number
  /** Retries since the gateway started. */
  made = 0

  constructor(limits: RetryLimits, random: () => number) {
    this.#limits = limits
    this.#random = random
    this.#isSafeTool = limits.tools.length === 0 ? () => false : compileGlobs(limits.tools)
  }

  /**
   * Milliseconds until the next attempt; undefined if a retry is unsafe or too late. A call with client
   * requests or notifications has had effects.
   */
  nextRetryDelayMs(call: Call, failure: FailureKind, attempt: number, leftMs: number): number | undefined {
    if (attempt >= this.#limits.attempts || !failure.isRetryable || !this.#isSafe(call)) return undefined
    const backoff = failure.isStaleConnection && attempt === 1 ? 0 : this.#limits.backoff
    const pause = backoff * 2 ** (attempt - 1) * (1 - JITTER + 2 * JITTER * this.#random())
    const ms = Math.max(pause, failure.retryAfterMs ?? 0)
    if (ms >= leftMs) return undefined
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
