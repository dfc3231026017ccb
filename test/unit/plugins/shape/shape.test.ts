import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GatewayError } from '../../../../src/errors/errors.ts'
import { isObject, type JsonObject } from '../../../../src/protocol/json/json.ts'
import { call, ERAS, handleOf, LONG, type Block, type Client, readAll, ROWS, scene, texts } from './scene.ts'

for (const era of ERAS) {
  test(`a ${era} client gets the two ends of a long text, and reads the whole by its handle`, async t => {
    const { open } = await scene(t, { maxTokens: 2000 })
    const client = await open({ era })

    const cut = await call(client, 'web__long')

    const [text = ''] = texts(cut)
    assert.ok(Buffer.byteLength(text) <= 7200)
    assert.ok(text.startsWith('line 0 –') && text.endsWith('line 3999 – ø\n'))
    const [, handle = '', offset = ''] = /\{"handle": "([^"]+)", "offset": (\d+)\}/.exec(text) ?? []
    assert.equal(handle, handleOf(cut))
    assert.equal(await readAll(client, handle), LONG)
    const next = await call(client, 'read_result', { handle, offset: Number(offset) })
    assert.ok(LONG.startsWith(texts(next)[0] ?? '', Number(offset)))
  })

  test(`a structured result for a ${era} client loses items, and both of its forms stay the same JSON`, async t => {
    const { open } = await scene(t, { maxTokens: 2000 })
    const client = await open({ era })

    const cut = await call(client, 'web__rows')

    const structured = cut.structuredContent as { items: unknown[]; _more: JsonObject }
    assert.deepEqual(structured.items, ROWS.slice(0, structured.items.length))
    assert.equal(structured._more.more, ROWS.length - structured.items.length)
    assert.equal(structured._more.handle, handleOf(cut))
    assert.deepEqual(JSON.parse(texts(cut)[0] ?? ''), structured)
    assert.deepEqual(JSON.parse(await readAll(client, handleOf(cut))), { items: ROWS })
  })
}

test('a text beside other structured content is read on from the offset that the cut names, by a short handle', async t => {
  const { open } = await scene(t, { maxTokens: 2000 })
  const client = await open()

  const [text = ''] = texts(await call(client, 'web__report'))
  const [, handle = '', offset = ''] = /\{"handle": "([^"]+)", "offset": (\d+)\}/.exec(text) ?? []
  const next = await call(client, 'read_result', { handle, offset: Number(offset) })

  assert.ok(handle.length <= 16, handle)
  assert.ok(LONG.startsWith(texts(next)[0] ?? '?', Number(offset)))
})

test('JSON in a text stays JSON: a list has fewer items, and a last one that says how many more there are', async t => {
  const { open } = await scene(t, { maxTokens: 2000 })
  const client = await open()

  const cut = await call(client, 'web__list')

  const items = JSON.parse(texts(cut)[0] ?? '') as JsonObject[]
  assert.deepEqual(items.slice(0, -1), ROWS.slice(0, items.length - 1))
  assert.deepEqual(items.at(-1), { more: ROWS.length - items.length + 1, handle: handleOf(cut) })
  assert.equal(await readAll(client, handleOf(cut)), JSON.stringify(ROWS, undefined, 1))
  const found = await call(client, 'read_result', { handle: handleOf(cut), pick: '[?id == `499`].title' })
  assert.equal(texts(found)[0], '["row 499"]')
})

