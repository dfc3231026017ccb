import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PermitQueue, type QueuedCall } from '../../../../plugins/resilience/permit-queue.ts'

class Caller implements QueuedCall {
  readonly caller: string
  readonly number: number
  readonly ends: string[] = []
  readonly #log: Caller[]

  constructor(caller: string, number: number, log: Caller[]) {
    this.caller = caller
    this.number = number
    this.#log = log
  }

  onPermit(): void {
    this.ends.push('began')
    this.#log.push(this)
  }

  onEvicted(): void {
    this.ends.push('pushed out')
  }
}

/** Callers that have a turn already when a test begins. */
const OTHER = { caller: 'other' }

function names(callers: readonly Caller[]): string {
  return callers.map(({ caller, number }) => `${caller}${number}`).join(' ')
}

test('callers take turns, and each of them is served first come, first served', () => {
  const begun: Caller[] = []
  const turns = new PermitQueue({ concurrency: 1, queue: 10 })
  const waiters = ['a', 'a', 'a', 'b', 'c', 'b'].map((caller, number) => new Caller(caller, number, begun))

  assert.equal(turns.tryAcquire(OTHER), true)
  for (const waiter of waiters) {
    assert.equal(turns.tryAcquire(waiter), false)
    assert.equal(turns.enqueue(waiter), true)
  }
  waiters.forEach(() => turns.release(begun.at(-1) ?? OTHER))

  assert.equal(names(begun), 'a0 b3 c4 a1 b5 a2')
})

test('a caller who fills the queue is refused, and gives way to others', () => {
  const begun: Caller[] = []
  const turns = new PermitQueue({ concurrency: 1, queue: 4 })
  turns.tryAcquire(OTHER)
  const greedy = [0, 1, 2, 3].map(number => new Caller('a', number, begun))
  for (const waiter of greedy) turns.enqueue(waiter)

  assert.equal(turns.enqueue(new Caller('a', 4, begun)), false)
  assert.equal(turns.enqueue(new Caller('b', 5, begun)), true)
  assert.equal(turns.enqueue(new Caller('b', 6, begun)), true)
  assert.equal(turns.enqueue(new Caller('b', 7, begun)), false)

  assert.deepEqual(
    greedy.map(({ ends }) => ends),
    [[], [], ['pushed out'], ['pushed out']],
  )
  assert.equal(turns.waiting, 4)
})

test('what ends as soon as it begins does not pile up on the stack', () => {
  const turns = new PermitQueue({ concurrency: 1, queue: 100_000 })
  turns.tryAcquire(OTHER)
  let begun = 0
  for (let number = 0; number < 50_000; number++) {
    const begin = (): void => {
      begun++
      turns.release({ caller: 'a' })
    }
    turns.enqueue({ caller: 'a', onPermit: begin, onEvicted: () => undefined })
  }

  turns.release(OTHER)

  assert.equal(begun, 50_000)
  assert.equal(turns.running, 0)
})
