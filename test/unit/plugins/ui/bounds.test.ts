import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../../src/testing/index.ts'
import { open, posted, setting } from './setting.ts'

const MOST_BYTES = 80 * 1024

test('all files of the page have at most 80 KB, compressed', async () => {
  const { FILES } = (await import('../../../../plugins/ui/page-files.gen.ts')) as {
    FILES: Record<string, string>
  }
  const sizes = Object.values(FILES).map(text => gzipSync(text).length)
  const sum = sizes.reduce((total, size) => total + size)
  assert.ok(sum <= MOST_BYTES, `${sum} bytes`)
})

test('answers are pages of lists, however much there is', async t => {
  const names = Array.from({ length: 250 }, (_, i) => `tool_${i}`)
  const tools = Object.fromEntries(names.map(name => [name, () => 'x']))
  const web = closeAfter(t, await testUpstream({ tools }))
  const upstreams = Object.fromEntries(Array.from({ length: 4 }, (_, i) => [`server${i}`, web]))
  const gateway = closeAfter(t, await testGateway({ upstreams, config: { ui: {} } }))
  await closeAfter(t, await testClient(gateway)).request('tools/list', {})
  const { ask, json } = await open(String((await gateway.gateway.control('ui.link')).url))
  const text = await (await ask('tools')).text()
  assert.ok(text.length < 32_768, `${text.length} bytes`)
  const { tools: listed, total } = JSON.parse(text) as { tools: JsonObject[]; total: number }
  assert.deepEqual([listed.length, total], [100, 1000])
  const last = (await json('tools?offset=990')) as { tools: JsonObject[] }
  assert.equal(last.tools.length, 10)
})

test('a server asks whoever tries its tool, and gets the answer', async t => {
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } }
  const who = { method: 'elicitation/create', params: { mode: 'form', message: 'Who?', requestedSchema } }
  const made = await setting(
    t,
    {},
    {
      ask: (_args, { params: { inputResponses } }) =>
        inputResponses === undefined
          ? { resultType: 'input_required', inputRequests: { who } }
          : JSON.stringify(inputResponses),
    },
    // The page calls as a legacy client, to whom a server of both eras would be a legacy one: that never says `input_required`.
    'modern',
  )
  const { ask, json } = await made.opened()
  const other = await made.opened()
  const reply = await ask('run', posted({ name: 'web__ask' }))
  const events = eventsIn(reply)
  const asked = (await events.next()).value as JsonObject
  assert.deepEqual([asked.event, asked.message], ['ask', 'Who?'])
  const unknown = await other.json('answer', { id: 'made-up', action: 'accept' })
  assert.equal(unknown.taken, false)
  assert.deepEqual(await json('answer', { id: asked.id, action: 'accept', content: { name: 'Ada' } }), {
    taken: true,
  })
  assert.deepEqual(await json('answer', { id: asked.id, action: 'accept' }), { taken: false })
  const end = (await events.next()).value as JsonObject
  assert.equal(end.event, 'result')
  assert.match(JSON.stringify(end), /Ada/)
})

test('without the section nothing of it is there: no tap, no verb, no path', async t => {
  const gateway = closeAfter(t, await testGateway({ config: {} }))
  const { hooks, plugins } = await gateway.gateway.inspect()
  assert.ok(!plugins.some(({ name }) => name === 'ui'))
  const taps = Object.values(hooks).flat()
  assert.ok(!taps.some(({ plugin }) => plugin === 'ui'))
  assert.equal((await fetch(new URL('/ui/', gateway.url))).status, 404)
  await assert.rejects(gateway.gateway.control('ui.link'), /GW_VERB_UNKNOWN|ui\.link/)
})

async function* eventsIn(reply: Response): AsyncGenerator<JsonObject> {
  let text = ''
  for await (const piece of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const blocks = (text + piece).split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) yield JSON.parse(block.slice('data: '.length)) as JsonObject
  }
}