test('a number that JavaScript cannot hold is the same number in what is left, and in what is picked', async t => {
  const tools = { web__big: { pick: '[].id' } }
  const { open } = await scene(t, { maxTokens: 1000, tools })
  const client = await open()

  assert.equal(texts(await call(client, 'web__big'))[0], '[9007199254740993]')
  const { open: again } = await scene(t, { maxTokens: 1000 })
  assert.match(texts(await call(await again(), 'web__big'))[0] ?? '', /^\[\{"id":9007199254740993,/)
})

test('pictures, links and failures stay as they are', async t => {
  const { open } = await scene(t, { maxTokens: 1000 })
  const client = await open()

  const picture = await call(client, 'web__picture')
  const [image, link, text] = picture.content as Block[]
  assert.deepEqual(image, { type: 'image', data: 'A'.repeat(20_000), mimeType: 'image/png' })
  assert.equal(link?.type, 'resource_link')
  assert.match(text?.text ?? '', /read_result/)
  assert.equal(texts(await call(client, 'web__fails'))[0], LONG)
  assert.equal(texts(await call(client, 'web__echo', { a: 1 }))[0], '{"a":1}')
})

test('what a rule picks and drops is all that a client gets, and the schema of the whole is not shown', async t => {
  const tools = {
    'web__ro*': { pick: 'items[?id < `2`].{title: title}' },
    web__list: { drop: ['[].html', '[].nothing'] },
  }
  const { open } = await scene(t, { tools })
  const client = await open()

  const rows = await call(client, 'web__rows')
  const list = await call(client, 'web__list')
  const { result } = await client.request('tools/list')

  assert.deepEqual(JSON.parse(texts(rows)[0] ?? ''), [{ title: 'row 0' }, { title: 'row 1' }])
  assert.equal(rows.structuredContent, undefined)
  assert.deepEqual(
    JSON.parse(texts(list)[0] ?? ''),
    ROWS.map(({ id, title }) => ({ id, title })),
  )
  const shown = (result?.tools as JsonObject[]).find(({ name }) => name === 'web__rows')
  assert.equal(shown?.outputSchema, undefined)
})

test('a caller picks for one call, by _meta or by an argument, and the server hears nothing of it', async t => {
  const { open, web } = await scene(t, { tools: { web__list: { ask: true }, web__echo: { ask: true } } })
  const client = await open()

  const byMeta = await call(client, 'web__long', {}, { 'io.tapgate/pick': 'a' })
  const byArgument = await call(client, 'web__list', { _pick: '[0].title' })
  await call(client, 'web__echo', { a: 1, _pick: 'a' }, { 'io.tapgate/pick': 'a', other: 1 })
  const wrong = await call(client, 'web__list', { _pick: '[[[' })
  const long = await call(client, 'web__list', { _pick: 'a'.repeat(1024 * 1024) })
  const { result } = await client.request('tools/list')

  assert.equal(texts(byMeta)[0], LONG)
  assert.equal(texts(byArgument)[0], '"row 0"')
  for (const refused of [wrong, long]) {
    assert.ok(isObject(refused.error))
    assert.deepEqual([refused.error.code, (refused.error.data as JsonObject).code], [-32602, 'GW_SHAPE_PICK'])
  }
  const received = web.listCalls('tools/call').map(({ params }) => params)
  assert.equal(received.length, 3)
  assert.deepEqual(received.at(-1)?.arguments, { a: 1 })
  assert.doesNotMatch(JSON.stringify(received), /pick/)
  const list = (result?.tools as JsonObject[]).find(({ name }) => name === 'web__list')
  assert.ok(Object.hasOwn((list?.inputSchema as JsonObject).properties as JsonObject, '_pick'))
})

test('the nearest rule counts: the tool’s, then the profile’s, then the server’s, then the section’s', async t => {
  const profiles = { small: { upstreams: ['web'], shape: { maxTokens: 400 } } }
  const { open } = await scene(t, { maxTokens: 4000, tools: { web__list: { maxTokens: 100_000 } } }, { profiles })
  const [all, small] = [await open(), await open({}, '/small')]

  const long = async (client: Client) => Buffer.byteLength(texts(await call(client, 'web__long'))[0] ?? '')
  assert.ok((await long(all)) > 4000)
  assert.ok((await long(small)) <= 1440)
  assert.equal(texts(await call(small, 'web__list'))[0], JSON.stringify(ROWS, undefined, 1))
  const { result } = await small.request('tools/list')
  assert.ok((result?.tools as JsonObject[]).some(({ name }) => name === 'read_result'))
  assert.equal(await readAll(small, handleOf(await call(small, 'web__long'))), LONG)
})

test('an expression or a path that means nothing is pointed at when the configuration is read', async t => {
  const shape = { pick: 'items[', tools: { a: { drop: ['a..b', 'a[]'] } } }
  await assert.rejects(scene(t, shape), (error: GatewayError) => {
    const text = JSON.stringify(error.fields)
    assert.match(text, /shape\/pick/)
    assert.match(text, /tools\/a\/drop\/0/)
    assert.match(text, /tools\/a\/drop\/1/)
    return true
  })
})

test('a list in search mode shows the tool that reads what was cut, and no other', async t => {
  const { open } = await scene(t, { maxTokens: 1000 }, { surface: { mode: 'search' } })
  const { result } = await (await open()).request('tools/list')

  const names = (result?.tools as JsonObject[]).map(({ name }) => String(name))
  assert.ok(names.includes('read_result') && names.includes('search_tools'), names.join())
  assert.ok(!names.includes('web__long'))
})
