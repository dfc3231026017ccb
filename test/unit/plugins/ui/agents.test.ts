import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { agentsSetting, tool } from '../agents/setting.ts'
import { askAs, keyOf, keysOf, open, posted } from './setting.ts'
import { until } from '../../../fixtures/until.ts'

const KEYS = { ada: ['ui:read'], bob: ['ui:read', 'ui:act'], eve: [] }

/** A gateway whose callers have keys, with a task of eve's that waits for an answer. */
async function asked(t: TestContext) {
  const setting = await agentsSetting(t)
  const keys = keysOf(KEYS)
  const { gateway, url } = await setting.start({ list: { ada: setting.agent() } }, { ui: {}, auth: { keys } })
  const client = await setting.client(url, { headers: { authorization: `Bearer ${keyOf('eve')}` } })
  const prompt = '[[say secret words]][[elicit What now?]][[say behind it]][[big 9000]][[hang]]'
  const begun = await tool(client, 'delegate_task', { prompt, background: true })
  const id = String(begun.task_id)
  const { origin } = new URL(url)
  const as = askAs(origin)
  const owner = await open(String((await gateway.control('ui.link')).url))
  return { gateway, id, as, owner, origin }
}

test('who looks sees that there are tasks, and nothing that was said in them; who acts sees all', async t => {
  const { id, as } = await asked(t)
  const { tasks } = (await (await as('ada', 'tasks')).json()) as { tasks: JsonObject[] }
  assert.deepEqual(
    tasks.map(task => [task.id, task.subject, 'owner' in task]),
    [[id, 'eve', false]],
  )
  assert.doesNotMatch(JSON.stringify(tasks), /secret words/)
  for (const path of [`task?id=${id}`, `output?id=${id}`]) assert.equal((await as('ada', path)).status, 403)
  const reply = { task: id, question: 'x', action: 'decline' }
  for (const [path, body] of [
    ['reply', reply],
    ['cancel', { task: id }],
  ] as const)
    assert.equal((await as('ada', path, posted(body))).status, 403)
  for (const path of ['tasks', `task?id=${id}`]) assert.equal((await as('eve', path)).status, 403)
  await until(async () => (await (await as('bob', `output?id=${id}`)).text()).includes('secret words'))
})

test('output is read piece by piece, a question is answered once, and a task is cancelled once', async t => {
  const { id, owner } = await asked(t)
  let task: JsonObject = {}
  await until(async () => (task = await owner.json(`task?id=${id}`)).state === 'input_required')
  const first = await owner.json(`output?id=${id}`)
  assert.equal(first.text, 'secret words')
  const [question] = task.questions as JsonObject[]
  const given = { task: id, question: question?.question_id, action: 'accept', content: { answer: 'go on' } }
  assert.equal((await owner.ask('reply', posted(given))).status, 200)
  assert.equal((await owner.ask('reply', posted(given))).status, 409)
  await until(async () => {
    const rest = await owner.json(`output?id=${id}&offset=${String(first.end)}`)
    assert.doesNotMatch(String(rest.text), /secret words/)
    return /go on[^]*behind it/.test(String(rest.text))
  })
  assert.deepEqual(await owner.json('cancel', { task: id }), { cancelled: true })
  assert.deepEqual(await owner.json('cancel', { task: id }), { cancelled: false })
})

test('no path and no body leads to another task', async t => {
  const { id, owner } = await asked(t)
  for (const other of ['', '%', "' OR 1=1 --", '../x', '__proto__', id.slice(0, -1), `${id}\0`, '*'])
    for (const path of ['task', 'output']) {
      const reply = await owner.ask(`${path}?id=${encodeURIComponent(other)}`)
      assert.equal(reply.status, 409, `${path} ${other}`)
      assert.doesNotMatch(await reply.text(), /secret words/)
    }
  for (const query of ['what=../x', 'offset=-1', 'offset=x', 'what=__proto__'])
    assert.ok([400, 409].includes((await owner.ask(`output?id=${id}&${query}`)).status), query)
  for (const body of [{}, { task: 1 }, { task: id, owner: 'x' }, { task: [id] }])
    assert.equal((await owner.ask('cancel', posted(body as JsonObject))).status, 400)
  const { state } = await owner.json(`task?id=${id}`)
  assert.notEqual(state, 'cancelled')
})
