import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Seal } from '../../../src/core/seal.ts'
import { openTaskId, sealTaskId } from '../../../src/core/tasks/task-ids.ts'
import { TaskStore } from '../../../src/core/tasks/task-store.ts'
import type { Graph } from '../../../src/core/graph-types.ts'
import { Payload } from '../../../src/protocol/payload.ts'
import {
  ANONYMOUS,
  type JsonObject,
  type Notification,
  type Plugin,
  type Principal,
  type Session,
  answer,
} from '../../../src/plugin.ts'
import { begin, taskSetting, until } from './setting.ts'

/** Tool of the calls that are tasks here. */
const OF = { tool: 't__a', upstream: 't', toolThere: 'a' }

const PLACE = {
  at: 'server',
  upstream: 't',
  era: 'modern',
  original: 'task-1',
  tool: 'a',
  toolThere: 'a',
} as const

/** As much of a graph as ids and tables need; `later` moves its clock. */
function graphWith(tasks: TaskStore): { graph: Graph; later(ms: number): void } {
  let now = 0
  const due: { at: number; run: () => void }[] = []
  const clock = {
    now: () => now,
    after: (ms: number, run: () => void) => {
      due.push({ at: now + ms, run })
      return () => undefined
    },
  }
  const later = (ms: number): void => {
    now += ms
    for (const { run } of due.filter(({ at }) => at <= now)) run()
  }
  return { graph: { seal: new Seal(undefined, () => now), clock, tasks } as unknown as Graph, later }
}

function sessionOf(subject: string, id = subject, told: Notification[] = []): Session {
  const principal: Principal = subject === '' ? ANONYMOUS : { issuer: 'i', client: 'c', subject, scopes: [] }
  const notify = (notification: Notification): boolean => told.push(notification) > 0
  const client = { info: { name: 'test', version: '1' } }
  return { id, principal, client, listener: 'l', slots: [], notify } as unknown as Session
}

test('a task is its owner’s, by whatever session, and nobody else’s', () => {
  const { graph } = graphWith(new TaskStore())
  const id = sealTaskId(graph, sessionOf('ada', 'one'), PLACE, 1000)

  assert.deepEqual(openTaskId(graph, sessionOf('ada', 'two'), id), PLACE)
  assert.equal(openTaskId(graph, sessionOf('bob', 'one'), id), undefined)
  assert.equal(openTaskId(graph, sessionOf('', 'one'), id), undefined)
})

test('a task that we keep is not found by another caller who knows what we call it', () => {
  const tasks = new TaskStore()
  const { graph } = graphWith(tasks)
  const task = tasks.createTask(graph, sessionOf('ada'), { ...OF, ttlMs: 1000, cancel: () => undefined })

  assert.equal(tasks.findHosted(task?.id ?? '', sessionOf('ada')), task)
  assert.equal(tasks.findHosted(task?.id ?? '', sessionOf('bob')), undefined)
})

test('a task that we keep lasts a day at most, whatever its client asks for', () => {
  const tasks = new TaskStore()
  const { graph } = graphWith(tasks)

  const task = tasks.createTask(graph, sessionOf('ada'), { ...OF, ttlMs: 1e12, cancel: () => undefined })

  assert.equal(task?.state.ttlMs, 86_400_000)
})

test('one caller has room for a hundred tasks, and takes none from the others', () => {
  const tasks = new TaskStore()
  const { graph } = graphWith(tasks)
  const wanted = { ...OF, ttlMs: 1000, cancel: () => undefined }
  for (let count = 0; count < 100; count++) assert.ok(tasks.createTask(graph, sessionOf('ada'), wanted))

  assert.equal(tasks.createTask(graph, sessionOf('ada'), wanted), undefined)
  assert.ok(tasks.createTask(graph, sessionOf('bob'), wanted))
})

