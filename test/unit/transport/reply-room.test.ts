import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReplyHold, ReplyRoom } from '../../../src/transport/reply-room.ts'

const KIB = 1024
const MIB = 1024 * KIB

interface Setting {
  readonly room: ReplyRoom
  /** The replies that are being read now. */
  reading(): Promise<string>
  /** Begins a reply of so many bytes, of the caller that its name begins with. */
  begin(name: string, bytes: number): ReplyHold
}

function setting(limits = { total: 10 * MIB, each: 6 * MIB, most: 16 * MIB }): Setting {
  const room = new ReplyRoom(limits)
  const paused = new Set<string>()
  const all: string[] = []
  return {
    room,
    async reading() {
      // Whoever goes on does so behind what is under way.
      await Promise.resolve()
      return all.filter(name => !paused.has(name)).join(' ')
    },
    begin(name, bytes) {
      all.push(name)
      const source = { pause: () => void paused.add(name), resume: () => void paused.delete(name) }
      const hold = new ReplyHold(name.charAt(0), source, undefined, room)
      hold.reach(bytes, true)
      return hold
    },
  }
}

test('replies of a caller wait when its share is taken, and go on in their order', async () => {
  const { begin, reading, room } = setting()
  const [first] = [begin('a1', 4 * MIB), begin('a2', 4 * MIB), begin('a3', 2 * MIB), begin('b1', 4 * MIB)]

  assert.equal(await reading(), 'a1 a3 b1')
  assert.equal(room.waiting, 1)

  first.leave()
  assert.equal(await reading(), 'a1 a2 a3 b1')
  assert.equal(room.waiting, 0)
})

test('the first reply of each caller goes on where there is no room for all', async () => {
  const { begin, reading } = setting()
  for (const name of ['a1', 'b1', 'c1']) begin(name, 5 * MIB)
  begin('a2', MIB)

  assert.equal(await reading(), 'a1 b1 c1')
})

test('one that is larger than all the room is read when it is the oldest', async () => {
  const { begin, reading } = setting()
  const first = begin('a1', 5 * MIB)
  begin('b1', 40 * MIB)
  assert.equal(await reading(), 'a1')

  first.leave()
  assert.equal(await reading(), 'a1 b1')
})

test('room that gets free goes to callers by turns', async () => {
  const { begin, reading } = setting({ total: 4 * MIB, each: 4 * MIB, most: 4 * MIB })
  const first = begin('a1', 4 * MIB)
  for (const name of ['b1', 'b2', 'b3', 'c1']) begin(name, 2 * MIB)

  first.leave()

  assert.equal(await reading(), 'a1 b1 c1')
})

test('replies of unknown length that wait for each other come to their end, one after the other', async () => {
  const { begin, room } = setting()
  const holds = Array.from({ length: 8 }, (_, n) => begin(n % 2 === 0 ? 'a' : 'b', 70 * KIB))
  const read = holds.map(() => 70 * KIB)
  let done = 0
  for (let round = 0; round < 10_000 && done < holds.length; round++)
    holds.forEach((hold, n) => {
      const has = read[n] ?? 0
      if (has >= 5 * MIB || hold.isWaiting) return
      read[n] = has + 64 * KIB
      hold.reach(read[n])
      if (read[n] < 5 * MIB) return
      done++
      hold.leave()
    })

  assert.equal(done, holds.length)
  assert.equal(room.bytes, 0)
  assert.equal(room.waiting, 0)
})

test('small replies take no room and never wait', async () => {
  const { begin, reading, room } = setting({ total: 0, each: 0, most: 0 })

  for (let n = 0; n < 100; n++) begin('a', 64 * KIB).leave()

  assert.equal(room.bytes, 0)
  assert.equal((await reading()).split(' ').length, 100)
})

test('one that is given up while it waits leaves nothing behind', async () => {
  const { begin, reading, room } = setting()
  const first = begin('a1', 5 * MIB)
  const second = begin('a2', 5 * MIB)
  second.leave()
  second.leave()
  assert.equal(room.waiting, 0)
  assert.equal(room.bytes, 5 * MIB)

  first.leave()
  assert.equal(room.bytes, 0)
  assert.equal(await reading(), 'a1')
})
