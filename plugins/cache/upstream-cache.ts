import {
  type Answer,
  type Call,
  callerKey,
  type Clock,
  type Dispatch,
  type Exchange,
  hasFailed,
  type Payload,
  type Upstream,
} from '../../src/plugin.ts'
import type { Counters, Entry, Purge, Store } from './store.ts'
import { entryOf, LIST_METHODS, missed, shown } from './entry.ts'
import { type Failures, Flight, type Flights } from './flights.ts'
import { isPlain, type Keys, keysOf, targetOf } from './keys.ts'
import type { Policy, Rule, Rules } from './policy.ts'
import { QuietExchange } from './quiet-exchange.ts'
import type { Places } from './shared/shared-answers.ts'
import type { UpstreamShare } from './shared/upstream-share.ts'

/** State that the caches of all upstreams share. */
export interface Shared {
  readonly store: Store
  readonly flights: Flights
  readonly failures: Failures
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
  /** Answers that other replicas have got of it; undefined where each asks for itself. */
  readonly #share: UpstreamShare | undefined

  constructor(
    upstream: Upstream,
    rules: Rules,
    counters: Counters,
    shared: Shared,
    share: UpstreamShare | undefined,
  ) {
    const { isolation } = upstream.spec
    this.#upstream = upstream
    this.#rules = rules
    this.#counters = counters
    this.#shared = shared
    this.#share = share
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
    const { store, flights, failures, clock } = this.#shared
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
    if (flight !== undefined) return this.#join(flight, question)
    const failure = failures.find(question.keys.own)
    if (failure === undefined) return this.#lead(question)
    this.#counters.negative++
    return this.#despite(failure.error, question)
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

  async #lead(question: Question): Promise<Answer> {
    const { call } = question
    this.#counters.misses++
    const flight = this.#begin(question, call.exchange, 0)
    try {
      return await flight.join(call)
    } catch (error) {
      if (call.exchange.cancelled) throw error
      return this.#despite(error, question)
    }
  }

  async #join(flight: Flight, question: Question): Promise<Answer> {
    const { call, next } = question
    this.#counters.coalesced++
    let answer: Answer
    try {
      answer = await flight.join(call)
    } catch (error) {
      if (call.exchange.cancelled) throw error
      // Whoever made the call may have given up; that is no reason for those who joined.
      return flight.exchange.cancelled ? this.#ask(question) : this.#despite(error, question)
    }
    if ('input' in answer || this.#hasAsked(flight.exchange)) return next(call)
    const isLost = flight.exchange.cancelled && !('result' in answer) && !call.exchange.cancelled
    return isLost ? this.#ask(question) : answer
  }

