import type { Answer, Call, Clock, Dispatch, Exchange, Payload, Upstream } from '../../src/plugin.ts'
import { hasFailed } from '../../src/plugin.ts'
import type { Counters, Entry, Purge, Store } from './store.ts'
import { entryOf, LIST_METHODS, missed, shown } from './entry.ts'
import type { Flights } from './flights.ts'
import { Flight, quietExchange } from './flights.ts'
import type { Keys } from './keys.ts'
import { isPlain, keysOf, targetOf } from './keys.ts'
import type { Policy, Rule, Rules } from './policy.ts'

/** State that the caches of all upstreams share. */
export interface Shared {
  readonly store: Store
  readonly flights: Flights
  readonly clock: Clock
  /** True if results say what the cache did. */
  readonly saysSo: boolean
  /** Exchanges whose client was asked something: their answers are their own. */
  readonly asked: WeakSet<Exchange>
  /** Forgets what the success of a tool makes outdated, kept or under way. */
  purge(purge: Purge): void
  /** A list is kept; `isNew` when it is not what was known before. */
  kept(entry: Entry, isNew: boolean): void
}

/** A question that may be answered from memory. */
interface Question {
  readonly call: Call
  readonly next: Dispatch
  readonly policy: Policy
  readonly target: string
  readonly keys: Keys
}

/** Stands before one upstream, and asks it only for what is not known. */
export class UpstreamCache {
  readonly #shared: Shared
  readonly #upstream: Upstream
  readonly #rules: Rules
  readonly #counters: Counters
  readonly #isIsolated: boolean

  constructor(upstream: Upstream, rules: Rules, counters: Counters, shared: Shared) {
    const { isolation } = upstream.spec
    this.#upstream = upstream
    this.#rules = rules
    this.#counters = counters
    this.#shared = shared
    this.#isIsolated = isolation === 'session' || isolation === 'principal'
  }

  /** From memory, from a call that is under way, or from the upstream. */
  answer(call: Call, next: Dispatch): Promise<Answer> {
    const rule = this.#rules(call)
    if (rule === undefined) return next(call)
    if (rule.purges.length > 0) return this.#write(call, next, rule)
    if (rule.policy === undefined || !isPlain(call)) return next(call)
    const target = targetOf(call)
    // Lists of a connection that few have are nobody else's: not in another process, nor after this one.
    const policy = call.ownList === undefined ? rule.policy : { ...rule.policy, perSession: true }
    const keys = keysOf(call, target, policy)
    return keys === undefined ? next(call) : this.#ask({ call, next, policy, target, keys })
  }

  /** A call that makes others out of date, once it has succeeded or nobody knows whether it has. */
  async #write(call: Call, next: Dispatch, { purges }: Rule): Promise<Answer> {
    const forget = (): void => {
      for (const purge of purges) this.#shared.purge(purge)
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

  #ask(question: Question): Promise<Answer> {
    const { store, flights, clock } = this.#shared
    const entry = store.find(question.keys.own) ?? store.find(question.keys.shared)
    const now = clock.now()
    if (entry !== undefined) {
      if (this.#isGood(entry, now)) return this.#fromMemory(entry, 'hit', now)
      if (entry.trust === 'known' && now < entry.revalidateUntil) {
        this.#refresh(question)
        return this.#fromMemory(entry, 'stale', now)
      }
    }
    const flight = flights.find(question.keys.own)
    return flight === undefined ? this.#lead(question) : this.#join(flight, question)
  }

  /** Fresh, or the list of a server that sleeps: it would say the same, and need not be woken for it. */
  #isGood(entry: Entry, now: number): boolean {
    if (entry.trust === 'known' && now < entry.staleAt) return true
    const { state } = this.#upstream
    return (
      entry.trust !== 'lost' && (state === 'idle' || state === 'starting') && LIST_METHODS.has(entry.method)
    )
  }

  #fromMemory(entry: Entry, state: 'hit' | 'stale', now: number): Promise<Answer> {
    entry.hits++
    this.#counters[state === 'hit' ? 'hits' : 'stale']++
    return Promise.resolve({ result: shown(entry, state, now, this.#shared.saysSo) })
  }

  #lead(question: Question): Promise<Answer> {
    const { call } = question
    this.#counters.misses++
    return this.#begin(question, call.exchange, 0).join(call)
  }

  async #join(flight: Flight, question: Question): Promise<Answer> {
    const { call, next } = question
    this.#counters.coalesced++
    let answer: Answer
    try {
      answer = await flight.join(call)
    } catch (error) {
      // Whoever made the call may have given up; that is no reason for those who joined.
      if (call.exchange.cancelled || !flight.exchange.cancelled) throw error
      return this.#ask(question)
    }
    if ('input' in answer || this.#hasAsked(flight.exchange)) return next(call)
    const isLost = flight.exchange.cancelled && !('result' in answer) && !call.exchange.cancelled
    return isLost ? this.#ask(question) : answer
  }

  /** Asks again behind the back of those who get what has grown old. */
  #refresh(question: Question): void {
    const { flights, clock } = this.#shared
    if (flights.find(question.keys.own) !== undefined) return
    this.#begin(question, quietExchange(question.call.exchange, clock.now()), 1)
  }

  #begin(question: Question, exchange: Exchange, waiting: number): Flight {
    const { call, target, policy, keys } = question
    const flight = new Flight(call, exchange, { target, tags: policy.tags }, waiting)
    this.#shared.flights.add(keys.own, flight)
    flight.begin(this.#fetch(flight, question))
    return flight
  }

  async #fetch(flight: Flight, { next, ...question }: Question): Promise<Answer> {
    const { flights, saysSo } = this.#shared
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
    const result = isKept ? this.#keep(flight, question, answer.result) : answer.result
    return { result: saysSo && !LIST_METHODS.has(flight.method) ? missed(result) : result }
  }

  /** Keeps a result if it may be. A list that is the same as before is the very payload it was. */
  #keep(flight: Flight, { target, keys, policy }: Omit<Question, 'next'>, result: Payload): Payload {
    const { clock, saysSo, store, kept } = this.#shared
    const now = clock.now()
    const facts = { call: flight, target, keys, policy, saysSo, now, isIsolated: this.#isIsolated }
    const entry = entryOf({ ...facts, result })
    if (entry === undefined) return result
    // An answer that was private may be public now, and the other way round.
    store.drop(entry.key === keys.own ? keys.shared : keys.own)
    if (!LIST_METHODS.has(entry.method)) {
      store.keep(entry)
      return result
    }
    const before = store.find(entry.key)?.payload
    const payload = before !== undefined && isSame(before, entry.payload) ? before : entry.payload
    payload.freshUntil = entry.hintUntil
    const made = { ...entry, payload }
    if (store.keep(made)) kept(made, payload !== before)
    return payload
  }

  #hasAsked(exchange: Exchange): boolean {
    return this.#shared.asked.has(exchange) || ('hasAsked' in exchange && exchange.hasAsked === true)
  }
}

/** True if two lists say the same; the time they have left is no part of it. */
function isSame(a: Payload, b: Payload): boolean {
  if (a === b) return true
  if (a.era !== b.era) return false
  if (a.bytes().equals(b.bytes())) return true
  if (a.era !== 'modern' || a.value().cacheScope !== b.value().cacheScope) return false
  return a
    .edited(['ttlMs'])
    .bytes()
    .equals(b.edited(['ttlMs']).bytes())
}
