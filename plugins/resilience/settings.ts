import type { Call, UpstreamConfig } from '../../src/plugin.ts'
import { defineErrors, parseDuration, RPC } from '../../src/plugin.ts'
import type { BreakerLimits } from './breaker.ts'
import type { RetryLimits } from './retries.ts'
import type { TurnLimits } from './turns.ts'

/** Errors of deadlines and breakers. */
export const ERRORS = {
  GW_TIMEOUT: {
    text: 'upstream "{upstream}" did not answer {method} within {ms} ms',
    hint: 'Raise upstreams.{upstream}.timeout if it is slow by nature.',
    http: 504,
    rpc: RPC.internal,
  },
  GW_UPSTREAM_RESTING: {
    text: 'upstream "{upstream}" is given a rest after {why}',
    hint: 'Call again after retryAfterMs; its breaker lets a probe through then. gateway inspect shows its state.',
    http: 503,
    rpc: RPC.internal,
  },
} as const

export const resilienceError = defineErrors(ERRORS)

/** Most calls of one caller: more than it can have that wait for it without a connection, as parked calls and as tasks. */
const MAX_ASKING_PER_CALLER = 256

/** Counts the calls at one server whose clients are asked, for each caller. They take no turn, and each is an open request to the server. */
export class Asking {
  readonly #counts = new Map<string, number>()
  size = 0

  /** Counts one more; false where its caller has as many as it may. */
  enter(caller: string): boolean {
    const count = this.#counts.get(caller) ?? 0
    if (count >= MAX_ASKING_PER_CALLER) return false
    this.#counts.set(caller, count + 1)
    this.size++
    return true
  }

  leave(caller: string): void {
    const left = (this.#counts.get(caller) ?? 1) - 1
    if (left === 0) this.#counts.delete(caller)
    else this.#counts.set(caller, left)
    this.size--
  }
}

/** Deadline of a call, in milliseconds; 0 means none. */
export interface Timeout {
  /** Time without an answer or progress. */
  readonly idle: number
  /** Time in all, whatever the progress; at least `idle`, and Infinity if nothing but `idle` limits the call. */
  readonly total: number
}

/** Settings of one bulkhead. Times are milliseconds; 0 means none. */
export interface Settings {
  readonly timeout: Timeout
  /** Timeouts of single tools, by the server's own names. */
  readonly tools: ReadonlyMap<unknown, Timeout>
  readonly turns: TurnLimits & { readonly queueTimeout: number }
  readonly breaker: BreakerLimits | undefined
  readonly retry: RetryLimits | undefined
}

/** Reads them once, when the graph is built. */
export function settingsOf({ timeout, tools, limits, breaker, retry }: UpstreamConfig): Settings {
  return {
    timeout: parseTimeout(timeout),
    tools: new Map(Object.entries(tools?.timeout ?? {}).map(([name, value]) => [name, parseTimeout(value)])),
    turns: {
      concurrency: limits.concurrency,
      queue: limits.queue,
      queueTimeout: parseDuration(limits.queueTimeout),
    },
    breaker:
      breaker === false
        ? undefined
        : {
            ...breaker,
            latency: parseDuration(breaker.latency),
            window: parseDuration(breaker.window),
            open: parseDuration(breaker.open),
          },
    retry: retry === false ? undefined : { ...retry, backoff: parseDuration(retry.backoff) },
  }
}

/** Parses a plain timeout, which progress does not extend, or one with `idle` and `total`. */
function parseTimeout(timeout: UpstreamConfig['timeout']): Timeout {
  if (typeof timeout !== 'object') return { idle: parseDuration(timeout), total: parseDuration(timeout) }
  const total = parseDuration(timeout.total)
  const idle = parseDuration(timeout.idle) || total
  return total === 0 ? { idle, total: Infinity } : { idle: Math.min(idle, total), total }
}

/** True where there is nothing to do for any call. */
export function isIdle({ timeout, tools, turns, breaker, retry }: Settings): boolean {
  const hasDeadline = timeout.idle > 0 || tools.size > 0
  return !hasDeadline && turns.concurrency === 0 && breaker === undefined && retry === undefined
}

/** Timeout of a tool that has one of its own. */
export function ownTimeout({ tools }: Settings, { method, params }: Call): Timeout | undefined {
  return tools.size > 0 && method === 'tools/call' ? tools.get(params?.name) : undefined
}
