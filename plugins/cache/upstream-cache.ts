import type { Answer, Call, Clock, Dispatch, Exchange, Payload, Upstream } from '../../src/plugin.ts'
import type { CacheCounters, CacheEntry, Purge, CacheStore } from './cache-store.ts'
import { createEntry, LIST_METHODS, presentEntry } from './cache-entry.ts'
import type { Flights } from './single-flight.ts'
import { Flight, createBackgroundExchange } from './single-flight.ts'
import type { CacheKeys } from './cache-keys.ts'
import { isCacheableCall, computeKeys, getTarget } from './cache-keys.ts'
import type { CachePolicy, CacheRule, CacheRules } from './cache-rules.ts'

export interface UpstreamCacheDeps {
  readonly store: CacheStore
  readonly flights: Flights
  readonly clock: Clock
  /** Exchanges with a client request, whose answers are private. */
  readonly askedExchanges: WeakSet<Exchange>
  /** Purges entries and calls in progress that a successful tool call makes outdated. */
  purge(purge: Purge): void
  /** Called when a list is stored; `isNew` if it has changed. */
  onStored(entry: CacheEntry, isNew: boolean): void
}

/** A cacheable call. */
interface CacheLookup {
  readonly call: Call
  readonly next: Dispatch
  readonly policy: CachePolicy
  readonly target: string
  readonly keys: CacheKeys
}

/** Caches one upstream's answers. */
export class UpstreamCache {
  readonly #deps: UpstreamCacheDeps
  readonly #upstream: Upstream
  readonly #rules: CacheRules
  readonly #counters: CacheCounters
  readonly #isIsolated: boolean

  constructor(upstream: Upstream, rules: CacheRules, counters: CacheCounters, shared: UpstreamCacheDeps) {
    const { isolation } = upstream.spec
    this.#upstream = upstream
    this.#rules = rules
    this.#counters = counters
    this.#deps = shared
    this.#isIsolated = isolation === 'session' || isolation === 'principal'
  }

  /** Answers from the cache, a concurrent call, or the upstream. */
  answer(call: Call, next: Dispatch): Promise<Answer> {
    const rule = this.#rules(call)
    if (rule === undefined) return next(call)
    if (rule.purges.length > 0) return this.#callAndPurge(call, next, rule)
    const { policy } = rule
    if (policy === undefined || !isCacheableCall(call)) return next(call)
    const target = getTarget(call)
    const keys = computeKeys(call, target, policy)
    return keys === undefined ? next(call) : this.#lookUp({ call, next, policy, target, keys })
  }

