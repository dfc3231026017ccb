import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Log, Principal } from '../../../../src/api/index.ts'
import { GatewayError } from '../../../../src/errors/errors.ts'
import { RequestQueue } from '../../../../src/upstreams/connection/request-queue.ts'
import { Pending } from '../../../../src/upstreams/transport.ts'
import { callOf } from '../../fixtures/upstream-bench.ts'

const MIB = 1024 * 1024

function of(subject: string): Pending {
  const principal: Principal = { issuer: '', client: '', subject, scopes: [] }
  const call = callOf('tools/call', {}, {}, {}, { principal })
  return new Pending(
    1,
    call.method,
    call,
    () => undefined,
    () => undefined,
  )
}

/** A stream that is read only when it is told so. */
function stream(t: { unread: number; written: string[] }) {
  return {
    hasRoom: (bytes: number): boolean => t.unread === 0 || t.unread + bytes <= MIB,
    write: (text: string): void => {
      t.written.push(text.charAt(0))
      t.unread += Buffer.byteLength(text)
    },
  }
}

interface Logged {
  readonly message: string
  readonly fields: unknown
}

function upstream(logged: Logged[] = []): { name: string; log: Log } {
  const warn = (message: string, fields?: unknown): unknown => logged.push({ message, fields })
  return { name: 'it', log: { warn } as unknown as Log }
}

function text(letter: string, mib: number): string {
  return letter.repeat(mib * MIB)
}

test('requests of several callers go out in turns as their server reads, whatever their size', () => {
  const pipe = { unread: 0, written: [] as string[] }
  const queue = new RequestQueue(upstream(), stream(pipe))
  for (const letter of ['a', 'b', 'c']) queue.send(of('greedy'), text(letter, 4))
  queue.send(of('modest'), 'm')
  assert.deepEqual(pipe.written, ['a'])

  for (let read = 0; read < 4; read++) {
    pipe.unread = 0
    queue.drained()
  }

  assert.deepEqual(pipe.written, ['a', 'b', 'm', 'c'])
})

test('a caller has a share of what may wait, and is told that the server is busy beyond it', () => {
  const pipe = { unread: 2 * MIB, written: [] as string[] }
  const queue = new RequestQueue(upstream(), stream(pipe))
  const refusal = (error: unknown): boolean =>
    error instanceof GatewayError && error.code === 'GW_UPSTREAM_BUSY' && error.fields.retryAfterMs === 1000
  for (const letter of ['a', 'b']) queue.send(of('greedy'), text(letter, 4))

  assert.throws(() => queue.send(of('greedy'), 'x'), refusal)
  for (const other of ['1', '2', '3']) for (const letter of ['y', 'z']) queue.send(of(other), text(letter, 4))
  assert.throws(() => queue.send(of('4'), 'x'), refusal, 'all together have a bound, too')
})

test('a request that is taken back before it was sent is never sent, and makes room', () => {
  const pipe = { unread: 2 * MIB, written: [] as string[] }
  const queue = new RequestQueue(upstream(), stream(pipe))
  const [one, two] = [of('a'), of('a')]
  queue.send(one, text('1', 8))
  assert.throws(() => queue.send(two, text('2', 1)))

  assert.equal(queue.withdraw(one), true)
  assert.equal(queue.withdraw(one), false)
  queue.send(two, text('2', 1))
  pipe.unread = 0
  queue.drained()

  assert.deepEqual(pipe.written, ['2'])
  assert.equal(queue.withdraw(two), false)
})

test('no more than 1 MiB, or one message, is handed to a pipe that is not read', () => {
  const pipe = { unread: 0, written: [] as string[] }
  const queue = new RequestQueue(upstream(), stream(pipe))
  const half = text('h', 0.5)
  for (let count = 0; count < 3; count++) queue.send(of('a'), half)
  assert.equal(pipe.unread, MIB)

  queue.send(of('b'), text('b', 4))
  pipe.unread = 0
  queue.drained()
  assert.equal(pipe.unread, MIB / 2, 'what is larger waits until the pipe is empty')

  pipe.unread = 0
  queue.drained()
  assert.deepEqual(pipe.written, ['h', 'h', 'h', 'b'])
  assert.equal(pipe.unread, 4 * MIB)
})

test('what waits is counted in bytes, not in characters', () => {
  const pipe = { unread: 1, written: [] as string[] }
  const queue = new RequestQueue(upstream(), stream(pipe))
  const wide = '€'.repeat(MIB)
  queue.send(of('a'), wide)
  queue.send(of('a'), wide)

  assert.throws(() => queue.send(of('a'), wide), /over 8 MiB/)
})

test('replies and notifications go before the requests that wait, and no more of them wait than 8 MiB', () => {
  const pipe = { unread: MIB, written: [] as string[] }
  const queue = new RequestQueue(upstream(), stream(pipe))
  queue.send(of('a'), 'a')
  for (const letter of ['1', '2', '3']) queue.reply(text(letter, 4))

  for (let read = 0; read < 4; read++) {
    pipe.unread = 0
    queue.drained()
  }

  assert.deepEqual(pipe.written, ['1', '2', 'a'])
})

test('the first reply that is dropped is logged, with its size and the reason, once until the server reads again', () => {
  const pipe = { unread: MIB, written: [] as string[] }
  const logged: Logged[] = []
  const queue = new RequestQueue(upstream(logged), stream(pipe))
  for (const letter of ['1', '2']) queue.reply(text(letter, 4))
  assert.equal(logged.length, 0)

  for (const letter of ['3', '4']) queue.reply(text(letter, 1))
  queue.reply(`{"jsonrpc":"2.0","method":"${text('n', 1)}"}`)
  assert.deepEqual(logged, [
    {
      message: 'messages to the server are dropped until it reads again',
      fields: {
        what: 'reply',
        bytes: MIB,
        waiting: 8 * MIB,
        why: 'it reads slower than it is sent to: over 8 MiB of replies and notifications wait',
      },
    },
  ])

  for (let read = 0; read < 3; read++) {
    pipe.unread = 0
    queue.drained()
  }
  assert.deepEqual(pipe.written, ['1', '2'])
  pipe.unread = MIB
  for (const letter of ['5', '6']) queue.reply(text(letter, 4))
  queue.reply(`{"jsonrpc":"2.0","method":"notifications/cancelled"}`)
  assert.equal(logged.length, 2)
  assert.equal((logged.at(-1)?.fields as { what: string }).what, 'notification')
})
