import type { Call } from '../../src/plugin.ts'
import { ANONYMOUS, authorizationKey, LISTS, METHODS, Payload } from '../../src/plugin.ts'
import type { CacheKeys } from './cache-keys.ts'
import type { CachePolicy } from './cache-rules.ts'
import type { CacheEntry } from './cache-store.ts'
import { CacheStore } from './cache-store.ts'

export const LIST_METHODS: ReadonlySet<string> = new Set(Object.values(LISTS).map(list => list.method))

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
export function createEntry(keeping: NewEntry): CacheEntry | undefined {
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

/** Removes the members added per response and copies the bytes, which may be part of a larger buffer. */
function stripPayload(result: Payload, hasHint: boolean): Payload {
  return hasHint ? result.edit(['ttlMs', 'cacheScope']) : Payload.fromBytes(Buffer.from(result.bytes()), result.era)
}

/** Builds the response from an entry, with the remaining lifetime. */
export function presentEntry(entry: CacheEntry, state: 'hit' | 'stale', now: number): Payload {
  if (LIST_METHODS.has(entry.method) || entry.hintUntil === undefined) return entry.payload
  const remainingMs = Math.min(entry.hintUntil, entry.staleAt) - now
  return entry.payload.edit([], {
    ttlMs: state === 'stale' ? 0 : Math.max(0, Math.floor(remainingMs)),
    cacheScope: entry.scope === 'public' ? 'public' : 'private',
  })
}