test('the owner of the gateway sees the tasks of all callers, and ends one, whoever has it', () => {
  const tasks = new TaskStore()
  const { graph } = graphWith(tasks)
  const reasons: string[] = []
  const long = { ...OF, tool: 'x'.repeat(1000), ttlMs: 1000, cancel: () => undefined }
  const first = tasks.createTask(graph, sessionOf('ada'), long)
  const second = tasks.createTask(graph, sessionOf('bob'), {
    ...{ ...OF, ttlMs: 1000 },
    cancel: reason => void reasons.push(reason),
  })
  first?.settle({ result: Payload.of({ content: [] }, 'legacy') })

  const rows = tasks.listAll()
  assert.deepEqual(
    rows.map(({ id, subject, state }) => [id, subject, state]),
    [
      [second?.id, 'bob', 'working'],
      [first?.id, 'ada', 'completed'],
    ],
  )
  assert.deepEqual(
    rows.map(({ resultBytes }) => resultBytes),
    [undefined, '{"content":[]}'.length],
  )
  assert.equal(rows[1]?.tool.length, 256)
  assert.doesNotMatch(JSON.stringify(rows), new RegExp(`${second?.taskId}`))
  assert.equal(tasks.cancelTask(second?.id ?? '', 'enough'), true)
  assert.equal(tasks.cancelTask(second?.id ?? '', 'enough'), false)
  assert.equal(tasks.cancelTask('nobody has it', 'enough'), undefined)
  assert.deepEqual(reasons, ['enough'])
})

for (const era of ['modern', 'legacy'] as const) {
  test(`tasks at a ${era} server go on through a reload`, async t => {
    const { modern, legacy, gateway, server } = await taskSetting(t, era)
    const client = era === 'modern' ? modern : await legacy()
    const taskId = await begin(client, 'slow_compute', { seconds: 0.3 })

    await gateway.gateway.reload({
      version: 1,
      listeners: { main: { type: 'http', port: 0 } },
      shutdown: { grace: 100 },
      upstreams: { t: { type: 'http', url: server.url, prefix: '' } },
      lists: { pageSize: 10 },
    })

    assert.equal((await until(client, taskId)).status, 'completed')
  })
}

test(`who listens hears how a task does, with what came of it`, async t => {
  let over = (): void => undefined
  const told = new Promise<void>(resolve => (over = resolve))
  const watching: Plugin<never> = {
    name: 'watching',
    setup({ hooks }) {
      hooks.notification.tap(({ params }) => {
        if (params?.status === 'completed') over()
      })
    },
  }
  const { modern, plain, gateway } = await taskSetting(t, 'modern', [watching])
  const taskId = await begin(modern, 'slow_compute', { seconds: 0.2, label: 'heard' })

  const notifications = { taskIds: [taskId, 'forged'] }
  const refused = await plain.request('subscriptions/listen', { notifications })
  const listening = modern.start('subscriptions/listen', { notifications })
  await told
  await gateway.gateway.close()
  const reply = await listening.reply
  const [acknowledged, ...heard] = reply.notifications.map(({ params }) => params ?? {})

  assert.equal(refused.error?.code, -32021)
  assert.deepEqual(acknowledged?.notifications, { taskIds: [taskId] })
  assert.deepEqual([...new Set(heard.map(params => params.taskId))], [taskId])
  assert.equal(heard.at(-1)?.status, 'completed')
  assert.deepEqual((heard.at(-1)?.result as JsonObject).content, [{ type: 'text', text: 'computed heard' }])
})

test('what plugins do to the results of calls, they do to those of tasks that we keep', async t => {
  const changing: Plugin<never> = {
    name: 'changing',
    setup({ hooks }) {
      hooks.response.tap({ methods: ['tools/call'] }, given =>
        'result' in given ? answer({ content: [{ type: 'text', text: 'changed' }] }) : given,
      )
    },
  }
  const { modern } = await taskSetting(t, 'legacy', [changing], {
    shape: { tools: { slow_compute: { patience: '20ms' } } },
  })

  const done = await until(modern, await begin(modern, 'slow_compute', { seconds: 0.2 }))

  assert.deepEqual((done.result as JsonObject).content, [{ type: 'text', text: 'changed' }])
})
