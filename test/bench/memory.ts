/** All that a gateway keeps in memory: idle, for each session, and when it is busy. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Load } from './setup/children.ts'
import { stdioUpstreams, type GatewaySpec } from './setup/gateways.ts'
import { usageOf } from './load/usage.ts'
import type { Pins } from './setup/pin.ts'
import type { Subject, Workshop } from './setup/workshop.ts'

/** One figure, in MB or KB of resident memory. */
export interface MemoryResult {
  readonly key: 'idle' | 'session' | 'session-stream' | 'busy'
  readonly title: string
  readonly unit: 'MB' | 'KB'
  readonly value: number
}

const SESSIONS = 1000
const BUSY_FLIGHTS = 256

interface Bench {
  readonly workshop: Workshop
  readonly load: Load
  readonly pins: Pins
  /** Until garbage is collected and pages are given back. */
  readonly settleMs: number
}

/** Each with a gateway of its own that has all plugins on; `busyMs` is how long it is kept busy. */
export async function measureMemory(bench: Bench, busyMs: number): Promise<readonly MemoryResult[]> {
  const url = await bench.workshop.serverUrl()
  const behind: GatewaySpec = {
    listener: 'http',
    upstreams: { up: { type: 'http', url, era: 'legacy' } },
    plugins: 'all',
  }
  return [
    { key: 'idle', title: 'idle, 5 stdio upstreams that were listed', unit: 'MB', value: await idle(bench) },
    {
      key: 'session',
      title: `per idle session, ${SESSIONS} of them`,
      unit: 'KB',
      value: await perSession(bench, behind, false),
    },
    {
      key: 'session-stream',
      title: `per idle session with its GET stream, ${SESSIONS} of them`,
      unit: 'KB',
      value: await perSession(bench, behind, true),
    },
    {
      key: 'busy',
      title: `with ${BUSY_FLIGHTS} calls in flight`,
      unit: 'MB',
      value: await busy(bench, behind, busyMs),
    },
  ]
}

async function idle(bench: Bench): Promise<number> {
  const gateway = await bench.workshop.gateway({
    listener: 'http',
    upstreams: stdioUpstreams(5),
    plugins: 'all',
  })
  await calls(bench, gateway, 1, 100)
  await pause(bench.settleMs)
  return end(bench, gateway)
}

/** All that a thousand sessions add to a gateway that has worked a little, so that its code is no part of it. */
async function perSession(bench: Bench, spec: GatewaySpec, hasStreams: boolean): Promise<number> {
  const gateway = await bench.workshop.gateway(spec)
  await calls(bench, gateway, 16, 500)
  await pause(bench.settleMs)
  const before = rssOf(gateway)
  if ('url' in gateway.target) await bench.load.hold({ url: gateway.target.url, sessions: SESSIONS, hasStreams })
  await pause(bench.settleMs)
  const after = rssOf(gateway)
  await end(bench, gateway)
  return ((after - before) * 1024) / SESSIONS
}

async function busy(bench: Bench, spec: GatewaySpec, ms: number): Promise<number> {
  const gateway = await bench.workshop.gateway(spec)
  await calls(bench, gateway, BUSY_FLIGHTS, ms)
  return end(bench, gateway)
}

async function calls(
  { load, pins }: Bench,
  { target, pid, prefix }: Subject,
  concurrency: number,
  ms: number,
): Promise<void> {
  pins.subject(pid)
  const ask = { era: 'legacy', method: 'tools/call', tool: `${prefix}small` } as const
  await load.measure({ target, ask, concurrency, warmMs: 10, warmCalls: 0, ms, pid })
}

function rssOf({ pid }: Subject): number {
  return (pid === undefined ? undefined : usageOf(pid)?.rss) ?? Number.NaN
}

async function end({ workshop }: Bench, gateway: Subject): Promise<number> {
  const rss = rssOf(gateway)
  if (gateway.pid !== undefined) await workshop.options.children.end(gateway.pid)
  return rss
}
