import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Loop, LoopTurns, type WaitingWork } from '../../../src/transport/loop-turns.ts'

/** An event loop whose time passes as work takes it, and that turns when it is told so. */
class FakeLoop implements Loop {
  time = 10_000
  #callbacks: (() => void)[] = []

  now(): number {
    return this.time
  }

  afterArrivals(callback: () => void): void {
    this.#callbacks.push(callback)
  }

  afterPromises(callback: () => void): void {
    callback()
  }

  turn(): void {
    for (const callback of this.#callbacks.splice(0)) callback()
  }
}

interface Setting {
  readonly loop: FakeLoop
  readonly turns: LoopTurns
  readonly done: string[]
  /** A message of the caller that its name begins with arrives, whose work takes some time. */
  arrives(name: string, ms: number): void
  /** Turns the loop until nothing waits; returns what each turn did. */
  settle(): string[]
}

function setting(): Setting {
  const loop = new FakeLoop()
  const turns = new LoopTurns(loop)
  const done: string[] = []
  const work = (name: string, ms: number) => (): void => {
    loop.time += ms
    done.push(name)
  }
  const arrives = (name: string, ms: number): void => {
    const caller = name.charAt(0)
    if (turns.mayRun(caller)) work(name, ms)()
    else turns.wait(caller, { run: work(name, ms) })
  }
  const settle = (): string[] => {
    const each: string[] = []
    while (turns.waiting > 0) {
      const before = done.length
      loop.turn()
      each.push(done.slice(before).join(' '))
    }
    return each
  }
  return { loop, turns, done, arrives, settle }
}

/** Two callers have each sent so many messages that it counts whose turn it is. */
function shared(): Setting {
  const made = setting()
  for (let n = 0; n < 40; n++) made.arrives(n % 2 === 0 ? 'a' : 'b', 0)
  made.loop.turn()
  made.done.length = 0
  return made
}

test('a caller alone never waits, however much it sends', () => {
  const { arrives, turns, done } = setting()

  for (let n = 0; n < 1000; n++) arrives('a', 5)

  assert.equal(done.length, 1000)
  assert.equal(turns.waiting, 0)
})

test('a caller alone waits while connections are made, one of which each turn of the loop takes', () => {
  const { arrives, turns, loop, done, settle } = setting()
  const send = (): void => {
    for (const name of ['a1', 'a2', 'a3']) arrives(name, 2)
    loop.turn()
  }

  for (let n = 0; n < 3; n++) {
    turns.connected()
    send()
    loop.turn()
  }
  assert.equal(done.splice(0).length, 9, 'connections with turns between them are no crowd')
  for (let n = 0; n < 5; n++) {
    turns.connected()
    loop.time += 60
    loop.turn()
  }
  send()
  assert.deepEqual(done.splice(0), ['a1', 'a2'])
  settle()
  loop.time += 200
  done.length = 0
  send()
  assert.deepEqual(done, ['a1', 'a2', 'a3'], 'no more have come')
})

test('messages that take a millisecond each share the loop, however far apart they come', () => {
  const { arrives, done, loop, settle } = shared()
  for (let n = 0; n < 3; n++) {
    for (const name of ['a', 'b', 'a', 'b', 'a', 'b']) arrives(name, 1)
    loop.time += 10
  }

  assert.equal(done.join(' '), 'a')
  assert.equal(settle().join(' '), `b${' a b'.repeat(8)}`)
})

test('a caller that has used much rests after long work, for a few turns that are those of others', () => {
  const { arrives, loop, done, settle } = shared()
  arrives('a0', 60)
  arrives('a1', 5)
  arrives('a2', 5)
  arrives('b0', 5)
  arrives('b1', 5)
  for (let turn = 0; turn < 3; turn++) loop.turn()
  const before = done.join(' ')

  assert.equal(before, 'a0 b0 b1')
  assert.equal(settle().join('|'), 'a1||||a2')
})

test('beside others a caller that sends without end waits after a millisecond, and who sends little goes first', () => {
  const { arrives, done, settle } = shared()

  for (let n = 0; n < 20; n++) arrives(`a${n}`, 0.25)
  arrives('b0', 0.25)
  const before = done.join(' ')
  const after = settle()

  assert.equal(before, 'a0 a1 a2 a3')
  assert.equal(after[0], 'b0 a4 a5 a6')
  assert.equal(after.slice(1).join(' '), Array.from({ length: 13 }, (_, n) => `a${n + 7}`).join(' '))
})

test('one large message fills a turn, and the next waits behind what others have sent meanwhile', () => {
  const { arrives, done, settle } = shared()

  for (let n = 0; n < 4; n++) arrives(`a${n}`, 40)
  arrives('b0', 1)

  assert.equal(done.join(' '), 'a0')
  assert.deepEqual(
    settle().filter(each => each !== ''),
    ['b0', 'a1', 'a2', 'a3'],
  )
})

test('of several callers that wait the one that has used least is next', () => {
  const { arrives, settle } = shared()
  for (const name of ['a0', 'a1', 'b0', 'a2', 'b1', 'c0']) arrives(name, 0.75)

  assert.deepEqual(settle(), ['c0 b0', 'b1 a2'])
})

test('nothing else is begun in a turn behind work that goes on after it', () => {
  const { arrives, turns, settle, done } = shared()
  arrives('a0', 10)
  const run = (name: string): WaitingWork => ({ ms: 20, run: () => void done.push(name) })
  turns.wait('a', run('a1'))
  turns.wait('a', run('a2'))
  turns.wait('b', run('b1'))

  assert.deepEqual(settle(), ['b1', 'a1', 'a2'])
})

test('work that is taken back is not done, and work that throws stops nobody', () => {
  const { arrives, turns, done, loop } = shared()
  arrives('a0', 10)
  const gone = { run: () => void done.push('gone') }
  turns.wait('a', gone)
  turns.wait('a', {
    run: () => {
      throw new Error('broken')
    },
  })
  turns.wait('b', { run: () => void done.push('b1') })
  turns.wait('a', { run: () => void done.push('a1') })

  assert.equal(turns.leave(gone), true)
  assert.equal(turns.leave(gone), false)
  while (turns.waiting > 0)
    try {
      loop.turn()
    } catch (error) {
      assert.match(String(error), /broken/)
    }

  assert.deepEqual(done, ['a0', 'b1', 'a1'])
})

test('what a caller has used is forgotten with time', () => {
  const { arrives, loop, settle } = shared()
  arrives('a0', 100)
  for (const name of ['a1', 'b0']) arrives(name, 1)
  const before = settle()
  for (let n = 0; n < 12; n++) {
    loop.time += 300
    arrives('b1', 0)
    arrives('c1', 0)
    loop.turn()
  }
  arrives('c2', 9)
  arrives('b2', 5)
  arrives('a2', 5)

  assert.deepEqual(
    before.filter(each => each !== ''),
    ['b0', 'a1'],
  )
  assert.deepEqual(settle(), ['a2', 'b2'])
})
