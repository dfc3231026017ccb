import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { closeAfter, testClient } from '../../../../src/testing/index.ts'
import { askAs, keyOf, keysOf, open, posted, setting } from './setting.ts'
import { until } from '../../../fixtures/until.ts'

const KEYS = { ada: ['ui:read'], bob: ['ui:read', 'ui:act'], eve: [] }

/** A gateway with a call of eve's that goes on after she was answered; `end` lets its server answer. */
async function goingOn(t: TestContext) {
  let end = (): void => undefined
  const ended: string[] = []
  const work = (_args: JsonObject, { signal }: { signal: AbortSignal }): Promise<string> => {
    signal.addEventListener('abort', () => ended.push('aborted'))
    return new Promise(resolve => (end = () => resolve('a secret answer')))
  }
  const made = await setting(t, { auth: { keys: keysOf(KEYS) }, shape: { patience: 50 } }, { work })
  const headers = { authorization: `Bearer ${keyOf('eve')}` }
  const eve = closeAfter(t, await testClient(made.gateway, { headers, era: 'legacy' }))
  await eve.request('tools/call', { name: 'web__work', arguments: { text: 'private' } })
  const as = askAs(made.origin)
  const owner = await open(String((await made.gateway.gateway.control('ui.link')).url))
  const calls = async (): Promise<JsonObject[]> => (await owner.json('tasks')).calls as JsonObject[]
  return { made, as, owner, calls, ended, end: () => end() }
}

test('who looks sees calls that go on, whose they are and how they do, and nothing that was said', async t => {
  const { as, calls, end } = await goingOn(t)
  const text = await (await as('ada', 'tasks')).text()
  const { calls: seen, tasks } = JSON.parse(text) as { calls: JsonObject[]; tasks: unknown[] }
  assert.deepEqual(tasks, [])
  const [row] = seen
  const { tool, upstream, subject, state, client, asks, resultBytes } = row ?? {}
  assert.deepEqual([tool, upstream, subject, state], ['web__work', 'web', 'eve', 'working'])
  assert.deepEqual([typeof client, asks, resultBytes], ['string', 0, undefined])
  assert.doesNotMatch(text, /private/)
  assert.equal((await as('eve', 'tasks')).status, 403)

  end()
  await until(async () => (await calls())[0]?.state === 'completed')
  const [over] = await calls()
  assert.ok(Number(over?.resultBytes) > 'a secret answer'.length)
  assert.doesNotMatch(JSON.stringify(over), /secret answer/)
})

test('who acts cancels one, which its server hears, and once; nobody else does', async t => {
  const { as, calls, ended, made } = await goingOn(t)
  const [row] = await calls()
  const cancel = posted({ task: String(row?.id) })
  for (const name of ['ada', 'eve'] as const) assert.equal((await as(name, 'cancel', cancel)).status, 403)
  assert.equal((await calls())[0]?.state, 'working')

  assert.deepEqual(await (await as('bob', 'cancel', cancel)).json(), { cancelled: true })
  assert.deepEqual(await (await as('bob', 'cancel', cancel)).json(), { cancelled: false })
  assert.equal((await calls())[0]?.state, 'cancelled')
  await until(() => ended.length > 0)
  assert.equal((await as('bob', 'cancel', posted({ task: '../../x' }))).status, 404)
  assert.equal((await as('bob', 'cancel', posted({ task: 7 }))).status, 400)
  await assert.rejects(made.gateway.gateway.control('tasks.cancel', {}), { code: 'GW_VERB_PARAMS' })
})
