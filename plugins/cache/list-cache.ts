import type { Answer, Call, Clock, Dispatch, Payload } from '../../src/plugin.ts'
import { keysOf, type Keys } from './keys.ts'

const MAX_ENTRIES = 1000
const MAX_BYTES = 64 * 1024 * 1024

interface Entry {
  readonly upstream: string
  readonly method: string
  readonly answer: Answer
  readonly bytes: number
  readonly staleAt: number
}

/** A list on its way, with those who wait for it. */
interface Flight {
  readonly call: Call
  readonly answer: Promise<Answer>
}

/** Lists by who asked for them, the least recently used first. A hit is the very object of the miss before it. */
export class ListCache {
  readonly #entries = new Map<string, Entry>()
  readonly #flights = new Map<string, Flight>()
  readonly #ttlMs: number
  readonly #clock: Clock
  #bytes = 0

  constructor(ttlMs: number, clock: Clock) {
    this.#ttlMs = ttlMs
    this.#clock = clock
  }

  /** The list from memory, from a call that is under way, or from the upstream. Errors are never kept. */
  async get(call: Call, next: Dispatch): Promise<Answer> {
    const keys = keysOf(call)
    const kept = this.#find(keys.own) ?? this.#find(keys.shared)
    if (kept !== undefined) return kept
    const flight = this.#flights.get(keys.own)
    if (flight === undefined) return this.#fetch(keys, call, next)
    const answer = await settled(flight)
    // Whoever started it may have given up; that is no reason for those who joined.
    if (flight.call.exchange.cancelled && !call.exchange.cancelled) return this.get(call, next)
    return answer ?? flight.answer
  }

  /** Forgets one upstream's lists, or one of them. What is under way is still answered, but not kept. */
  purge(upstream: string, method?: string): void {
    const isMeant = (what: { readonly upstream: string; readonly method: string }): boolean =>
      what.upstream === upstream && (method === undefined || what.method === method)
    for (const [key, entry] of this.#entries) if (isMeant(entry)) this.#drop(key, entry)
    for (const [key, { call }] of this.#flights) if (isMeant(call)) this.#flights.delete(key)
  }

  async #fetch(keys: Keys, call: Call, next: Dispatch): Promise<Answer> {
    const flight: Flight = { call, answer: next(call) }
    this.#flights.set(keys.own, flight)
    try {
      const answer = await flight.answer
      if (this.#flights.get(keys.own) === flight && 'result' in answer) this.#keep(keys, call, answer)
      return answer
    } finally {
      if (this.#flights.get(keys.own) === flight) this.#flights.delete(keys.own)
    }
  }

  #find(key: string): Answer | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#drop(key, entry)
    if (entry.staleAt <= this.#clock.now()) return undefined
    this.#add(key, entry)
    return entry.answer
  }

  #keep(keys: Keys, { upstream, method }: Call, answer: { readonly result: Payload }): void {
    const { ttlMs, isPublic } = freshnessOf(answer.result, this.#ttlMs)
    const bytes = answer.result.bytes().length
    if (ttlMs <= 0 || bytes > MAX_BYTES) return
    const key = isPublic ? keys.shared : keys.own
    const old = this.#entries.get(key)
    if (old !== undefined) this.#drop(key, old)
    this.#add(key, { upstream, method, answer, bytes, staleAt: this.#clock.now() + ttlMs })
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size <= MAX_ENTRIES && this.#bytes <= MAX_BYTES) break
      this.#drop(oldest, entry)
    }
  }

  #add(key: string, entry: Entry): void {
    this.#entries.set(key, entry)
    this.#bytes += entry.bytes
  }

  #drop(key: string, entry: Entry): void {
    this.#entries.delete(key)
    this.#bytes -= entry.bytes
  }
}

/** The answer of a flight, or undefined when it failed. */
async function settled(flight: Flight): Promise<Answer | undefined> {
  try {
    return await flight.answer
  } catch {
    return undefined
  }
}

/** A modern server says how long its list holds and whether it is the same for everybody (2026-07-28, caching). */
function freshnessOf(result: Payload, limitMs: number): { ttlMs: number; isPublic: boolean } {
  if (result.era !== 'modern') return { ttlMs: limitMs, isPublic: false }
  const { ttlMs, cacheScope } = result.value()
  return {
    ttlMs: typeof ttlMs === 'number' ? Math.min(ttlMs, limitMs) : limitMs,
    isPublic: cacheScope === 'public',
  }
}
