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
}

function sessionOf(held: HeldBytes): One {
  const store = new EventStore(held)
  const stream = store.begin(AWAY)
  return {
    store,
    stream,
    tell: kib => stream.notify('x'.repeat(kib * KIB)),
  }
}

test('of a change that is told again and again the last is kept, and what else was said stays', () => {
  const held = new HeldBytes(1000 * KIB)
  const { store, stream } = sessionOf(held)
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