  /** Asks again behind the back of those who get what has grown old. */
  #refresh(question: Question): void {
    const { flights, failures, clock } = this.#shared
    const { own } = question.keys
    if (flights.find(own) !== undefined || failures.find(own) !== undefined) return
    this.#begin(question, new QuietExchange(question.call.exchange, clock.now()), 1)
  }

  #begin(question: Question, exchange: Exchange, waiting: number): Flight {
    const { call, target, policy, keys } = question
    const flight = new Flight(call, exchange, { target, tags: policy.tags }, waiting)
    this.#shared.flights.add(keys.own, flight)
    flight.begin(this.#fetch(flight, question))
    return flight
  }

  #fetch(flight: Flight, question: Question): Promise<Answer> {
    const share = this.#share
    return share === undefined
      ? this.#fromServer(flight, question, undefined)
      : this.#fromReplicas(share, flight, question)
  }

  async #fromReplicas(share: UpstreamShare, flight: Flight, question: Question): Promise<Answer> {
    const places = await share.look({ ...question, call: flight })
    if (places === undefined) return this.#fromServer(flight, question, undefined)
    const entry = this.#isOutdated(flight, question.keys)
      ? undefined
      : share.entryIn(places, { ...question, call: flight })
    const found = entry && this.#foundFor(entry, flight, question)
    share.found(found !== undefined)
    return found ?? this.#fromServer(flight, question, places)
  }

  async #fromServer(flight: Flight, question: Question, places: Places | undefined): Promise<Answer> {
    const { flights, failures, saysSo } = this.#shared
    const { next, keys } = question
    const isList = LIST_METHODS.has(flight.method)
    let answer: Answer
    try {
      answer = await next(flight)
    } catch (error) {
      const isCurrent = flights.remove(keys.own, flight)
      if (isCurrent && isList && !flight.isOver)
        failures.remember(keys.own, flight.upstream, callerKey(flight.exchange.session), error)
      throw error
    }
    const isCurrent = flights.remove(keys.own, flight)
    if (!('result' in answer)) return answer
    const isKept = isCurrent && !this.#hasAsked(flight.exchange)
    const result = isKept ? this.#keep(flight, question, answer.result, places) : answer.result
    return { result: saysSo && !isList ? missed(result) : result }
  }

  /** True if something has been said since that makes what others know doubtful. */
  #isOutdated(flight: Flight, keys: Keys): boolean {
    const { store, flights } = this.#shared
    const before = store.look(keys.own) ?? store.look(keys.shared)
    return flights.find(keys.own) !== flight || (before !== undefined && before.trust !== 'known')
  }

  /** The answer that another replica was given. One that has grown old stands in where the server cannot be asked. */
  #foundFor(entry: Entry, flight: Flight, { keys }: Question): Answer | undefined {
    const { store, flights, clock, saysSo } = this.#shared
    const now = clock.now()
    if (now >= entry.staleAt) {
      if (store.look(entry.key) === undefined) store.keep(entry)
      return undefined
    }
    flights.remove(keys.own, flight)
    return { result: shown(this.#put(entry, keys).entry, 'hit', now, saysSo) }
  }

  /** Keeps a result where it may be, and gives it to the others. */
  #keep(flight: Flight, question: Question, result: Payload, places: Places | undefined): Payload {
    const { clock, saysSo } = this.#shared
    const { target, keys, policy } = question
    const now = clock.now()
    const facts = { call: flight, target, keys, policy, saysSo, now, isIsolated: this.#isIsolated }
    const made = entryOf({ ...facts, result })
    if (made === undefined) return result
    const { entry, isKept } = this.#put(made, keys)
    if (isKept && places !== undefined) this.#share?.give(entry, places)
    return LIST_METHODS.has(entry.method) ? entry.payload : result
  }

  /** Keeps an entry. A list that says the same again is the very payload it was. */
  #put(entry: Entry, keys: Keys): { readonly entry: Entry; readonly isKept: boolean } {
    const { store, kept } = this.#shared
    // An answer that was private may be public now, and the other way round.
    store.drop(entry.key === keys.own ? keys.shared : keys.own)
    if (!LIST_METHODS.has(entry.method)) return { entry, isKept: store.keep(entry) }
    const before = store.find(entry.key)?.payload
    const payload = before !== undefined && isSame(before, entry.payload) ? before : entry.payload
    payload.freshUntil = entry.hintUntil
    const made = { ...entry, payload }
    const isKept = store.keep(made)
    if (isKept) kept(made, payload !== before)
    return { entry: made, isKept }
  }

  /** An older answer, where the policy prefers it to an error. */
  async #despite(error: unknown, { keys }: Question): Promise<Answer> {
    const { store, clock } = this.#shared
    const entry = store.find(keys.own) ?? store.find(keys.shared)
    const now = clock.now()
    if (entry !== undefined && now < entry.errorUntil) return this.#fromMemory(entry, 'stale', now)
    throw error
  }

  #hasAsked(exchange: Exchange): boolean {
    return this.#shared.asked.has(exchange) || (exchange instanceof QuietExchange && exchange.hasAsked)
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
