import { parseDuration, type Call, type UpstreamConfig } from '../../src/plugin.ts'
import type { BreakerLimits } from './breaker.ts'
import type { RetryLimits } from './retries.ts'
import type { TurnLimits } from './turns.ts'

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
