import type { Payload } from '../../protocol/payload.ts'
import type { Part } from './part.ts'
import type { Freshness } from './view.ts'

/** Freshness of a list that nobody should keep. */
export const OUTDATED: Freshness = { ttlMs: () => 0, cacheScope: 'private' }

/** A list made of parts is as fresh as the first of them to grow old, and private if one of them is. */
export function freshnessOf(parts: readonly Part[], perCaller: boolean): Freshness {
  const payloads = parts.flatMap(part => part.payloads)
  const ttls = payloads.map(payload => (payload.era === 'modern' ? payload.value().ttlMs : 0))
  const isPublic = payloads.length > 0 && payloads.every(payload => payload.value().cacheScope === 'public')
  const ttlMs = Math.min(...ttls.map(ttl => (typeof ttl === 'number' && ttl > 0 ? ttl : 0)))
  const cacheScope = isPublic && !perCaller ? 'public' : 'private'
  if (!Number.isFinite(ttlMs) || ttlMs === 0) return { ttlMs: () => 0, cacheScope }
  return { ttlMs: now => leftOf(payloads, ttlMs, now), cacheScope }
}

/** Limits a lifetime to the time that kept payloads have left; one that nobody keeps was made just now. */
function leftOf(payloads: readonly Payload[], ttlMs: number, now: number): number {
  return payloads.reduce(
    (least, { freshUntil }) => Math.max(0, Math.min(least, (freshUntil ?? Infinity) - now)),
    ttlMs,
  )
}
