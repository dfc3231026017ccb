/** A gateway kept busy with a bit of everything for a long time, and its memory over that time. */
import { groups, stdioUpstream } from './setup/gateways.ts'
import type { Ask } from './load/messages.ts'
import { usageOf } from './load/usage.ts'
import { slopeOf } from './statistics.ts'
import { Workshop, type Subject, type WorkshopOptions } from './setup/workshop.ts'

const PACE = 300
const SLICE_MS = 5000
const WARM_SHARE = 0.5
const CHURN = 20

/** One slice of each in turn: calls of all sizes to both upstreams, progress, uploads and lists. */
const MIX: readonly { readonly ask: Ask; readonly concurrency: number; readonly pace: number }[] = [
  ...['web__small', 'pipe__small', 'web__kb10', 'pipe__kb10'].map(tool => ({
    ask: { era: 'legacy', method: 'tools/call', tool } as const,
    concurrency: 16,
    pace: PACE,
  })),
  { ask: { era: 'modern', method: 'tools/call', tool: 'web__small' }, concurrency: 16, pace: PACE },
  { ask: { era: 'modern', method: 'tools/call', tool: 'pipe__small' }, concurrency: 16, pace: PACE },
  {
    ask: { era: 'legacy', method: 'tools/call', tool: 'web__progress', wantsProgress: true },
    concurrency: 8,
    pace: PACE,
  },
  { ask: { era: 'legacy', method: 'tools/call', tool: 'web__mb1' }, concurrency: 4, pace: 20 },
  {
    ask: { era: 'legacy', method: 'tools/call', tool: 'pipe__small', bytes: 512 * 1024 },
    concurrency: 1,
    pace: 10,
  },
  { ask: { era: 'legacy', method: 'tools/list' }, concurrency: 8, pace: 100 },
]

/** Runs for `ms`, prints the memory each minute, and the growth. */
export async function soak(all: WorkshopOptions, ms: number): Promise<void> {
  const workshop = new Workshop(all)
  const web = Object.values(groups(await workshop.serverUrl(), 1, 100))[0] ?? stdioUpstream()
  const gateway = await workshop.gateway({
    listener: 'http',
    upstreams: { web, pipe: stdioUpstream() },
    plugins: 'all',
  })
  all.pins.subject(gateway.pid)
  const { calls, samples } = await busy(all, gateway, ms)
  const settled = samples.filter(([minutes]) => minutes * 60_000 >= ms * WARM_SHARE)
  console.log(`${calls.toLocaleString('en')} calls; ${slopeOf(settled).toFixed(3)} MB per minute over the second half`)
}

async function busy(
  { load }: WorkshopOptions,
  { target, pid }: Subject,
  ms: number,
): Promise<{ calls: number; samples: [minutes: number, rss: number][] }> {
  const samples: [number, number][] = []
  const began = performance.now()
  let calls = 0
  let minute = -1
  for (let turn = 0; performance.now() - began < ms; turn++) {
    const { ask, concurrency, pace } = MIX[turn % MIX.length] as (typeof MIX)[number]
    // Sessions come and go too.
    if ('url' in target) await load.hold({ url: target.url, sessions: CHURN, hasStreams: true, areEnded: true })
    const cell = { target, ask, concurrency, pace, warmMs: 0, warmCalls: 0, ms: SLICE_MS, pid }
    calls += (await load.measure(cell)).calls
    const minutes = (performance.now() - began) / 60_000
    const rss = (pid === undefined ? undefined : usageOf(pid)?.rss) ?? Number.NaN
    samples.push([minutes, rss])
    if (Math.floor(minutes) > minute) {
      minute = Math.floor(minutes)
      console.log(`${minutes.toFixed(1).padStart(5)} min  ${rss.toFixed(1)} MB`)
    }
  }
  return { calls, samples }
}
