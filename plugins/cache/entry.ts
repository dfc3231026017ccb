import type { Call, JsonObject } from '../../src/plugin.ts'
import { ANONYMOUS, authorizationKey, LISTS, METHODS, Payload } from '../../src/plugin.ts'
import type { CacheKeys } from './cache-keys.ts'
import type { CachePolicy } from './policy.ts'
import type { CacheEntry } from './cache-store.ts'
import { CacheStore } from './cache-store.ts'

/** `_meta` key of a result that says what the cache did: `{ "state": "hit" | "stale" | "miss", "ageMs": … }`. */
const CACHE_META = 'io.tapgate/cache'

/** Methods that list. */
export const LIST_METHODS: ReadonlySet<string> = new Set(Object.values(LISTS).map(list => list.method))

const NOBODY = authorizationKey(ANONYMOUS)
const MIRRORED = /^mcp-/

/** Parts of a new entry. */
interface NewEntry {
  readonly call: Call
  readonly target: string
  readonly keys: CacheKeys
  readonly policy: CachePolicy
  readonly result: Payload
  /** True if the server has a connection for each session or caller. */
  readonly isIsolated: boolean
  /** True if results say what the cache did. */
  readonly saysSo: boolean
  readonly now: number
}

/** The answer as it is kept; undefined when it may not be, or need not. */
export function createEntry(keeping: NewEntry): CacheEntry | undefined {
  const { call, policy, result, now } = keeping
  if (!isCacheable(result)) return undefined
  const isList = LIST_METHODS.has(call.method)
  const hints = parseHints(result, call.method)
  const times = computeTimes(policy, hints, now)
  // A list that has grown old is still what is shown while its server sleeps.
  if (times.staleAt <= now && !isList) return undefined
  const place = chooseKey(keeping, hints)
  const payload = isList ? result : stripPayload(keeping, hints !== undefined)
  return {
    upstream: call.upstream,
    method: call.method,
    target: keeping.target,
    tags: policy.tags,
    ...place,
    payload,
    meta: keeping.saysSo && !isList ? result.value()._meta : undefined,
    bytes: CacheStore.cost(place.key, payload),
    storedAt: now,
    ...times,
    isPortable: isList && isPortable(keeping, place.scope),
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
    // An answer that its server calls stale at once is never given out as if it were good enough.
    revalidateUntil: staleAt + (hints?.ttlMs === 0 ? 0 : policy.staleWhileRevalidateMs),
  }
}

/** Everyone's only when the server says so and nothing of the caller reached it. */
function chooseKey(keeping: NewEntry, hints: Hints | undefined): Pick<CacheEntry, 'key' | 'scope'> {
  const { keys, policy } = keeping
  if (hints?.isPublic === true && isShareable(keeping)) return { key: keys.shared, scope: 'public' }
  return { key: keys.own, scope: policy.perSession ? 'session' : 'principal' }
}

/** Errors, requests for input and tasks are no answers to keep. */
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

/** Hints of a modern server on how long its result holds, and whether it is everybody's (2026-07-28, caching). */
function parseHints(result: Payload, method: string): Hints | undefined {
  if (result.era !== 'modern' || METHODS.get(method)?.cacheable !== true) return undefined
  const { ttlMs, cacheScope } = result.value()
  const isTime = typeof ttlMs === 'number' && ttlMs > 0
  return { ttlMs: isTime ? ttlMs : 0, isPublic: cacheScope === 'public' }
}

/** True if nothing of the caller reached the server: no credential, no connection of its own. */
function isShareable({ call, policy, isIsolated }: NewEntry): boolean {
  return !isIsolated && !policy.perSession && Object.keys(call.headers).every(name => MIRRORED.test(name))
}

/** True if the next process may have it too, as it is nobody's in particular. */
function isPortable({ call, policy }: NewEntry, scope: CacheEntry['scope']): boolean {
  const isNobodys = authorizationKey(call.exchange.session.principal) === NOBODY
  const isBare = policy.headers.length === 0 && Object.keys(call.headers).length === 0
  return isBare && (scope === 'public' || (scope === 'principal' && isNobodys))
}

/** Without what is put in anew each time, in bytes of its own: those that came may be part of something larger. */
function stripPayload({ result, saysSo }: NewEntry, hasHint: boolean): Payload {
  const without = [...(hasHint ? ['ttlMs', 'cacheScope'] : []), ...(saysSo ? ['_meta'] : [])]
  return without.length > 0 ? result.edited(without) : Payload.raw(Buffer.from(result.bytes()), result.era)
}

/** A kept answer as it goes out now: with the time that is left, and what the cache did where that is wanted. */
export function presentEntry(
  entry: CacheEntry,
  state: 'hit' | 'stale',
  now: number,
  saysSo: boolean,
): Payload {
  if (LIST_METHODS.has(entry.method)) return entry.payload
  const put: JsonObject = {}
  if (entry.hintUntil !== undefined) {
    const left = Math.min(entry.hintUntil, entry.staleAt) - now
    put.ttlMs = state === 'stale' ? 0 : Math.max(0, Math.floor(left))
    put.cacheScope = entry.scope === 'public' ? 'public' : 'private'
  }
  if (saysSo) put._meta = buildMeta(entry.meta, state, now - entry.storedAt)
  return Object.keys(put).length === 0 ? entry.payload : entry.payload.edited([], put)
}

/** An answer that was not kept yet, saying so. */
export function markMiss(result: Payload): Payload {
  return result.edited(['_meta'], { _meta: buildMeta(result.value()._meta, 'miss', 0) })
}

function buildMeta(own: unknown, state: string, ageMs: number): JsonObject {
  return { ...(own as JsonObject | undefined), [CACHE_META]: { state, ageMs: Math.round(ageMs) } }
}
