import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test, type TestContext } from 'node:test'
import { Cluster, type ClusterConfig } from '../../../../plugins/cluster/cluster.ts'
import { MemoryStore } from './store/memory-store.ts'
import type { BesideOthers } from '../../../../src/plugin.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { SILENT } from '../install.ts'
import { KEY } from './setting.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

/** Pause between two looks at replicas that are waited for. */
const LOOK_MS = 1000
/** Time in which owners say again that they live to a store that came back. */
const REFILL_MS = 5000
const LEASE_MS = 5000

/** A replica on this store, and on time of its own. */
async function started(t: TestContext, store: MemoryStore): Promise<{ one: Cluster; clock: HandClock }> {
  const clock = new HandClock()
  const options = { name: 'g', keys: [KEY], listen: '127.0.0.1:0' } as unknown as ClusterConfig
  const one = new Cluster(options, store, { clock, log: SILENT, version: '1', directory: '.' })
  await one.start()
  cleanup(t, () => one.stop())
  return { one, clock }
}

/** A listener without a session of its own. */
const LISTENER = { conversations: { has: () => false } } as unknown as BesideOthers

async function pass(clock: HandClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += LOOK_MS) {
    clock.pass(LOOK_MS)
    for (let turns = 0; turns < 5; turns++) await turn()
  }
}

test('a replica whose lease a store that came back empty does not know is waited for, and a dead one is not', async t => {
  const clockOfStore = new HandClock()
  const store = new MemoryStore(clockOfStore)
  const { one: owner } = await started(t, store)
  const { one: other, clock } = await started(t, store)
  const where = await other.neighbours.join('main', LISTENER).conversation(owner.neighbours.newId())
  assert.ok(typeof where === 'object' && 'address' in where)
  let isGivenUp = false
  where.onGone?.(() => (isGivenUp = true))

  store.clear()
  store.upSince = clock.now()
  await pass(clock, REFILL_MS - LOOK_MS)
  assert.equal(isGivenUp, false)

  await owner.replica.renew()
  await pass(clock, REFILL_MS)
  assert.equal(isGivenUp, false)

  clockOfStore.pass(LEASE_MS + 1)
  await pass(clock, 2 * LOOK_MS)
  assert.equal(isGivenUp, true)
})