  /** Calls the upstream and purges outdated entries, on success or an unknown outcome. */
  async #callAndPurge(call: Call, next: Dispatch, { purges }: CacheRule): Promise<Answer> {
    const purgeAll = (): void => {
      for (const purge of purges) this.#deps.purge(purge)
    }
    let answer: Answer
    try {
      answer = await next(call)
    } catch (error) {
      purgeAll()
      throw error
    }
    if ('result' in answer && !answer.result.isToolError) purgeAll()
    return answer
  }

  #lookUp(question: CacheLookup): Promise<Answer> {
    const { store, flights, clock } = this.#deps
    const entry = store.find(question.keys.own) ?? store.find(question.keys.shared)
    const now = clock.now()
    if (entry !== undefined) {
      if (this.#isUsable(entry, now)) return this.#serveEntry(entry, 'hit', now)
      if (entry.trust === 'known' && now < entry.revalidateUntil) {
        this.#refresh(question)
        return this.#serveEntry(entry, 'stale', now)
      }
    }
    const flight = flights.find(question.keys.own)
    return flight === undefined ? this.#startFlight(question) : this.#joinFlight(flight, question)
  }

  /** True if the entry is fresh, or a list whose server sleeps and would answer the same. */
  #isUsable(entry: CacheEntry, now: number): boolean {
    if (entry.trust === 'known' && now < entry.staleAt) return true
    const { state } = this.#upstream
    return entry.trust !== 'lost' && (state === 'idle' || state === 'starting') && LIST_METHODS.has(entry.method)
  }

  #serveEntry(entry: CacheEntry, state: 'hit' | 'stale', now: number): Promise<Answer> {
    entry.hits++
    this.#counters[state === 'hit' ? 'hits' : 'stale']++
    return Promise.resolve({ result: presentEntry(entry, state, now) })
  }

  #startFlight(question: CacheLookup): Promise<Answer> {
    const { call } = question
    this.#counters.misses++
    return this.#beginFlight(question, call.exchange, 0).join(call)
  }

  async #joinFlight(flight: Flight, question: CacheLookup): Promise<Answer> {
    const { call, next } = question
    this.#counters.coalesced++
    let answer: Answer
    try {
      answer = await flight.join(call)
    } catch (error) {
      // The leading caller's failure or cancellation must not affect the joined callers.
      if (call.exchange.cancelled || !flight.exchange.cancelled) throw error
      return this.#lookUp(question)
    }
    if ('input' in answer || this.#hasAsked(flight.exchange)) return next(call)
    const isLost = flight.exchange.cancelled && !('result' in answer) && !call.exchange.cancelled
    return isLost ? this.#lookUp(question) : answer
  }

  /** Revalidates in the background while stale answers are served. */
  #refresh(question: CacheLookup): void {
    const { flights, clock } = this.#deps
    if (flights.find(question.keys.own) !== undefined) return
    this.#beginFlight(question, createBackgroundExchange(question.call.exchange, clock.now()), 1)
  }

  #beginFlight(question: CacheLookup, exchange: Exchange, waiting: number): Flight {
    const { call, target, keys } = question
    const flight = new Flight(call, exchange, target, waiting)
    this.#deps.flights.add(keys.own, flight)
    flight.begin(this.#fetch(flight, question))
    return flight
  }

  async #fetch(flight: Flight, { next, ...question }: CacheLookup): Promise<Answer> {
    const { flights } = this.#deps
    const { own } = question.keys
    let answer: Answer
    try {
      answer = await next(flight)
    } catch (error) {
      flights.removeFlight(own, flight)
      throw error
    }
    const isCurrent = flights.removeFlight(own, flight)
    if (!('result' in answer)) return answer
    const isKept = isCurrent && !this.#hasAsked(flight.exchange)
    return isKept ? { result: this.#storeResult(flight, question, answer.result) } : answer
  }

  /** Stores a cacheable result. An unchanged list keeps the same payload object. */
  #storeResult(flight: Flight, { target, keys, policy }: Omit<CacheLookup, 'next'>, result: Payload): Payload {
    const { clock, store, onStored } = this.#deps
    const now = clock.now()
    const facts = { call: flight, target, keys, policy, now, isIsolated: this.#isIsolated }
    const entry = createEntry({ ...facts, result })
    if (entry === undefined) return result
    // The answer may have changed between private and public.
    store.drop(entry.key === keys.own ? keys.shared : keys.own)
    if (!LIST_METHODS.has(entry.method)) {
      store.put(entry)
      return result
    }
    const before = store.find(entry.key)?.payload
    const payload = before !== undefined && isSameResult(before, entry.payload) ? before : entry.payload
    payload.freshUntil = entry.hintUntil
    const made = { ...entry, payload }
    if (store.put(made)) onStored(made, payload !== before)
    return payload
  }

  #hasAsked(exchange: Exchange): boolean {
    return this.#deps.askedExchanges.has(exchange) || ('hasAsked' in exchange && exchange.hasAsked === true)
  }
}

/** True if two lists are equal, ignoring their remaining lifetime. */
function isSameResult(a: Payload, b: Payload): boolean {
  if (a === b) return true
  if (a.era !== b.era) return false
  if (a.bytes().equals(b.bytes())) return true
  if (a.era !== 'modern' || a.value().cacheScope !== b.value().cacheScope) return false
  return a
    .edit(['ttlMs'])
    .bytes()
    .equals(b.edit(['ttlMs']).bytes())
}
