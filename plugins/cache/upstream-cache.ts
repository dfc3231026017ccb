import type { Answer, Call, Clock, Dispatch, Exchange, Payload, Upstream } from '../../src/plugin.ts'
import { hasFailed } from '../../src/plugin.ts'
import type { CacheCounters, CacheEntry, Purge, CacheStore } from './cache-store.ts'
import { createEntry, LIST_METHODS, markMiss, presentEntry } from './entry.ts'
import type { Flights } from './flights.ts'
import { Flight, createBackgroundExchange } from './flights.ts'
import type { CacheKeys } from './cache-keys.ts'
import { isCacheableCall, computeKeys, getTarget } from './cache-keys.ts'
import type { CachePolicy, CacheRule, CacheRules } from './policy.ts'

/** State that the caches of all upstreams share. */
export interface UpstreamCacheDeps {
  readonly store: CacheStore
  readonly flights: Flights
  readonly clock: Clock
  /** True if results say what the cache did. */
  readonly saysSo: boolean
  /** Exchanges whose client was asked something: their answers are their own. */
  readonly asked: WeakSet<Exchange>
  /** Forgets what the success of a tool makes outdated, kept or under way. */
  purge(purge: Purge): void
  /** A list is kept; `isNew` when it is not what was known before. */
  onStored(entry: CacheEntry, isNew: boolean): void
}

/** A question that may be answered from memory. */
interface CacheLookup {
  readonly call: Call
  readonly next: Dispatch
  readonly policy: CachePolicy
  readonly target: string
  readonly keys: CacheKeys
}

/** Stands before one upstream, and asks it only for what is not known. */
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

  /** From memory, from a call that is under way, or from the upstream. */
  answer(call: Call, next: Dispatch): Promise<Answer> {
    const rule = this.#rules(call)
    if (rule === undefined) return next(call)
    if (rule.purges.length > 0) return this.#callAndPurge(call, next, rule)
    if (rule.policy === undefined || !isCacheableCall(call)) return next(call)
    const target = getTarget(call)
    // Lists of a connection that few have are nobody else's: not in another process, nor after this one.
    const policy = call.ownList === undefined ? rule.policy : { ...rule.policy, perSession: true }
    const keys = computeKeys(call, target, policy)
    return keys === undefined ? next(call) : this.#lookUp({ call, next, policy, target, keys })
  }

  /** A call that makes others out of date, once it has succeeded or nobody knows whether it has. */
  async #callAndPurge(call: Call, next: Dispatch, { purges }: CacheRule): Promise<Answer> {
    const forget = (): void => {
      for (const purge of purges) this.#deps.purge(purge)
    }
    let answer: Answer
    try {
      answer = await next(call)
    } catch (error) {
      forget()
      throw error
    }
    if ('result' in answer && !hasFailed(answer.result)) forget()
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

  /** Fresh, or the list of a server that sleeps: it would say the same, and need not be woken for it. */
  #isUsable(entry: CacheEntry, now: number): boolean {
    if (entry.trust === 'known' && now < entry.staleAt) return true
    const { state } = this.#upstream
    return (
      entry.trust !== 'lost' && (state === 'idle' || state === 'starting') && LIST_METHODS.has(entry.method)
    )
  }

  #serveEntry(entry: CacheEntry, state: 'hit' | 'stale', now: number): Promise<Answer> {
    entry.hits++
    this.#counters[state === 'hit' ? 'hits' : 'stale']++
    return Promise.resolve({ result: presentEntry(entry, state, now, this.#deps.saysSo) })
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
      // Whoever made the call may have given up; that is no reason for those who joined.
      if (call.exchange.cancelled || !flight.exchange.cancelled) throw error
      return this.#lookUp(question)
    }
    if ('input' in answer || this.#hasAsked(flight.exchange)) return next(call)
    const isLost = flight.exchange.cancelled && !('result' in answer) && !call.exchange.cancelled
    return isLost ? this.#lookUp(question) : answer
  }

  /** Asks again behind the back of those who get what has grown old. */
  #refresh(question: CacheLookup): void {
    const { flights, clock } = this.#deps
    if (flights.find(question.keys.own) !== undefined) return
    this.#beginFlight(question, createBackgroundExchange(question.call.exchange, clock.now()), 1)
  }

  #beginFlight(question: CacheLookup, exchange: Exchange, waiting: number): Flight {
    const { call, target, policy, keys } = question
    const flight = new Flight(call, exchange, { target, tags: policy.tags }, waiting)
    this.#deps.flights.add(keys.own, flight)
    flight.begin(this.#fetch(flight, question))
    return flight
  }

  async #fetch(flight: Flight, { next, ...question }: CacheLookup): Promise<Answer> {
    const { flights, saysSo } = this.#deps
    const { own } = question.keys
    let answer: Answer
    try {
      answer = await next(flight)
    } catch (error) {
      flights.remove(own, flight)
      throw error
    }
    const isCurrent = flights.remove(own, flight)
    if (!('result' in answer)) return answer
    const isKept = isCurrent && !this.#hasAsked(flight.exchange)
    const result = isKept ? this.#storeResult(flight, question, answer.result) : answer.result
    return { result: saysSo && !LIST_METHODS.has(flight.method) ? markMiss(result) : result }
  }

  /** Keeps a result if it may be. A list that is the same as before is the very payload it was. */
  #storeResult(
    flight: Flight,
    { target, keys, policy }: Omit<CacheLookup, 'next'>,
    result: Payload,
  ): Payload {
    const { clock, saysSo, store, onStored } = this.#deps
    const now = clock.now()
    const facts = { call: flight, target, keys, policy, saysSo, now, isIsolated: this.#isIsolated }
    const entry = createEntry({ ...facts, result })
    if (entry === undefined) return result
    // An answer that was private may be public now, and the other way round.
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
    return this.#deps.asked.has(exchange) || ('hasAsked' in exchange && exchange.hasAsked === true)
  }
}

/** True if two lists say the same; the time they have left is no part of it. */
function isSameResult(a: Payload, b: Payload): boolean {
  if (a === b) return true
  if (a.era !== b.era) return false
  if (a.bytes().equals(b.bytes())) return true
  if (a.era !== 'modern' || a.value().cacheScope !== b.value().cacheScope) return false
  return a
    .edited(['ttlMs'])
    .bytes()
    .equals(b.edited(['ttlMs']).bytes())
}
