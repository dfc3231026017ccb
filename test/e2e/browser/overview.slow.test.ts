import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadConfig } from '../../../src/config/index.ts'
import { closeAfter, testGateway } from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { connect, setting as approvalSetting } from '../../unit/plugins/approve/setting.ts'
import { setting } from '../../unit/plugins/ui/setting.ts'
import { assertEveryView, openPage, skip } from './opened-page.ts'

/** A server that writes each request to stderr. */
const TALKER = `
  const initialized = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'talker', version: '1.2.3' } }
  const results = { initialize: initialized, 'tools/list': { tools: [{ name: 'talk', inputSchema: { type: 'object' } }] } }
  require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
    const { id, method, params } = JSON.parse(line)
    if (id === undefined) return
    console.error('asked', method, JSON.stringify(params?.arguments))
    const result = results[method] ?? { content: [{ type: 'text', text: 'talked' }] }
    console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })`

test('a server is opened by keyboard, with its process, tools and output, and is stopped', { skip }, async t => {
  const talker = { type: 'stdio', command: process.execPath, args: ['-e', TALKER] }
  const made = await setting(t, { upstreams: { talker } })
  const client = await made.client()
  await client.request('tools/list', {})
  const { page, problems } = await openPage(t, await made.link())
  await page.getByRole('link', { name: 'talker', exact: true }).focus()
  await page.keyboard.press('Enter')
  await page.locator('h1:focus', { hasText: 'talker' }).waitFor()
  const facts = page.getByLabel('State')
  await facts.getByText(/talker 1\.2\.3[^]*2025-11-25[^]*Process\s*\d+[^]*Memory\s*\d[^]*Restarts\s*0/).waitFor()
  await page.getByLabel('Tools', { exact: true }).getByRole('link', { name: 'talker__talk' }).waitFor()
  const output = page.getByRole('log')
  await output.getByText('asked tools/list').waitFor()
  await client.request('tools/call', { name: 'talker__talk', arguments: { about: 'the weather' } })
  await output.getByText('the weather').waitFor()
  await assertEveryView(page)
  await page.getByRole('button', { name: 'Stop talker' }).focus()
  await page.keyboard.press('Enter')
  await facts.getByText('stopped', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Start talker' }).click()
  await facts.getByText('ready', { exact: true }).waitFor()
  assert.deepEqual(problems, [])
})

test('a chart has labelled axes, and shows the value and time under the pointer', { skip }, async t => {
  const made = await setting(t, {
    policy: { deny: [{ for: 'web__slow', when: 'args.text == "hello"', name: 'not slow' }] },
  })
  const client = await made.client()
  for (const name of ['web__echo', 'web__echo', 'web__boom', 'web__slow'])
    await client.request('tools/call', { name, arguments: { text: 'hello' } })
  const { page } = await openPage(t, await made.link())
  const calls = page.locator('.plot').filter({ hasText: 'Calls' })
  await calls.getByText('4 · 1 failed · 1 refused').waitFor()
  for (const span of ['15 minutes', '1 hour', '24 hours']) {
    await page.getByLabel('Span').selectOption(span)
    await calls.getByRole('img', { name: `last ${span}: 4 · 1 failed · 1 refused` }).waitFor()
    const labels = await calls.locator('.axes').innerText()
    assert.match(labels, /^\d+\s+\d+\s+0(\s+\d\d:\d\d){4}$/, span)
  }
  const box = await calls.locator('svg').boundingBox()
  assert.ok(box !== null)
  await page.mouse.move(box.x + box.width - 1, box.y + box.height / 2)
  await calls.getByText(/^4 calls, 1 failed, 1 refused at \d\d:\d\d:00$/).waitFor()
  await page.mouse.move(box.x + box.width / 4, box.y + box.height / 2)
  await calls.getByText(/^0 calls, 0 failed, 0 refused at \d\d:\d\d:00$/).waitFor()
  await page.getByRole('combobox', { name: 'Server' }).selectOption('web')
  await calls.getByRole('img', { name: ': 4 · 1 failed · 1 refused' }).waitFor()
})

test('while the gateway is away the page shows since when, and offers no action', { skip }, async t => {
  const made = await setting(t)
  const { page } = await openPage(t, await made.link())
  const restart = page.getByRole('button', { name: 'Restart web' })
  await restart.waitFor()
  assert.ok(await restart.isEnabled())
  await page.context().setOffline(true)
  made.gateway.gateway.generation.graph.hooks.getRunner('stopping')?.(0)
  await page
    .getByRole('alert')
    .getByText(/not answered since \d\d:\d\d/)
    .waitFor()
  assert.ok(await restart.isDisabled())
  await assertEveryView(page)
  await page.context().setOffline(false)
  await page.getByRole('alert').waitFor({ state: 'detached' })
  assert.ok(await restart.isEnabled())
})

test('a pending approval is counted in the menu, and decided on the overview', { skip }, async t => {
  const { gateway, sent } = await approvalSetting(t, { by: ['owner'] }, { config: { ui: {} } })
  const client = await connect(t, gateway, {})
  const { page } = await openPage(t, String((await gateway.gateway.control('ui.link')).url))
  const reply = client.request('tools/call', { name: 'pay__send', arguments: { amount: 100 } })
  await page.getByRole('link', { name: 'Approvals 1' }).waitFor()
  await page.getByRole('button', { name: 'Approve pay__send' }).waitFor()
  await assertEveryView(page)
  await page.getByRole('button', { name: 'Approve pay__send' }).click()
  await reply
  assert.deepEqual(sent(), [100])
  await page.getByRole('link', { name: 'Approvals', exact: true }).waitFor()
  await page.getByRole('button', { name: 'Approve pay__send' }).waitFor({ state: 'detached' })
})

test('the header shows the environment of the configuration', { skip }, async t => {
  const cwd = await mkdtemp(join(tmpdir(), 'env-'))
  cleanup(t, () => rm(cwd, { recursive: true, force: true }))
  await writeFile(join(cwd, 'gateway.yaml'), 'version: 1\nlisteners: { main: { type: http, port: 0 } }\nui: {}\n')
  await writeFile(join(cwd, 'gateway.prod.yaml'), 'ui: { calls: 10 }\n')
  const config = await loadConfig({ cwd, env: 'prod', environment: { HOME: cwd } })
  const { gateway } = closeAfter(t, await testGateway({ config }))
  const { page } = await openPage(t, String((await gateway.control('ui.link')).url))
  await page.getByRole('banner').getByText('prod', { exact: true }).waitFor()
})
