import { createKey } from '../../../src/cli/scaffold.ts'
import { testClient, testGateway, testUpstream, type TestClient } from '../../../src/testing/index.ts'

const POLITE = 8
const EVERY_MS = 80
const TIMES = 10
/** All that the server can do: one call after the other. */
const WORK_MS = 5

/** Calls answered within the time, of those who keep to their pace and of the one who does not. */
export interface Flow {
  readonly polite: number
  readonly flooder: number
  readonly refused: number
}

/** Eight callers at their pace, and perhaps one at ten times that, over a server that works on one call at a time. */
export async function flood(ms: number, isFlooded: boolean, isLimited: boolean): Promise<Flow> {
  let turn = Promise.resolve()
  const work = (): Promise<string> =>
    new Promise(resolve => {
      turn = turn.then(() => new Promise(done => setTimeout(done, WORK_MS))).then(() => resolve('done'))
    })
  const upstream = await testUpstream({ tools: { work } })
  const keys = Array.from({ length: POLITE + 1 }, (_, i) => createKey(`caller-${i}`, []))
  const config = {
    auth: { keys: keys.map(({ name, hash }) => ({ name, hash })) },
    ...(isLimited ? { rateLimit: { rules: { each: { perMinute: 300, inFlight: 2 } } } } : {}),
  }
  const gateway = await testGateway({ upstreams: { web: upstream }, config })
  const clients = await Promise.all(
    keys.map(({ key }) => testClient(gateway, { headers: { authorization: `Bearer ${key}` } })),
  )
  const [flooder, ...polite] = clients
  const end = performance.now() + ms
  const flows = [
    ...polite.map(client => pace(client, EVERY_MS, end)),
    ...(flooder !== undefined && isFlooded ? [pace(flooder, EVERY_MS / TIMES, end)] : []),
  ]
  const done = await Promise.all(flows)
  const last = isFlooded ? done.pop() : undefined
  for (const one of [...clients, gateway, upstream]) await one[Symbol.asyncDispose]()
  return {
    polite: done.reduce((sum, { answered }) => sum + answered, 0),
    flooder: last?.answered ?? 0,
    refused: last?.refused ?? 0,
  }
}

/** A call at each tick, whether or not the ones before were answered; what comes after the end does not count. */
async function pace(client: TestClient, everyMs: number, end: number): Promise<{ answered: number; refused: number }> {
  let answered = 0
  let refused = 0
  const calls: Promise<unknown>[] = []
  for (let due = performance.now(); due < end; due += everyMs) {
    const wait = due - performance.now()
    if (wait > 0) await new Promise(resolve => setTimeout(resolve, wait))
    calls.push(
      client.request('tools/call', { name: 'web__work' }).then(
        reply => {
          if (reply.error !== undefined) refused++
          else if (performance.now() <= end) answered++
        },
        // More connections than the listener takes.
        () => refused++,
      ),
    )
  }
  await Promise.all(calls)
  return { answered, refused }
}
