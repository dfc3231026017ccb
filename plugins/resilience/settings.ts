import type { Call, UpstreamConfig } from '../../src/plugin.ts'
import { defineErrors, parseDuration, RPC } from '../../src/plugin.ts'
import type { BreakerLimits } from './breaker.ts'
import type { RetryLimits } from './retries.ts'
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

/** Exceeds one caller's possible parked calls and tasks. */
const MAX_CLIENT_REQUESTS_PER_CALLER = 256

/** Counts pending client requests by caller. They hold no permit, but keep a request to the server open. */
export class ClientRequestCounter {
  readonly #counts = new Map<string, number>()
  size = 0

  /** Counts one more; false if the caller is at its limit. */
  increment(caller: string): boolean {
    const count = this.#counts.get(caller) ?? 0
    if (count >= MAX_CLIENT_REQUESTS_PER_CALLER) return false
    this.#counts.set(caller, count + 1)
    this.size++
    return true
  }

  decrement(caller: string): void {
    const remaining = (this.#counts.get(caller) ?? 1) - 1
    if (remaining === 0) this.#counts.delete(caller)
    else this.#counts.set(caller, remaining)
    this.size--
  }
}

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
