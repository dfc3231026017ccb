import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testClient, testUpstream } from '../../../src/testing/index.ts'
import { setting } from '../../unit/plugins/ui/setting.ts'
import { skip } from './chromium.ts'
import { assertEveryView, openPage } from './opened-page.ts'

const LONG = 'a-name-of-two-hundred-characters-'.repeat(7).slice(0, 200)
const ARABIC = 'אבגד البحث في الملفات (1)'

test('of two hundred servers those that are down stand first, with why, and are found', { skip }, async t => {
  const upstreams = Object.fromEntries(
    Array.from({ length: 200 }, (_, i) => [
      `server${i}`,
      i % 7 === 3
        ? { type: 'http', url: 'http://127.0.0.1:9/mcp' }
        : { type: 'http', url: 'http://127.0.0.1:9/mcp', start: 'lazy' },
    ]),
  )
  const made = await setting(t, { upstreams })
  const { page, problems } = await openPage(t, await made.link())
  const rows = page.getByLabel('Servers', { exact: true }).locator('tbody tr')
  await rows.filter({ hasText: 'failed' }).nth(28).waitFor()
  assert.equal(await rows.first().locator('.badge').innerText(), 'failed')
  await rows.first().getByText('ECONNREFUSED').waitFor()
  assert.equal(
    await rows
      .first()
      .getByRole('button', { name: /Try again/ })
      .count(),
    1,
  )
  const said = await rows.first().innerText()
  assert.match(said, /See that it runs/)
  assert.doesNotMatch(said, /gateway \w+/, 'what the button does is no command to type')
  await page.getByText(/201 servers, \d+ with a problem/).waitFor()
  await page.getByLabel('Search').fill('server10 failed')
  await rows.filter({ hasText: 'server10' }).first().waitFor()
  assert.ok((await rows.count()) < 10)
  await assertEveryView(page)
  assert.deepEqual(problems, [])
})

test(
  'names of two hundred characters and texts from right to left stay in their places',
  { skip },
  async t => {
    const inputSchema = {
      type: 'object',
      properties: { [LONG]: { type: 'string', title: ARABIC, description: LONG } },
    }
    const tool = { name: LONG.slice(0, 36), title: ARABIC, description: `${ARABIC} ${LONG}`, inputSchema }
    const bad = closeAfter(
      t,
      await testUpstream({
        ...{ name: LONG, version: LONG, capabilities: { tools: {} } },
        methods: {
          'tools/list': () => ({ tools: [tool] }),
          'tools/call': () => ({ content: [{ type: 'text', text: `${ARABIC} ${LONG}` }], isError: true }),
        },
      }),
    )
    const server = 'a-server-of-some-length'
    const made = await setting(t, { upstreams: { [server]: { type: 'http', url: bad.url } } })
    const client = closeAfter(t, await testClient(made.gateway, { info: { name: ARABIC, version: LONG } }))
    const { result } = await client.request('tools/list', {})
    const { name } = (result as { tools: { name: string }[] }).tools.find(one =>
      one.name.startsWith(server),
    ) ?? { name: '' }
    assert.notEqual(name, '')
    await client.request('tools/call', { name, arguments: { [LONG]: `${ARABIC} ${LONG}` } })
    const { page, problems } = await openPage(t, await made.link())
    for (const hash of [
      'overview',
      'calls?id=1',
      'clients',
      `tools?name=${encodeURIComponent(name)}&of=${server}`,
      'cache',
      'config',
    ]) {
      await page.evaluate(`location.hash = '#/${hash}'`)
      await page.locator('.detail, tbody tr').first().waitFor()
      await assertEveryView(page)
    }
    assert.deepEqual(problems, [])
  },
)
