import { makeKey } from '../../../src/cli/scaffold/new-key.ts'
import { testClient, testGateway, testUpstream, type TestClient } from '../../../src/testing/index.ts'

const POLITE = 5
const FLOOD = 200
const PLACES = 8
const WORK_MS = 150
const SETTLE_MS = 1500

/** Calls of the others that were answered, without and with the flood. */
export interface Loss {
  readonly quiet: number
  readonly flooded: number
  readonly flooder: number
  readonly percent: number
}

/** Five callers with one call after the other at a server of eight places, alone and beside one with 200 at once. */
export async function lossOf(ms: number): Promise<Loss> {
  const work = (): Promise<string> => new Promise(resolve => setTimeout(() => resolve('done'), WORK_MS))
  const upstream = await testUpstream({ tools: { work } })
  const keys = Array.from({ length: POLITE + 1 }, (_, i) => makeKey(`caller-${i}`, []))
  const gateway = await testGateway({
    config: {
      auth: { keys: keys.map(({ name, hash }) => ({ name, hash })) },
      upstreams: { web: { type: 'http', url: upstream.url, limits: { concurrency: PLACES, queue: 1000 } } },
    },
  })
  const clients = await Promise.all(
    keys.map(({ key }) => testClient(gateway, { headers: { authorization: `Bearer ${key}` } })),
  )
  const [greedy, ...polite] = clients
  try {
    const quiet = await answered(polite, 1, ms)
    const isOver = { now: false }
    const flood = greedy === undefined ? Promise.resolve(0) : loops(greedy, FLOOD, () => isOver.now)
    // Until its 200 connections are open, which is not what is asked.
    await new Promise(resolve => setTimeout(resolve, SETTLE_MS))
    const flooded = await answered(polite, 1, ms)
    isOver.now = true
    const flooder = await flood
    return { quiet, flooded, flooder, percent: (1 - flooded / quiet) * 100 }
  } finally {
    for (const one of [...clients, gateway, upstream]) await one[Symbol.asyncDispose]()
  }
}

async function answered(clients: readonly TestClient[], each: number, ms: number): Promise<number> {
  const end = performance.now() + ms
  const counts = await Promise.all(clients.map(client => loops(client, each, () => performance.now() >= end)))
  return counts.reduce((sum, count) => sum + count, 0)
}

/** So many calls at once, each followed by the next until it is over. */
async function loops(client: TestClient, parallel: number, isOver: () => boolean): Promise<number> {
  let count = 0
  const loop = async (): Promise<void> => {
    while (!isOver()) {
      const { result } = await client.request('tools/call', { name: 'web__work' })
      if (result !== undefined) count++
    }
  }
  await Promise.all(Array.from({ length: parallel }, loop))
  return count
}
