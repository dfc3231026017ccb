import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Valve, Wasted } from '../../../src/transport/wasted.ts'
import { HandClock } from '../fixtures/hand-clock.ts'

const MIB = 1024 * 1024

test('4 MiB for nobody may come at once, and as much in each second; more waits', () => {
  const { clock, wasted, isPaused } = source()

  for (let count = 0; count < 4; count++) wasted.add(MIB)
  assert.equal(isPaused(), false)
  clock.pass(500)
  for (let count = 0; count < 2; count++) wasted.add(MIB)
  assert.equal(isPaused(), false)
  wasted.add(1)
  assert.equal(isPaused(), true)
})

test('a source that goes on as it can gets 4 MiB a second through', () => {
  const { clock, wasted, isPaused } = source()
  let bytes = 0

  for (let ms = 0; ms < 10_000; ms++) {
    for (let chunks = 0; chunks < 4 && !isPaused(); chunks++) {
      wasted.add(MIB / 16)
      bytes += MIB / 16
    }
    clock.pass(1)
  }

  assert.ok(Math.abs(bytes - 44 * MIB) < MIB, `${bytes / MIB} MiB in 10 s`)
})

test('a message larger than all that may come makes its source wait for as long as it takes, and no longer', () => {
  const { clock, wasted, isPaused } = source()

  wasted.add(8 * MIB)
  clock.pass(999)
  assert.equal(isPaused(), true)
  clock.pass(1)
  assert.equal(isPaused(), false)
})

test('what is said while a source waits keeps it no longer, and who owns it is told once', () => {
  const { clock, wasted, isPaused, told } = source()

  wasted.add(4 * MIB + 1)
  wasted.add(MIB / 64)
  clock.pass(20)
  assert.equal(isPaused(), false)
  wasted.add(MIB / 4)
  assert.equal(isPaused(), true)
  assert.equal(told(), 1)
})

test('a source that ends is read at once, and never waits again', () => {
  const { clock, wasted, isPaused } = source()

  wasted.add(64 * MIB)
  wasted.end()
  assert.equal(isPaused(), false)
  wasted.add(64 * MIB)
  assert.equal(isPaused(), false)
  assert.equal(clock.armed, 0)
})

test('a source that two have paused goes on when both let it', () => {
  let isPaused = false
  const valve = new Valve({ pause: () => (isPaused = true), resume: () => (isPaused = false) })

  valve.pause()
  valve.pause()
  valve.resume()
  assert.equal(isPaused, true)
  valve.resume()
  assert.equal(isPaused, false)
})

function source(): { clock: HandClock; wasted: Wasted; isPaused: () => boolean; told: () => number } {
  const clock = new HandClock()
  let isPaused = false
  let told = 0
  const flow = { pause: () => (isPaused = true), resume: () => (isPaused = false) }
  const wasted = new Wasted({ clock, flow, onSlow: () => told++ })
  return { clock, wasted, isPaused: () => isPaused, told: () => told }
}
