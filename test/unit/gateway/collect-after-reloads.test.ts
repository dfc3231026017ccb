import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectAfterReloads } from '../../../src/gateway/reloader.ts'
import type { Generation } from '../../../src/gateway/generation.ts'
import { createGateway } from '../../../src/index.ts'
import { TestClock } from '../../../src/testing/clock.ts'
import { collectGarbage } from '../../../src/util/process/collect-garbage.ts'

test('reloads in a row are followed by one collection, and later ones by another', () => {
  const { clock, reload, collections } = reloading()

  for (let i = 0; i < 5; i++) {
    reload()
    clock.pass(9000)
  }
  assert.equal(collections(), 0)
  clock.pass(1000)
  assert.equal(collections(), 1)
  clock.pass(60_000)
  assert.equal(collections(), 1)
  reload()
  clock.pass(10_000)
  assert.equal(collections(), 2)
})

test('many reloads in a row do not wait for their end: there is a collection after each tenth', () => {
  const { clock, reload, collections } = reloading()
  const many = (count: number): void => {
    for (let i = 0; i < count; i++) {
      clock.pass(100)
      reload()
    }
  }

  many(9)
  assert.equal(collections(), 0)
  many(1)
  assert.equal(collections(), 1)
  many(25)
  assert.equal(collections(), 3)
  clock.pass(10_000)
  assert.equal(collections(), 4)
  many(9)
  assert.equal(collections(), 4)
})

test('of thirty generations that add and remove servers, no more than two are alive', async () => {
  const gateway = await createGateway(configOf(0))
  await gateway.start()
  const generations: WeakRef<Generation>[] = []

  for (let round = 1; round <= 30; round++) {
    await gateway.reload(configOf(round))
    generations.push(new WeakRef(gateway.generation))
  }
  // The generation that a reload has just left is drained within a poll.
  for (let look = 0; look < 50 && alive() > 2; look++) {
    await new Promise(resolve => setTimeout(resolve, 20))
    collectGarbage()
  }

  assert.ok(alive() <= 2, `${alive()} alive`)
  await gateway.close()

  function alive(): number {
    return generations.filter(one => one.deref() !== undefined).length
  }
  function configOf(round: number): object & Record<string, unknown> {
    const web = { type: 'http', url: 'http://127.0.0.1:9/mcp', start: 'lazy' }
    return { upstreams: { stays: web, [`server-${round % 3}`]: web }, audit: {}, metrics: {} }
  }
})

function reloading(): { clock: TestClock; reload: () => void; collections: () => number } {
  const clock = new TestClock()
  let reload = (): void => undefined
  let count = 0
  const gateway = {
    on: (_event: 'reloaded', listener: () => void) => {
      reload = listener
      return () => undefined
    },
  }
  collectAfterReloads(gateway, clock, () => count++)
  return { clock, reload: () => reload(), collections: () => count }
}
