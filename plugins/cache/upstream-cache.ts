import { createHash } from 'node:crypto'
import type { Answer, Call, Clock, Dispatch, Exchange, Upstream, JsonObject } from '../../src/plugin.ts'
import {
  ANONYMOUS,
  authorizationKey,
  METHODS,
  Payload,
  canonicalizeJson,
  canonicalizeUri,
  conversationKey,
  isObject,
} from '../../src/plugin.ts'
import type { CachePolicy, CacheRule, CacheRules } from './cache-rules.ts'
import type { CacheCounters, CacheEntry, Purge } from './cache-store.ts'
import { CacheStore, LIST_METHODS } from './cache-store.ts'
import type { Flights } from './single-flight.ts'
import { Flight, createBackgroundExchange } from './single-flight.ts'

/** Cache keys: private to the caller, and shared for public answers. */
interface CacheKeys {
  readonly own: string
  readonly shared: string
}

/** Longer keys are replaced by their digest, to save memory. */
const MAX_KEY = 1024
/** Empty parameters. */
const NOTHING = '{}'
/** `_meta` members that do not affect the result. */
const UNASKED = /^(progressToken|traceparent|tracestate|baggage|io\.modelcontextprotocol\/.*)$/
/** Parameters per cacheable method; a request with others is a retry, a task, or unknown. */
const PLAIN: Readonly<Record<string, readonly string[]>> = {
  'tools/call': ['name', 'arguments', '_meta'],
  'prompts/get': ['name', 'arguments', '_meta'],
  'resources/read': ['uri', '_meta'],
}

/** True if the call may be answered from the cache; never for a retry after an input request. */
function isCacheableCall({ method, params, exchange }: Call): boolean {
  const plain = PLAIN[method]
  if (plain === undefined) return true
  for (const key in params) if (!plain.includes(key)) return false
  const requested = exchange.params
  return requested?.requestState === undefined && requested?.inputResponses === undefined
}

/** Returns the requested name or URI; empty for lists. */
function getTarget({ method, params }: Call): string {
  const target = method === 'resources/read' ? params?.uri : params?.name
  if (PLAIN[method] === undefined || typeof target !== 'string') return ''
  return method === 'resources/read' ? canonicalizeUri(target) : target
}

/**
 * Computes the keys; undefined if the parameters cannot be compared. Parts are length-prefixed, so that they cannot
 * be forged.
 */
export function computeKeys(call: Call, target: string, policy: CachePolicy): CacheKeys | undefined {
  const { session, headers } = call.exchange
  // Two distinct numbers may have become equal when parsed.
  if (call.exchange.hasExactNumbers === false) return undefined
  const encodedParams = encodeParams(call, policy)
  let keyText =
    encodePart(call.upstream) +
    encodePart(call.method) +
    encodePart(target) +
    encodePart(encodedParams) +
    encodePart(encodeHeaders(call.headers))
  for (const name of policy.headers) keyText += encodePart(headers[name] ?? '')
  const caller =
    encodePart(authorizationKey(session.principal)) + encodePart(policy.perSession ? conversationKey(session) : '')
  return { own: shortenKey(`own${caller}${keyText}`), shared: shortenKey(`all${keyText}`) }
}

/** Encodes a part unambiguously. */
function encodePart(text: string): string {
  return `${text.length}:${text}`
}

function shortenKey(key: string): string {
  return key.length <= MAX_KEY ? key : `sha256${createHash('sha256').update(key).digest('base64')}`
}

/** Most requests have no such headers. */
function encodeHeaders(headers: Readonly<Record<string, string>>): string {
  for (const _name in headers) return canonicalizeJson(headers)
  return ''
}

function encodeParams({ method, params }: Call, { args }: CachePolicy): string {
  if (params === undefined) return NOTHING
  const meta = isObject(params._meta) ? encodeMeta(params._meta) : ''
  if (method === 'resources/read') return meta
  const argumentsToEncode =
    PLAIN[method] === undefined ? { ...params, _meta: undefined } : selectArguments(params.arguments ?? {}, args)
  return canonicalizeJson(argumentsToEncode) + meta
}

/** Selects the relevant arguments, wrapped in lists to distinguish missing from null. */
function selectArguments(input: unknown, args: readonly string[] | undefined): unknown {
  if (args === undefined) return input
  const own = isObject(input) ? input : {}
  return args.map(name => (Object.hasOwn(own, name) ? [own[name]] : []))
}

function encodeMeta(meta: JsonObject): string {
  const keys = Object.keys(meta).filter(key => !UNASKED.test(key))
  return keys.length === 0 ? '' : canonicalizeJson(keys.map(key => [key, meta[key]]).sort(compareFirst))
}

function compareFirst([a]: unknown[], [b]: unknown[]): number {
  return String(a) < String(b) ? -1 : 1
}

