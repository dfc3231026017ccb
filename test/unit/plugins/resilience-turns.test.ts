import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Turns, type Waiter } from '../../../plugins/resilience/turns.ts'

class Caller implements Waiter {
  readonly caller: string
  readonly number: number
  readonly ends: string[] = []
  readonly #log: Caller[]

  constructor(caller: string, number: number, log: Caller[]) {
    this.caller = caller
    this.number = number
    this.#log = log
  }

  begin(): void {
    this.ends.push('began')
    this.#log.push(this)
  }

  pushedOut(): void {
    this.ends.push('pushed out')
  }
}

function names(callers: readonly Caller[]): string {
  return callers.map(({ caller, number }) => `${caller}${number}`).join(' ')
}

test('callers take turns, and each of them is served first come, first served', () => {
  const begun: Caller[] = []
  const turns = new Turns({ concurrency: 1, queue: 10 })
  const waiters = ['a', 'a', 'a', 'b', 'c', 'b'].map((caller, number) => new Caller(caller, number, begun))

  assert.equal(turns.takes(), true)
  for (const waiter of waiters) {
    assert.equal(turns.takes(), false)
    assert.equal(turns.waits(waiter), true)
  }
  waiters.forEach(() => turns.done())

  assert.equal(names(begun), 'a0 b3 c4 a1 b5 a2')
})

test('a caller who fills the queue is refused, and gives way to others', () => {
  const begun: Caller[] = []
  const turns = new Turns({ concurrency: 1, queue: 4 })
  turns.takes()
  const greedy = [0, 1, 2, 3].map(number => new Caller('a', number, begun))
  for (const waiter of greedy) turns.waits(waiter)

  assert.equal(turns.waits(new Caller('a', 4, begun)), false)
  assert.equal(turns.waits(new Caller('b', 5, begun)), true)
  assert.equal(turns.waits(new Caller('b', 6, begun)), true)
  assert.equal(turns.waits(new Caller('b', 7, begun)), false)

  assert.deepEqual(
    greedy.map(({ ends }) => ends),
    [[], [], ['pushed out'], ['pushed out']],
  )
  assert.equal(turns.waiting, 4)
})

test('what ends as soon as it begins does not pile up on the stack', () => {
  const turns = new Turns({ concurrency: 1, queue: 100_000 })
  turns.takes()
  let begun = 0
  for (let number = 0; number < 50_000; number++) {
    const begin = (): void => {
      begun++
      turns.done()
    }
    turns.waits({ caller: 'a', begin, pushedOut: () => undefined })
  }

  turns.done()

  assert.equal(begun, 50_000)
  assert.equal(turns.running, 0)
})

test('without a limit everything runs at once', () => {
  const turns = new Turns({ concurrency: 0, queue: 0 })

  for (let number = 0; number < 5000; number++) assert.equal(turns.takes(), true)
})

const DEEDS = fc.oneof(
  fc.record({ deed: fc.constant('arrive' as const), caller: fc.constantFrom('a', 'b', 'c') }),
  fc.record({ deed: fc.constant('finish' as const) }),
  fc.record({ deed: fc.constant('leave' as const), which: fc.nat(50) }),
  fc.record({ deed: fc.constant('clear' as const), really: fc.integer({ min: 0, max: 9 }) }),
)

test('whatever comes in whatever order, each ends once, in order, and nothing grows beyond its bound', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 0, max: 6 }),
      fc.array(DEEDS, { maxLength: 120 }),
      (concurrency, queue, deeds) => {
        const begun: Caller[] = []
        const arrived: Caller[] = []
        const turns = new Turns({ concurrency, queue })
        for (const deed of deeds) {
          play(deed)
          assert.ok(turns.running <= concurrency && turns.waiting <= queue)
          assert.ok(turns.waiting === 0 || turns.running === concurrency, 'nobody waits while a turn is free')
        }
        while (turns.running > 0) turns.done()

        for (const { ends } of arrived) assert.equal(ends.length, 1)
        for (const caller of ['a', 'b', 'c']) {
          const numbers = begun.filter(one => one.caller === caller).map(({ number }) => number)
          assert.deepEqual(
            numbers,
            numbers.toSorted((one, other) => one - other),
          )
        }

        function play(deed: (typeof deeds)[number]): void {
          if (deed.deed === 'finish' && turns.running > 0) turns.done()
          if (deed.deed === 'leave') leave(arrived[deed.which])
          if (deed.deed === 'clear' && deed.really === 0)
            turns.clear(waiter => arrived.find(one => one === waiter)?.ends.push('cleared'))
          if (deed.deed !== 'arrive') return
          const one = new Caller(deed.caller, arrived.length, begun)
          arrived.push(one)
          if (turns.takes()) one.begin()
          else if (!turns.waits(one)) one.ends.push('refused')
        }

        function leave(one: Caller | undefined): void {
          if (one === undefined || one.ends.length > 0) return
          turns.leaves(one)
          one.ends.push('left')
        }
      },
    ),
  )
})
