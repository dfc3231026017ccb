import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKey } from '../../../src/cli/scaffold/new-key.ts'
import { openQuotas } from '../../../plugins/rate-limit/day-quotas.ts'
import { testClient, testUpstream } from '../../../src/testing/index.ts'
import { serveHttpGateway } from '../../peers/gateway.ts'

/** All that a day's quota came to, over gateways that were killed. */
export interface Day {
  readonly kills: number
  readonly quota: number
  /** Calls that were let through, as the file says. */
  readonly counted: number
  /** Calls that reached the server: less by at most those that were cut. */
  readonly executed: number
  readonly answered: number
  /** Calls whose connection died with a gateway. */
  readonly cut: number
}

/** Calls without a pause, kills the gateway at odd moments, and goes on until the day is spent. */
export async function killedQuota(quota: number, kills: number): Promise<Day> {
  const state = await mkdtemp(join(tmpdir(), 'killed-'))
  const upstream = await testUpstream({ tools: { work: () => 'done' } })
  const { key, hash, name } = createKey('caller', [])
  const config = {
    version: 1,
    listeners: { main: { type: 'http', port: 0 } },
    upstreams: { web: { type: 'http', url: upstream.url } },
    auth: { keys: [{ name, hash }] },
    rateLimit: { state, rules: { daily: { tools: 'web__work', perDay: quota } } },
  }
  let [answered, cut] = [0, 0]
  for (let life = 0; life <= kills; life++) {
    const gateway = await serveHttpGateway(config)
    const client = await testClient(gateway, { headers: { authorization: `Bearer ${key}` } })
    const isLast = life === kills
    // Each life gets a share, so that every one of them ends with calls under way.
    const share = Math.floor((quota / (kills + 1)) * (0.5 + Math.random()))
    let [mine, isOver] = [0, false]
    const worker = async (): Promise<void> => {
      while (!isOver) {
        try {
          const reply = await client.request('tools/call', { name: 'web__work' })
          if (reply.error !== undefined) isOver = true
          else if ((answered++, ++mine) === share && !isLast) gateway.child.process.kill('SIGKILL')
        } catch {
          cut++
          isOver = true
        }
      }
    }
    await Promise.all(Array.from({ length: 4 }, worker))
    await gateway.stop().catch(() => undefined)
  }
  const quotas = openQuotas(state)
  let left = 0
  while (quotas.countCall('daily', JSON.stringify(['api-key', '', 'caller']), quota, Date.now())) left++
  quotas.close()
  const executed = upstream.listCalls('tools/call').length
  await upstream[Symbol.asyncDispose]()
  await rm(state, { recursive: true, force: true })
  return { kills, quota, counted: quota - left, executed, answered, cut }
}
