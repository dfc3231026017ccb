import { setTimeout as pause } from 'node:timers/promises'
import { connectV1 } from '../../peers/sdk-v1-client.ts'
import { connectV2 } from '../../peers/sdk-v2-client.ts'

/** Clients of each sort. */
export const EACH = 8
const PATIENCE_MS = 20_000
const PAUSE_MS = 200
const MOST_TRIES = 50

interface Caller {
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>
  close(): Promise<void>
}

const SORTS: Readonly<Record<string, (url: string) => Promise<Caller>>> = {
  'SDK v1': url => connectV1({ url }),
  'SDK v2, legacy': url => connectV2({ url }, 'legacy'),
  'SDK v2, modern': url => connectV2({ url }, 'modern'),
}

/** Sum of what clients of one sort have seen. */
export interface Count {
  calls: number
  mixed: number
  lost: number
  begunAnew: number
  /** Milliseconds of calls that came to an answer. */
  readonly took: number[]
  readonly why: Map<string, number>
}

/** Clients that call without a pause, each with words of its own. */
export interface Callers {
  stop(): Promise<ReadonlyMap<string, Count>>
}

/** Starts clients of both SDKs and both eras. One whose session is gone begins anew where `isGone` says so, else it asks again in it. */
export function startCallers(url: string, isGone: (why: string) => boolean): Callers {
  const counts = new Map<string, Count>()
  const end = new AbortController()
  const callers = Object.entries(SORTS).flatMap(([sort, connect]) => {
    const count: Count = { calls: 0, mixed: 0, lost: 0, begunAnew: 0, took: [], why: new Map() }
    counts.set(sort, count)
    return Array.from({ length: EACH }, (_, n) =>
      callOn({ who: `${sort} ${n}`, connect: () => connect(url), count, isGone, signal: end.signal }),
    )
  })
  return {
    stop: async () => {
      end.abort()
      await Promise.all(callers)
      return counts
    },
  }
}

export function printCounts(counts: ReadonlyMap<string, Count>): void {
  for (const [sort, { calls, mixed, lost, begunAnew, took, why }] of counts) {
    const sorted = took.sort((one, other) => one - other)
    const at = (part: number): number => Math.round(sorted[Math.floor(sorted.length * part)] ?? 0)
    const waits = `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(0.99999)} ms`
    const what = `${calls} answers, ${mixed} mixed up, ${lost} lost, ${begunAnew} begun anew`
    console.log(`  ${sort.padEnd(15)} ${EACH} clients, ${what}; ${waits}`)
    for (const [reason, times] of why) console.log(`      ${times} × ${reason}`)
  }
}

interface Calling {
  readonly who: string
  readonly count: Count
  readonly signal: AbortSignal
  connect(): Promise<Caller>
  isGone(why: string): boolean
}

async function callOn({ who, connect, count, isGone, signal }: Calling): Promise<void> {
  let client = await again(connect)
  for (let n = 0; !signal.aborted; n++) {
    const message = `${who} says ${n}`
    const began = performance.now()
    try {
      const result = await within(client.callTool({ name: 'test_echo', arguments: { message } }))
      count.calls++
      count.took.push(performance.now() - began)
      if (!JSON.stringify(result).includes(`${message}"`)) count.mixed++
    } catch (error) {
      const why = String(error instanceof Error ? error.message : error).slice(0, 240)
      count.lost++
      count.why.set(why, (count.why.get(why) ?? 0) + 1)
      await pause(PAUSE_MS)
      if (!isGone(why)) continue
      await client.close().catch(() => undefined)
      client = await again(connect)
      count.begunAnew++
    }
  }
  await client.close().catch(() => undefined)
}

async function again(connect: () => Promise<Caller>): Promise<Caller> {
  for (let tries = 0; ; tries++) {
    try {
      return await connect()
    } catch (error) {
      if (tries >= MOST_TRIES) throw error
      await pause(PAUSE_MS)
    }
  }
}

function within<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error('no answer came')), PATIENCE_MS)
    work.then(resolve, reject).finally(() => clearTimeout(late))
  })
}
