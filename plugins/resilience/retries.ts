import type { Call } from '../../src/plugin.ts'
import { GatewayError, compileGlobs } from '../../src/plugin.ts'

const TOO_MANY = 429

/** Statuses of a server or proxy that is busy, away, or waits in vain for somebody else. */
const PASSING: ReadonlySet<unknown> = new Set([TOO_MANY, 502, 503, 504])

const ILL: ReadonlySet<string> = new Set(['GW_UPSTREAM_DOWN', 'GW_UPSTREAM_CLOSED', 'GW_UPSTREAM_START'])

/** A bug of ours or of a plugin. */
const UNKNOWN: Failure = { isIll: false, isPassing: false, isStale: false, retryAfterMs: undefined }

/** Bounds on retries. */
export interface RetryLimits {
  /** Tries in all, the first one included. */
  readonly attempts: number
  /** Milliseconds before the second try; twice as long before each further one. */
  readonly backoff: number
  /** Globs for the tools that may run twice, by the server's own names. */
  readonly tools: readonly string[]
}

/** Methods that read, by the protocol's own definition. */
const READS: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
])

const JITTER = 0.5

/** One retry for each so many calls, and three to begin with: attempts ≤ 1.2 × calls + 3, whatever happens. */
const CALLS_PER_RETRY = 5

const FIRST_RETRIES = 3

const MAX_RETRIES = 20

/** Price of a retry: calls earn it, so that retries stay a share of them even when everything fails. */
class RetryBudget {
  #earned = FIRST_RETRIES * CALLS_PER_RETRY

  earn(): void {
    if (this.#earned < MAX_RETRIES * CALLS_PER_RETRY) this.#earned++
  }

  spend(): boolean {
    if (this.#earned < CALLS_PER_RETRY) return false
    this.#earned -= CALLS_PER_RETRY
    return true
  }
}

/** Decides which calls are made again. */
export class Retries {
  readonly #limits: RetryLimits
  readonly #budget = new RetryBudget()
  readonly #isSafeTool: (name: string) => boolean
  readonly #random: () => number
  /** Tries beyond the first, since the gateway began. */
  made = 0

  constructor(limits: RetryLimits, random: () => number) {
    this.#limits = limits
    this.#random = random
    this.#isSafeTool = limits.tools.length === 0 ? () => false : compileGlobs(limits.tools)
  }

  /** A call is made for the first time. */
  began(): void {
    this.#budget.earn()
  }

  /**
   * Milliseconds until the next try; undefined when there is none: it is not safe, would come too late, or too much is
   * tried again already. A call whose client was asked or told anything has begun to have effects.
   */
  pauseMs(call: Call, failure: Failure, attempt: number, leftMs: number): number | undefined {
    if (attempt >= this.#limits.attempts || !failure.isPassing || !this.#isSafe(call)) return undefined
    const backoff = failure.isStale && attempt === 1 ? 0 : this.#limits.backoff
    const pause = backoff * 2 ** (attempt - 1) * (1 - JITTER + 2 * JITTER * this.#random())
    const ms = Math.max(pause, failure.retryAfterMs ?? 0)
    if (ms >= leftMs || !this.#budget.spend()) return undefined
    this.made++
    return ms
  }

  #isSafe({ method, params, exchange }: Call): boolean {
    if (exchange.cancelled || exchange.hasReachedClient) return false
    if (params?.inputResponses !== undefined || params?.requestState !== undefined) return false
    if (method === 'tools/call') return typeof params?.name === 'string' && this.#isSafeTool(params.name)
    return READS.has(method)
  }
}

/** Verdict on an upstream by one of its errors. */
export interface Failure {
  /** Counts against the upstream: it could not be reached, broke off, or answered 5xx. */
  readonly isIll: boolean
  /** May be over in a moment, so that another try has a chance. */
  readonly isPassing: boolean
  /** A connection was closed in the very moment that it was used again: nothing is wrong, so nothing is waited for. */
  readonly isStale: boolean
  /** Pause that the server asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined
}

/** Judges what a dispatch rejected with. What a server chose to answer, errors included, never comes here. */
export function failureOf(error: unknown): Failure {
  if (!(error instanceof GatewayError)) return UNKNOWN
  const { status, stale, retryAfterMs } = error.fields
  return {
    // A server that limits its callers is well.
    isIll: ILL.has(error.code) && status !== TOO_MANY,
    isPassing: PASSING.has(status) || error.code === 'GW_UPSTREAM_CLOSED',
    isStale: stale === true,
    retryAfterMs: typeof retryAfterMs === 'number' ? retryAfterMs : undefined,
  }
}
