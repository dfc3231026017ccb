import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMinuteMeter, type MeterDeps } from '../../../../plugins/rate-limit/shared/shared-counting.ts'
import { BatchReserves, type SharedCount, StoreHealth } from '../../../../plugins/rate-limit/shared/batch-reserves.ts'
import { gatewayError, type SharedStore } from '../../../../src/plugin.ts'
import { SharedMemory } from '../../../fixtures/shared-memory.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

const WINDOW_MS = 1000

/** A count of so many in each second, of which several processes have a part. */
function counted(store: SharedStore, most: number, more: Partial<SharedCount> = {}): SharedCount {
  return {
    ahead: most < 20 ? 0 : Math.min(Math.floor(most / 10), 50),
    patienceMs: 100,
    reportsDebt: true,
    requestBatch: (key, question) => store.takePermits(key, { max: most, windowMs: WINDOW_MS, ...question }),
    decideLocally: () => ({ allowed: '', retryAfterMs: 1 }),
    createExceeded: waitMs => ({ allowed: '', retryAfterMs: waitMs }),
    onUsed: () => undefined,
    ...more,
  }
}

/** Lets all that is under way in memory come to its end. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 8; turn++) await Promise.resolve()
}

test('what was got and not used is given back after a second, and at the end', async () => {
  const clock = new HandClock(1_000_000)
  const store = new SharedMemory({ now: () => clock.now() }).of()
  const room = async (): Promise<number> => {
    const { granted } = await store.takePermits('k', { max: 200, windowMs: 60_000, count: 200 })
    await store.takePermits('k', { max: 200, windowMs: 60_000, count: 0, unused: granted })
    return granted
  }
  const count = counted(store, 200, {
    requestBatch: (key, question) => store.takePermits(key, { max: 200, windowMs: 60_000, ...question }),
  })
  const reserves = new BatchReserves(count, new StoreHealth(), clock)
  for (let call = 0; call < 10; call++) assert.equal(await reserves.takeOne('k'), undefined)
  await settled()
  assert.ok((await room()) < 190, 'some are reserved')

  clock.pass(1000)
  await settled()
  clock.pass(1000)
  await settled()
  assert.equal(await room(), 190)

  for (let call = 0; call < 5; call++) assert.equal(await reserves.takeOne('k'), undefined)
  await settled()
  await reserves.close()
  assert.equal(await room(), 185)
})

/** A store that can be away, or late. */
function unsteady(
  clock: HandClock,
  sharers: number,
): { store: SharedStore; is: 'up' | 'away' | 'late'; asked: number } {
  const memory = new SharedMemory({ now: () => clock.now(), sharers: () => sharers }).of()
  const state = {
    is: 'up' as 'up' | 'away' | 'late',
    asked: 0,
    store: {
      ...memory,
      processCount: sharers,
      takePermits: async (key: string, request: Parameters<SharedStore['takePermits']>[1]) => {
        state.asked++
        if (state.is === 'away') throw gatewayError('GW_SHARED_AWAY', { why: 'a test' })
        if (state.is === 'late') await new Promise<void>(resolve => clock.after(200, resolve))
        return memory.takePermits(key, request)
      },
    },
  }
  return state
}

function aroundOf(store: SharedStore, clock: HandClock): MeterDeps {
  return { store, clock, health: new StoreHealth() }
}

test('while the store is away each process allows its part, and tells of it later', async () => {
  const clock = new HandClock(1_000_000)
  const away = unsteady(clock, 3)
  const spec = { per: [], perMinute: 30, onStoreLoss: 'share' as const }
  const meter = createMinuteMeter('few', spec, aroundOf(away.store, clock))
  away.is = 'away'

  const verdicts = []
  for (let call = 0; call < 12; call++) verdicts.push(await meter.take('k', 'refuse'))
  assert.equal(verdicts.filter(verdict => verdict === undefined).length, 10)
  assert.equal(verdicts.at(-1)?.retryAfterMs, 60_000)
  assert.ok(away.asked < 3, 'it is not asked for each call')

  away.is = 'up'
  for (let second = 0; second < 3; second++) {
    clock.pass(1000)
    await settled()
    void meter.take('k', 'refuse')
    await settled()
  }
  const other = await away.store.takePermits('minute few k', { max: 30, windowMs: 60_000, count: 30 })
  assert.ok(other.granted <= 20, `the ten are counted: ${other.granted}`)
})

test('with "refuse" nothing is let in that is not reserved', async () => {
  const clock = new HandClock(1_000_000)
  const away = unsteady(clock, 3)
  const spec = { per: [], perMinute: 30, onStoreLoss: 'refuse' as const }
  const meter = createMinuteMeter('few', spec, aroundOf(away.store, clock))
  for (let call = 0; call < 3; call++) assert.equal(await meter.take('k', 'refuse'), undefined)
  await settled()
  away.is = 'away'

  const verdicts = []
  for (let call = 0; call < 20; call++) verdicts.push(await meter.take('k', 'refuse'))

  assert.ok(verdicts.filter(verdict => verdict === undefined).length <= 3, 'what was reserved')
  assert.equal(verdicts.at(-1)?.isStoreLost, true)
})

test('calls do not wait for a store that is late, and what it says late counts', async () => {
  const clock = new HandClock(1_000_000)
  const late = unsteady(clock, 1)
  const spec = { per: [], perMinute: 5, onStoreLoss: 'share' as const }
  const meter = createMinuteMeter('few', spec, aroundOf(late.store, clock))
  late.is = 'late'

  let first: unknown = 'waits'
  void Promise.resolve(meter.take('k', 'refuse')).then(verdict => (first = verdict))
  clock.pass(100)
  await settled()
  assert.equal(first, undefined)
  assert.equal(meter.take('k', 'refuse'), undefined, 'the next one waits for nothing')
  clock.pass(200)
  await settled()
  late.is = 'up'
  clock.pass(1000)
  await settled()
  void meter.take('k', 'refuse')
  await settled()
  clock.pass(1000)
  await settled()

  const { granted } = await late.store.takePermits('minute few k', { max: 5, windowMs: 60_000, count: 5 })
  assert.equal(granted, 2)
})