const NOBODY = authorizationKey(ANONYMOUS)
const MIRRORED = /^mcp-/

/** Inputs for a new entry. */
interface NewEntry {
  readonly call: Call
  readonly target: string
  readonly keys: CacheKeys
  readonly policy: CachePolicy
  readonly result: Payload
  /** True if the server has a connection per session or caller. */
  readonly isIsolated: boolean
  readonly now: number
}

/** Creates an entry; undefined if the answer cannot or need not be cached. */
function createEntry(keeping: NewEntry): CacheEntry | undefined {
  const { call, policy, result, now } = keeping
  if (!isCacheable(result)) return undefined
  const isList = LIST_METHODS.has(call.method)
  const hints = parseHints(result, call.method)
  const times = computeTimes(policy, hints, now)
  // Stale lists are still shown while the server sleeps.
  if (times.staleAt <= now && !isList) return undefined
  const chosen = chooseKey(keeping, hints)
  const payload = isList ? result : stripPayload(result, hints !== undefined)
  return {
    upstream: call.upstream,
    method: call.method,
    target: keeping.target,
    ...chosen,
    payload,
    bytes: CacheStore.cost(chosen.key, payload),
    storedAt: now,
    ...times,
    isPortable: isList && isPortable(keeping, chosen.scope),
    trust: 'known',
    hits: 0,
  }
}

type Times = Pick<CacheEntry, 'hintUntil' | 'staleAt' | 'revalidateUntil'>

function computeTimes(policy: CachePolicy, hints: Hints | undefined, now: number): Times {
  const staleAt = now + Math.min(hints?.ttlMs ?? Infinity, policy.ttlMs)
  return {
    hintUntil: hints === undefined ? undefined : now + hints.ttlMs,
    staleAt,
    // Never serve an answer stale if its server declared it immediately stale.
    revalidateUntil: staleAt + (hints?.ttlMs === 0 ? 0 : policy.staleWhileRevalidateMs),
  }
}

/** Uses the shared key only if the server declares the answer public and no caller data reached it. */
function chooseKey(keeping: NewEntry, hints: Hints | undefined): Pick<CacheEntry, 'key' | 'scope'> {
  const { keys, policy } = keeping
  if (hints?.isPublic === true && isShareable(keeping)) return { key: keys.shared, scope: 'public' }
  return { key: keys.own, scope: policy.perSession ? 'session' : 'principal' }
}

/** Errors, input requests and tasks are not cacheable. */
function isCacheable(result: Payload): boolean {
  const bytes = result.bytes()
  if (!bytes.includes('"isError"') && !bytes.includes('"resultType"')) return true
  const { isError, resultType } = result.value()
  return isError !== true && (resultType === undefined || resultType === 'complete')
}

interface Hints {
  readonly ttlMs: number
  readonly isPublic: boolean
}

/** Parses a modern server's caching hints: lifetime and scope (2026-07-28, caching). */
function parseHints(result: Payload, method: string): Hints | undefined {
  if (result.era !== 'modern' || METHODS.get(method)?.cacheable !== true) return undefined
  const { ttlMs, cacheScope } = result.value()
  const isTime = typeof ttlMs === 'number' && ttlMs > 0
  return { ttlMs: isTime ? ttlMs : 0, isPublic: cacheScope === 'public' }
}

/** True if no caller data reached the server: no credentials and no individual connection. */
function isShareable({ call, policy, isIsolated }: NewEntry): boolean {
  return !isIsolated && !policy.perSession && Object.keys(call.headers).every(name => MIRRORED.test(name))
}

/** True if the entry can be saved across restarts, because it belongs to no caller. */
function isPortable({ call, policy }: NewEntry, scope: CacheEntry['scope']): boolean {
  const isNobodys = authorizationKey(call.exchange.session.principal) === NOBODY
  const isBare = policy.headers.length === 0 && Object.keys(call.headers).length === 0
  return isBare && (scope === 'public' || (scope === 'principal' && isNobodys))
}

/** Removes the members added per response and copies the bytes, which may be a slice. */
function stripPayload(result: Payload, hasHint: boolean): Payload {
  return hasHint ? result.edit(['ttlMs', 'cacheScope']) : Payload.fromBytes(Buffer.from(result.bytes()), result.era)
}

/** Builds the response from an entry, with the remaining lifetime. */
function presentEntry(entry: CacheEntry, state: 'hit' | 'stale', now: number): Payload {
  if (LIST_METHODS.has(entry.method) || entry.hintUntil === undefined) return entry.payload
  const remainingMs = Math.min(entry.hintUntil, entry.staleAt) - now
  return entry.payload.edit([], {
    ttlMs: state === 'stale' ? 0 : Math.max(0, Math.floor(remainingMs)),
    cacheScope: entry.scope === 'public' ? 'public' : 'private',
  })
}

interface UpstreamCacheDeps {
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
