import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { CallLog } from '../../../../plugins/ui/call-log.ts'
import { FigureRing } from '../../../../plugins/ui/figures.ts'
import type { CallDetail } from '../../../../plugins/ui/types.ts'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../../src/testing/index.ts'
import { open, posted, setting } from './setting.ts'

const MOST_BYTES = 80 * 1024

const CALL: Omit<CallDetail, 'id'> = {
  ...{ at: 0, ms: 1, method: 'tools/call', name: 'web__echo', upstream: 'web', subject: 'ada', client: 'c' },
  ...{ outcome: 'ok', code: 0, bytesIn: 1, bytesOut: 1, issuer: '', era: 'modern', via: 'http', profile: '' },
  ...{ by: '', shape: '{}' },
}

test('all files of the page have at most 80 KB, compressed', async () => {
  const { FILES } = (await import('../../../../plugins/ui/page-files.gen.ts')) as {
    FILES: Record<string, string>
  }
  const sizes = Object.values(FILES).map(text => gzipSync(text).length)
  const sum = sizes.reduce((total, size) => total + size)
  assert.ok(sum <= MOST_BYTES, `${sum} bytes`)
})

test('a hundred thousand calls are kept, and one more is in the place of the oldest', () => {
  const log = new CallLog(100_000)
  for (let i = 0; i < 100_001; i++) log.add({ ...CALL, name: `tool_${i % 1000}` })
  assert.equal(log.get(1), undefined)
  assert.equal(log.get(2)?.name, 'tool_1')
  const { calls, kept, next } = log.find({ tool: 'tool_7', limit: 3 })
  assert.deepEqual([calls.length, kept], [3, 100_000])
  assert.ok(next !== undefined)
  const none = log.find({ caller: 'nobody', limit: 100 })
  assert.deepEqual(none, { calls: [], kept: 100_000, newest: 100_001 })
})

test('another bound keeps the newest', () => {
  const log = new CallLog(100)
  for (let i = 0; i < 150; i++) log.add(CALL)
  log.resize(10)
  assert.deepEqual(
    log.find({ limit: 500 }).calls.map(({ id }) => id),
    [150, 149, 148, 147, 146, 145, 144, 143, 142, 141],
  )
  log.resize(1000)
  assert.equal(log.get(141)?.id, 141)
  log.add(CALL)
  assert.equal(log.find({ limit: 500 }).calls.length, 11)
})

test('figures are of the last hour, whatever the clock of the machine does', () => {
  const figures = new FigureRing()
  const call = { ms: 5, isFailed: false, isCached: false, bytes: 10 }
  for (let i = 0; i < 1000; i++) figures.add({ ...call, at: i * 10_000 })
  const now = 999 * 10_000
  assert.equal(figures.read(now).length, 360)
  figures.add({ ...call, at: 0 })
  assert.equal(figures.read(now).length, 360)
  assert.equal(figures.read(now).at(-1)?.calls, 2)
  assert.ok(Math.abs((figures.read(now)[0]?.p95 ?? 0) - 5) < 2)
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
