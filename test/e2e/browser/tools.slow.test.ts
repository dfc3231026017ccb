import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testUpstream, type TestTool } from '../../../src/testing/index.ts'
import { setting } from '../../unit/plugins/ui/setting.ts'
import { assertEveryView, openPage, skip } from './opened-page.ts'

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
    inner: { type: 'object', properties: { deep: { type: 'string' } } },
  },
  required: ['text'],
}

test('a form asks for plain values one by one, and for all others as JSON', { skip }, async t => {
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
  const call = page.getByRole('button', { name: 'Call', exact: true })
  await call.waitFor()
  await assertEveryView(page)
  const field = (name: string): ReturnType<typeof page.locator> =>
    page.locator('.detail form').getByLabel(new RegExp(`^${name}\\b`))
  await field('text').fill('one\ntwo')
  await field('day').fill('2026-11-23')
  await field('at').fill('2026-11-23T10:00:00Z')
  await field('mail').fill('ada@example.com')
  await field('share').fill('0.5')
  await field('flag').selectOption('false')
  await field('size').selectOption({ label: 'Large' })
  const json = page.getByLabel('Other arguments')
  await json.fill('{"lines": ["a", "b"], "inner": {"id": 9007199254740993}}')
  const [request] = await Promise.all([page.waitForRequest(one => one.method() === 'POST'), call.click()])
  assert.match(request.postData() ?? '', /"id":9007199254740993/)
  const result = page.getByLabel('Result', { exact: true })
  await result.waitFor()
  assert.deepEqual(JSON.parse(await result.innerText()), {
    ...{ text: 'one\ntwo', day: '2026-11-23', at: '2026-11-23T10:00:00Z', mail: 'ada@example.com' },
    ...{ count: 4, share: 0.5, flag: false, colour: 'blue', size: 'l', lines: ['a', 'b'] },
    inner: { id: Number('9007199254740993') },
  })
  await json.fill('{')
  await call.click()
  await page.getByRole('alert').getByText('not a JSON object').waitFor()
  assert.deepEqual(problems, [])
})

test('a server asks in the middle of a call that is tried, and is answered by keyboard alone', { skip }, async t => {
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
  await page.getByRole('button', { name: 'Call', exact: true }).focus()
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
})

test(
  'a row of a tool has the first sentence of its description, and whether it reads or destroys',
  { skip },
  async t => {
    const inputSchema = { type: 'object' }
    const tools = [
      { name: 'look', description: 'Looks at a file, e.g. one.\nNever writes.', annotations: { readOnlyHint: true } },
      { name: 'wipe', title: 'Wipe', annotations: { destructiveHint: true } },
      { name: 'move', description: 'Moves a file' },
    ].map(tool => ({ ...tool, inputSchema }))
    const files = closeAfter(
      t,
      await testUpstream({ capabilities: { tools: {} }, methods: { 'tools/list': () => ({ tools }) } }),
    )
    const made = await setting(t, { upstreams: { files: { type: 'http', url: files.url } } })
    await (await made.client()).request('tools/list', {})
    const { page } = await openPage(t, await made.link())
    await page.evaluate("location.hash = '#/tools?search=files'")
    const text = (name: string): Promise<string> => page.locator('tbody tr', { hasText: `files__${name}` }).innerText()
    assert.match(await text('look'), /read-only\s+Looks at a file, e\.g\. one\.(?!\s*Never)/)
    assert.match(await text('wipe'), /destructive\s+Wipe/)
    assert.match(await text('move'), /(?<!only|destructive)\s+Moves a file/)
  },
)
