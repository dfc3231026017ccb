import {
  type Answer,
  type Call,
  type Clock,
  type Dispatch,
  gatewayError,
  type GatewayError,
  type JsonObject,
  type Log,
} from '../../src/plugin.ts'
import { Alarms } from './alarms.ts'
import { Asking, type Settings, ownTimeout, resilienceError } from './settings.ts'
import { Breaker } from './breaker.ts'
import { GuardedCall, type PassageHost } from './passage.ts'
import { Retries } from './retries.ts'
import { Turns } from './turns.ts'

/** Dependencies of a bulkhead. */
interface BulkheadHost {
  readonly upstream: string
  readonly clock: Clock
  readonly log: Log
  random(): number
}

/** A probe that has no deadline makes room for the next one after this long. */
const PROBE_MS = 60_000

const SHORTEST_WAIT_MS = 100

const MAX_WAIT_MS = 30_000

/** Weight of the newest pause between two turns. */
const NEWEST = 0.2

/** Keeps one upstream's trouble from everybody else: deadlines, turns, a breaker and retries for all of its calls. */
export class Bulkhead implements PassageHost {
  readonly turns: Turns
  readonly breaker: Breaker | undefined
  readonly retries: Retries | undefined
  readonly clock: Clock
  readonly slow: Alarms<GuardedCall>
  readonly patience: Alarms<GuardedCall>
  readonly latency: number
  readonly queueTimeout: number
  /** Calls that were refused a place, or lost it. */
  refused = 0
  readonly asking = new Asking()
  readonly #settings: Settings
  readonly #upstream: string
  /** Alarms by how long they last: those of one length come in order. */
  readonly #deadlines = new Map<number, Alarms<GuardedCall>>()
  turnAt = 0
  #turnEveryMs = 0

  constructor(settings: Settings, { upstream, clock, log, random }: BulkheadHost) {
    this.#settings = settings
    this.#upstream = upstream
    this.clock = clock
    this.queueTimeout = settings.turns.queueTimeout
    this.latency = settings.breaker?.latency ?? 0
    this.turns = new Turns(settings.turns, clock)
    this.slow = new Alarms(clock, passage => passage.isSlow())
    this.patience = new Alarms(clock, passage => passage.waitedTooLong())
    this.retries = settings.retry === undefined ? undefined : new Retries(settings.retry, random)
    this.breaker =
      settings.breaker === undefined
        ? undefined
        : new Breaker(settings.breaker, {
            upstream,
            clock,
            log,
            random,
            probeMs: Math.max(settings.timeout.idle, PROBE_MS),
            opened: () => this.turns.clear(waiter => waiter.pushedOut()),
          })
  }

  /** Takes a call through. Rejects with a GatewayError when it was refused, failed, or took too long. */
  run(call: Call, next: Dispatch): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const own = ownTimeout(this.#settings, call)
      const timeout = own ?? this.#settings.timeout
      new GuardedCall({
        call,
        next,
        bulkhead: this,
        timeout,
        isPatient: own !== undefined,
        resolve,
        reject,
      }).start()
    })
  }

  deadlines(ms: number): Alarms<GuardedCall> {
    let alarms = this.#deadlines.get(ms)
    if (alarms === undefined) {
      alarms = new Alarms(this.clock, passage => passage.expired())
      this.#deadlines.set(ms, alarms)
    }
    return alarms
  }

  turned(): void {
    const now = this.clock.now()
    const pause = this.turnAt === 0 ? 0 : now - this.turnAt
    this.#turnEveryMs += (pause - this.#turnEveryMs) * NEWEST
    this.turnAt = now
  }

  busy(why: string): GatewayError {
    this.refused++
    const expected = Math.round(this.#turnEveryMs * (this.turns.waiting + 1))
    const retryAfterMs = Math.min(Math.max(expected, SHORTEST_WAIT_MS), MAX_WAIT_MS)
    return gatewayError('GW_UPSTREAM_BUSY', { upstream: this.#upstream, why, retryAfterMs })
  }

  resting(): GatewayError {
    const { why = '', detail, retryAfterMs = 0 } = this.breaker ?? {}
    return resilienceError('GW_UPSTREAM_RESTING', { upstream: this.#upstream, why, detail, retryAfterMs })
  }

  /** The members that `status` shows. */
  status(): JsonObject {
    const { turns, breaker, retries, refused, asking } = this
    const { concurrency, queue } = this.#settings.turns
    return {
      queue: {
        running: turns.running,
        waiting: turns.waiting,
        asking: asking.size,
        concurrency,
        size: queue,
        refused,
      },
      ...(breaker === undefined ? {} : { breaker: breaker.status() }),
      ...(retries === undefined ? {} : { retries: retries.made }),
    }
  }
}
