import type { Answer, Call, Exchange, JsonObject } from '../../src/plugin.ts'
import { gatewayError, RPC } from '../../src/plugin.ts'
import type { Selection, CacheSubject } from './cache-store.ts'
import { isSelected } from './cache-store.ts'

/** One upstream call shared by concurrent callers; cancelled when the last caller cancels. */
export class Flight implements Call, CacheSubject {
  readonly upstream: string
  readonly method: string
  readonly headers: Record<string, string>
  readonly exchange: Exchange
  readonly target: string
  params: JsonObject | undefined
  readonly #listeners = new Set<(reason: string) => void>()
  #answer: Promise<Answer> | undefined
  #waiting: number
  #reason: string | undefined

  /** `waiting`: initial waiters in addition to `join`. */
  constructor(call: Call, exchange: Exchange, target: string, waiting: number) {
    this.upstream = call.upstream
    this.method = call.method
    this.params = call.params
    this.headers = call.headers
    this.exchange = exchange
    this.target = target
    this.#waiting = waiting
  }

  /** True once the call was cancelled. */
  get isOver(): boolean {
    return this.#reason !== undefined
  }

  /** Sets the answer, once. */
  begin(answer: Promise<Answer>): void {
    this.#answer = answer
    // Callers receive failures through `join`; prevent an unhandled rejection if none is left.
    answer.catch(() => undefined)
  }

  /** Returns the answer for another caller, which can cancel individually. */
  join(call: Call): Promise<Answer> {
    this.#waiting++
    return new Promise((resolve, reject) => {
      let unlisten = (): void => undefined
      unlisten = call.onCancel(reason => {
        if (--this.#waiting === 0) this.cancel(reason)
        else reject(gatewayError('GW_CANCELLED'))
      })
      this.#answer?.then(resolve, reject).finally(() => unlisten())
    })
  }

  onCancel(listener: (reason: string) => void): () => void {
    if (this.#reason !== undefined) {
      listener(this.#reason)
      return () => undefined
    }
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  cancel(reason: string): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    for (const listener of [...this.#listeners]) listener(reason)
    this.#listeners.clear()
  }
}

/** Calls in progress, by cache key. */
export class Flights {
  readonly #byKey = new Map<string, Flight>()

  /** Finds a call to join; undefined if there is none or it is being cancelled. */
  find(key: string): Flight | undefined {
    const flight = this.#byKey.get(key)
    return flight?.isOver === true ? undefined : flight
  }

  add(key: string, flight: Flight): void {
    this.#byKey.set(key, flight)
  }

  /** Returns false if the call was removed: its result is outdated. */
  removeFlight(key: string, flight: Flight): boolean {
    return this.#byKey.get(key) === flight && this.#byKey.delete(key)
  }

  /** Calls in progress still return answers, but these are not cached and cannot be joined. */
  purge(selection: Selection): void {
    for (const [key, flight] of this.#byKey) if (isSelected(flight, selection)) this.#byKey.delete(key)
  }
}

/**
 * An exchange in a client's session without a waiting client: cannot be cancelled, and sends no notifications or
 * requests.
 */
export interface BackgroundExchange extends Exchange {
  /** True if the server sent a request to the client, which makes the answer private. */
  hasAsked: boolean
}

/** Creates a background exchange in another exchange's session. */
export function createBackgroundExchange(of: Exchange, now: number): BackgroundExchange {
  const { id, session, principal, method, headers, via, bytes, received, params, route, entry } = of
  return {
    ...{ id, session, principal, method, headers, via, bytes, received, params, route, entry },
    startedAt: now,
    slots: [],
    answer: undefined,
    decidedBy: undefined,
    cancelled: false,
    openAsks: 0,
    canAsk: false,
    hasAsked: false,
    listShownEntries: kind => of.listShownEntries(kind),
    mayUse: (kind, upstream, original) => of.mayUse(kind, upstream, original),
    judgeEntry: (kind, upstream, original, value) => of.judgeEntry(kind, upstream, original, value),
    callTool: (name, args) => of.callTool(name, args),
    get record() {
      return of.record
    },
    get hasReachedClient() {
      return this.hasAsked
    },
    get signal() {
      return new AbortController().signal
    },
    onCancel: () => () => undefined,
    watchAsks: () => undefined,
    unwatchAsks: () => undefined,
    emit: () => undefined,
    ask() {
      this.hasAsked = true
      return Promise.resolve({
        error: { code: RPC.methodNotFound, message: 'no caller is waiting for this call' },
      })
    },
  }
}
