import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import {
  type NewTask,
  type TaskStart,
  TaskStore,
  emptyData,
  openTaskDatabase,
} from '../../../../../plugins/agents/store/task-store.ts'
import { type Log, SqlDatabase } from '../../../../../src/plugin.ts'
import { SlotQueue } from '../../../../../plugins/agents/scheduling.ts'
import { SILENT } from '../../install.ts'
import { fileOf } from './kit.ts'
import { cleanup } from '../../../../fixtures/cleanup.ts'
import { HandClock } from '../../../fixtures/hand-clock.ts'

const START = {
  subject: 'ann',
  request: {},
  cwd: '/',
  files: [],
  depth: 0,
  ground: 't',
} as unknown as TaskStart
const BOUNDS = { max: 100, maxPerCaller: 10 }

function task(id: string, owner = 'ann', key?: string): NewTask {
  return { id, owner, key, root: id, start: START }
}

function open(context: TestContext, file?: string, log: Log = SILENT): SqlDatabase {
  const database = new SqlDatabase(openTaskDatabase(file, log))
  cleanup(context, () => database.close())
  return database
}

test('tasks are there after a restart, in a file and a directory for their owner alone', context => {
  const file = fileOf(context)
  const first = open(context, file)
  new TaskStore(first, () => 5).add(task('t', 'ann', 'key'), BOUNDS)
  first.close()
  const again = new TaskStore(open(context, file), () => 6)

  assert.equal(again.find('t', 'ann')?.createdAt, 5)
  assert.equal(again.findByKey('ann', 'key')?.id, 't')
  assert.equal(again.findByKey('bob', 'key'), undefined)
  assert.deepEqual([statSync(file).mode & 0o777, statSync(dirname(file)).mode & 0o777], [0o600, 0o700])
})

test('what is no database of tasks is set aside, and said', context => {
  const sayings: string[] = []
  const log = { ...SILENT, warn: (message: string) => void sayings.push(message) }
  const file = fileOf(context)
  open(context, file).close()
  const database = new SqlDatabase(openTaskDatabase(join(dirname(file), 'other.db'), SILENT))
  database.run('PRAGMA application_id = 7')
  database.close()
  for (const [name, bytes] of [
    ['garbage.db', Buffer.from('this is no database at all, and never was one'.repeat(50))],
    ['cut.db', readFileSync(file).subarray(0, 5000)],
    ['foreign.db', readFileSync(join(dirname(file), 'other.db'))],
  ] as const) {
    const path = join(dirname(file), name)
    writeFileSync(path, bytes, { mode: 0o600 })
    const fresh = new TaskStore(open(context, path, log), () => 1)
    assert.equal(fresh.add(task('t'), BOUNDS), undefined, name)
    assert.ok(
      readdirSync(dirname(file)).some(other => other.startsWith(`${name}.corrupt-`)),
      name,
    )
  }
  assert.equal(sayings.length, 3)
})

test('the oldest that have ended make room, and with none of those a new one is refused', context => {
  let now = 0
  const store = new TaskStore(open(context), () => ++now)
  const bounds = { max: 3, maxPerCaller: 2 }
  for (const id of ['t1', 't2']) store.add(task(id), bounds)

  assert.equal(store.add(task('t3'), bounds), 'full-of-caller')
  store.add(task('t3', 'bob'), bounds)
  assert.equal(store.add(task('t4', 'bob'), bounds), 'full')
  store.write('t2', 'completed', emptyData())
  assert.equal(store.add(task('t4', 'bob'), bounds), undefined)
  assert.equal(store.find('t2', 'ann'), undefined)
  store.write('t4', 'completed', emptyData())
  store.sweep(-10)
  assert.equal(store.find('t4', 'bob'), undefined)
  assert.deepEqual(
    store.list('bob', undefined, 9).map(({ id }) => id),
    ['t3'],
  )
})

test('one caller whose tasks end one after the other pushes out his own', context => {
  let now = 0
  const store = new TaskStore(open(context), () => ++now)
  const bounds = { max: 4, maxPerCaller: 4 }
  const run = (id: string, owner: string): void => {
    assert.equal(store.add(task(id, owner), bounds), undefined)
    store.write(id, 'completed', emptyData())
  }
  run('b1', 'bob')
  for (let count = 1; count <= 9; count++) run(`a${count}`, 'ann')

  assert.ok(store.find('b1', 'bob') !== undefined, 'the oldest of all is still there')
  assert.deepEqual(
    store.list('ann', undefined, 9).map(({ id }) => id),
    ['a9', 'a8', 'a7'],
  )
})

test('a queue is bounded, serves owners in turn, and forgets who gives up', async () => {
  const queue = new SlotQueue(new HandClock(), { concurrent: 1, queue: 4 })
  const { signal } = new AbortController()
  const order: string[] = []
  const enter = async (owner: string, name: string): Promise<void> => {
    const leave = await queue.acquire(owner, 1000, signal)
    order.push(typeof leave === 'function' ? name : `${name} ${leave}`)
    if (typeof leave !== 'function') return
    assert.equal(queue.running, 1)
    leave()
    // The second time it frees nobody else's place.
    leave()
  }
  const first = await queue.acquire('ann', 1000, signal)
  assert.ok(typeof first === 'function')
  const all = [enter('ann', 'a1'), enter('ann', 'a2'), enter('bob', 'b1'), enter('cy', 'c1'), enter('cy', 'c2')]
  await all[4]
  first()
  await Promise.all(all)

  assert.deepEqual(order, ['c2 full', 'a1', 'b1', 'c1', 'a2'])
  assert.deepEqual([queue.running, queue.queued], [0, 0])
})

test('one owner who fills a queue leaves a place for each of the others, up to as many again', async () => {
  const clock = new HandClock()
  const queue = new SlotQueue(clock, { concurrent: 1, queue: 2 })
  const { signal } = new AbortController()
  const leave = await queue.acquire('ann', 1000, signal)
  const order: string[] = []
  const waiting = ['ann', 'ann', 'ann', 'bob', 'bob', 'cy', 'dan'].map(async owner => {
    const place = await queue.acquire(owner, 1000, signal)
    order.push(typeof place === 'function' ? owner : `${owner} ${place}`)
    if (typeof place === 'function') place()
  })
  await Promise.all([waiting[2], waiting[4], waiting[6]])

  assert.deepEqual(order.splice(0), ['ann full', 'bob full', 'dan full'])

  assert.ok(typeof leave === 'function')
  leave()
  await Promise.all(waiting)
  assert.deepEqual(order, ['ann', 'bob', 'cy', 'ann'])
})

test('who waits too long, or is not wanted any more, leaves the queue', async () => {
  const clock = new HandClock()
  const queue = new SlotQueue(clock, { concurrent: 1, queue: 4 })
  const controller = new AbortController()
  const leave = await queue.acquire('ann', 1000, controller.signal)
  const late = queue.acquire('ann', 1000, new AbortController().signal)
  const dropped = queue.acquire('bob', 5000, controller.signal)
  clock.pass(1000)
  controller.abort()

  assert.deepEqual([await late, await dropped], ['late', 'cancelled'])
  assert.deepEqual([queue.queued, queue.running, clock.armed], [0, 1, 0])
  assert.ok(typeof leave === 'function')
  leave()
  assert.equal(queue.running, 0)
})
