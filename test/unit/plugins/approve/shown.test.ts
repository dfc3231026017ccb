import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../../src/plugin.ts'
import type { TestGateway } from '../../../../src/testing/index.ts'
import { connect, SECRET, setting, webhook } from './setting.ts'

const TOKEN = `ghp_${'a1B2'.repeat(9)}`
const REDACT = { redact: { rules: [{ detect: ['secrets'], in: ['arguments'] }] } }

interface Shown {
  readonly form: string
  readonly listed: string
  readonly whole: string
  readonly told: JsonObject
}

async function listedBy({ gateway }: TestGateway): Promise<JsonObject> {
  for (;;) {
    const { approvals } = await gateway.control('approvals.list')
    const [first] = approvals as JsonObject[]
    if (first !== undefined) return first
    await new Promise(resolve => setImmediate(resolve))
  }
}

/** A call with these arguments as each person is shown it. */
async function show(t: TestContext, given: JsonObject, config: object = {}): Promise<Shown> {
  const { url, told: bodies } = await webhook(t, () => ({ body: '{}' }))
  const { gateway } = await setting(
    t,
    { by: ['client', 'owner', 'webhook'], webhook: { url, secret: SECRET } },
    { config },
  )
  const client = await connect(t, gateway)
  const params = { name: 'pay__send', arguments: given }
  const { result } = await client.request('tools/call', params)
  const [ask] = Object.values(result?.inputRequests as Record<string, { params: { message: string } }>)
  const row = await listedBy(gateway)
  const { approvals } = await gateway.gateway.control('approvals.show', { id: row.id })
  while (bodies.length === 0) await new Promise(resolve => setImmediate(resolve))
  return {
    form: ask?.params.message ?? '',
    listed: String(row.arguments),
    whole: String((approvals as JsonObject[])[0]?.arguments),
    told: bodies[0] ?? {},
  }
}

test('a long argument hides none of the others, wherever an approval is presented', async t => {
  const note = `begin${'x'.repeat(5000)}end`
  const { form, listed, whole, told } = await show(t, { note, to: 'mallory', amount: 500 })
  for (const text of [form, listed, String(told.text)]) {
    for (const part of ['"note":"begin', 'end"', '"to":"mallory"', '"amount":500']) assert.ok(text.includes(part), part)
    assert.ok(text.length < 3000)
  }
  assert.deepEqual(JSON.parse(whole), { note, to: 'mallory', amount: 500 })
})

test('every top-level argument is shown, however many there are, and however long their names', async t => {
  const keys = Array.from({ length: 300 }, (_, at) => `key${at}`)
  const given = Object.fromEntries(keys.map(key => [key, 'y'.repeat(100)]))
  const { listed } = await show(t, { ...given, ['z'.repeat(3000)]: 1, to: 'mallory' })
  for (const key of keys) assert.ok(listed.includes(`"${key}":`), key)
  assert.ok(listed.includes('"to":"mallory"'))
})

test('invisible characters and letters that imitate others are marked', async t => {
  const given = {
    rtl: 'a\u202eb',
    zero: 'a\u200bb',
    tag: '\u{e0061}',
    mixed: 'pаypal',
    whole: 'сосо',
    wide: 'ａ',
  }
  const plain = { ru: 'Привет, мир', de: 'Grüße', ja: '送金' }
  const { form, listed, whole, told } = await show(t, { ...given, ...plain })
  for (const text of [form, listed, whole, String(told.text)]) {
    for (const mark of ['a\\u202eb', 'a\\u200bb', '\\udb40\\udc61', 'p\\u0430ypal', '\\u0441\\u043e', '\\uff41'])
      assert.ok(text.includes(mark), mark)
    for (const word of Object.values(plain)) assert.ok(text.includes(word), word)
  }
  assert.deepEqual(JSON.parse(whole), { ...given, ...plain })
})

test('what is redacted in arguments is hidden from people too', async t => {
  const shown = await show(t, { token: TOKEN, to: 'alice' }, REDACT)
  assert.equal(JSON.stringify(shown).includes(TOKEN), false)
  for (const text of [shown.form, shown.listed, shown.whole, JSON.stringify(shown.told)]) assert.match(text, /alice/)
})

test('a call that redaction refuses is presented to no one', async t => {
  const rules = [{ detect: ['secrets'], in: ['arguments'], action: 'refuse' }]
  const { gateway, sent } = await setting(t, { by: ['client'] }, { config: { redact: { rules } } })
  const client = await connect(t, gateway)
  const reply = await client.request('tools/call', { name: 'pay__send', arguments: { token: TOKEN } })
  assert.equal((reply.error?.data as JsonObject | undefined)?.code, 'GW_REDACT_ARGUMENTS')
  assert.deepEqual(sent(), [])
})
