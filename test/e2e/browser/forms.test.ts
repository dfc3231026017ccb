import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testUpstream, type TestTool } from '../../../src/testing/index.ts'
import { setting } from '../../unit/plugins/ui/setting.ts'
import { skip } from './chromium.ts'
import { assertEveryView, openPage } from './opened-page.ts'

const SCHEMA = {
  type: 'object',
  properties: {
    text: { type: 'string', description: 'Of several lines.' },
    day: { type: 'string', format: 'date' },
    at: { type: 'string', format: 'date-time' },
    mail: { type: 'string', format: 'email' },
    count: { type: 'integer', minimum: 1, maximum: 9, default: 4 },
    share: { type: 'number' },
    flag: { type: 'boolean' },
    colour: { type: 'string', enum: ['red', 'blue'], default: 'blue' },
    size: {
      oneOf: [
        { const: 's', title: 'Small' },
        { const: 'l', title: 'Large' },
      ],
    },
    lines: { type: 'array', items: { type: 'string' } },
    days: { type: 'array', items: { enum: ['mon', 'tue', 'wed'] } },
    inner: { type: 'object', properties: { deep: { type: 'string' } } },
    pay: {
      oneOf: [
        { type: 'object', title: 'Card', properties: { number: { type: 'string' } } },
        { type: 'object', title: 'Cash', properties: { coins: { type: 'integer' } } },
      ],
    },
    rows: { type: 'array', items: { type: 'object' } },
  },
  required: ['text'],
}

test('a form asks for every kind of value, and sends what its schema wants', { skip }, async t => {
  const bad = closeAfter(
    t,
    await testUpstream({
      capabilities: { tools: {} },
      methods: {
        'tools/list': () => ({ tools: [{ name: 'all', inputSchema: SCHEMA }] }),
        'tools/call': params => ({ content: [{ type: 'text', text: JSON.stringify(params.arguments) }] }),
      },
    }),
  )
  const made = await setting(t, { upstreams: { kinds: { type: 'http', url: bad.url } } })
  await (await made.client()).request('tools/list', {})
  const { page, problems } = await openPage(t, await made.link())
  await page.evaluate("location.hash = '#/tools?name=kinds__all&of=kinds'")
  await page.getByRole('button', { name: 'Call it' }).waitFor()
  await assertEveryView(page)
  const field = (name: string) =>
    page
      .getByRole('group')
      .or(page.locator('.detail form'))
      .getByLabel(new RegExp(`^${name}\\b`))
      .first()
  await field('text').fill('one\ntwo')
  await field('day').fill('2026-11-23')
  await field('at').fill('2026-11-23T10:00:00Z')
  await field('mail').fill('ada@example.com')
  await field('share').fill('0.5')
  await field('flag').selectOption('false')
  await field('size').selectOption({ label: 'Large' })
  await field('lines').fill('a\nb')
  await page.getByLabel('tue').check()
  await page.getByLabel('mon').check()
  await field('deep').fill('down')
  await page.getByLabel(/^Which/).selectOption({ label: 'Cash' })
  await field('coins').fill('3')
  await field('rows').fill('[{"a": 1}]')
  await page.getByRole('button', { name: 'Call it' }).click()
  const result = page.getByLabel('Result', { exact: true })
  await result.waitFor()
  const sent = {
    ...{ text: 'one\ntwo', day: '2026-11-23', at: '2026-11-23T10:00:00Z', mail: 'ada@example.com' },
    ...{
      count: 4,
      share: 0.5,
      flag: false,
      colour: 'blue',
      size: 'l',
      lines: ['a', 'b'],
      days: ['mon', 'tue'],
    },
    ...{ inner: { deep: 'down' }, pay: { coins: 3 }, rows: [{ a: 1 }] },
  }
  assert.deepEqual(JSON.parse(await result.innerText()), sent)
  await page.getByLabel('As JSON').check()
  const raw = page.getByLabel('Arguments JSON')
  assert.deepEqual(JSON.parse(await raw.inputValue()), sent)
  await raw.fill('{"text": 5}')
  await page.getByRole('button', { name: 'Call it' }).click()
  await page.getByLabel('Result', { exact: true }).getByText('{"text":5}').waitFor()
  await raw.fill('{"text": 9007199254740993}')
  const [request] = await Promise.all([
    page.waitForRequest(one => one.method() === 'POST'),
    page.getByRole('button', { name: 'Call it' }).click(),
  ])
  assert.match(request.postData() ?? '', /9007199254740993/)
  await page.getByLabel('Result', { exact: true }).getByText('{"text":90').waitFor()
  await raw.fill('{')
  await page.getByRole('button', { name: 'Call it' }).click()
  await page.getByRole('alert').getByText('no JSON object').waitFor()
  assert.deepEqual(problems, [])
})

test(
  'a server asks in the middle of a call that is tried, and is answered by keyboard alone',
  { skip },
  async t => {
    const requestedSchema = {
      type: 'object',
      properties: {
        name: { type: 'string', title: 'Your name' },
        colour: { type: 'string', enum: ['red', 'blue'], enumNames: ['Red', 'Blue'] },
      },
      required: ['name'],
    }
    const who = {
      method: 'elicitation/create',
      params: { mode: 'form', message: 'Who are you?', requestedSchema },
    }
    const ask: TestTool = (_args, { params: { inputResponses } }) =>
      inputResponses === undefined
        ? { resultType: 'input_required', inputRequests: { who } }
        : JSON.stringify(inputResponses)
    const made = await setting(t, {}, { ask }, 'modern')
    await (await made.client()).request('tools/list', {})
    const { page } = await openPage(t, await made.link())
    await page.evaluate("location.hash = '#/tools?name=web__ask&of=web'")
    await page.getByRole('button', { name: 'Call it' }).focus()
    await page.keyboard.press('Enter')
    await page.locator('.asked', { hasText: 'Who are you?' }).waitFor()
    await assertEveryView(page)
    const press = async (...keys: readonly string[]): Promise<void> => {
      for (const key of keys) await page.keyboard.press(key)
    }
    // The question stands behind the buttons of the call: Stop, the name, the colour, Answer.
    await press('Tab', 'Tab')
    await page.keyboard.type('Ada')
    await press('Tab', 'B', 'Tab', 'Enter')
    await page.locator('.result', { hasText: '"name":"Ada","colour":"blue"' }).waitFor()
    await page.getByText('Answered: Who are you?').waitFor()
  },
)
