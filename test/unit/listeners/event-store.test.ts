import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeldBytes } from '../../../src/transport/backlog.ts'
import { EventStore, type KeptStream } from '../../../src/listeners/http/mcp/event-store.ts'
import type { SseStream } from '../../../src/listeners/http/sse-writer.ts'

const KIB = 1024
/** Stream that nobody reads. */
const AWAY = { isOpen: false, tell: () => false, send: () => false } as unknown as SseStream

interface One {
  readonly store: EventStore
  readonly stream: KeptStream
  tell(kib: number): boolean
  kept(): number
}

function sessionOf(held: HeldBytes, caller: string): One {
  const store = new EventStore(held, caller)
  const stream = store.begin(AWAY)
  return {
    store,
    stream,
    tell: kib => stream.notify('x'.repeat(kib * KIB)),
    kept: () => store.since({ stream, after: 0 }).length,
  }
}

test('a caller who fills the room for events takes none of it from another caller', () => {
  const held = new HeldBytes({ total: 1000 * KIB, each: 1000 * KIB })
  const greedy = Array.from({ length: 5 }, () => sessionOf(held, 'greedy'))
  const modest = sessionOf(held, 'modest')
  assert.equal(modest.tell(10), true)
  for (const one of greedy) for (let count = 0; count < 5; count++) one.tell(100)
  assert.ok(held.bytes <= 1000 * KIB)

  assert.equal(modest.tell(10), true, 'what comes is kept, too')

  assert.equal(modest.kept(), 2)
  assert.ok(held.bytes <= 1000 * KIB)
})

test('a caller has a share of the room for events, and gives up the older session of its own beyond it', () => {
  const held = new HeldBytes({ total: 1000 * KIB, each: 300 * KIB })
  const [first, second] = [sessionOf(held, 'one'), sessionOf(held, 'one')] as [One, One]
  for (let count = 0; count < 2; count++) first.tell(100)
  for (let count = 0; count < 2; count++) second.tell(100)

  assert.deepEqual([first.kept(), second.kept()], [0, 2])
  assert.equal(first.tell(50), true, 'what it says from then on is kept again')
  assert.equal(held.of('one'), 250 * KIB)
})

test('events that are forgotten make room', () => {
  const held = new HeldBytes({ total: 300 * KIB, each: 300 * KIB })
  const [one, other] = [sessionOf(held, 'one'), sessionOf(held, 'other')] as [One, One]
  one.tell(100)
  other.tell(100)
  one.store.forget(one.stream)
  assert.equal(held.bytes, 100 * KIB)

  other.store.close()
  assert.equal(held.bytes, 0)
})

test('of a change that is told again and again the last is kept, and what else was said stays', () => {
  const held = new HeldBytes({ total: 1000 * KIB, each: 1000 * KIB })
  const { store, stream } = sessionOf(held, 'one')
  const other = store.begin(AWAY)
  stream.notify('a word')
  other.notify('tools changed', true)

  for (let count = 0; count < 1000; count++) {
    stream.notify('tools changed', true)
    stream.notify('resource 1 changed', true)
  }
  stream.notify('a word')

  const texts = store.since({ stream, after: 0 }).map(({ message }) => message)
  assert.deepEqual(texts, ['a word', 'tools changed', 'resource 1 changed', 'a word'])
  assert.equal(store.since({ stream: other, after: 0 }).length, 1)
  assert.equal(held.bytes, [...texts, 'tools changed'].join('').length)
})

test('a change that was told before and is forgotten is kept when it is told again', () => {
  const held = new HeldBytes({ total: 1000 * KIB, each: 1000 * KIB })
  const { store, stream } = sessionOf(held, 'one')
  const other = store.begin(AWAY)
  other.notify('tools changed', true)
  store.forget(other)

  stream.notify('tools changed', true)
  stream.notify('tools changed', true)

  assert.equal(store.since({ stream, after: 0 }).length, 1)
  assert.equal(held.bytes, 'tools changed'.length)
})
