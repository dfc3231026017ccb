import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentsSetting, tool } from '../../unit/plugins/agents/setting.ts'
import { assertEveryView, openPage, skip } from './opened-page.ts'

test('a task is watched on the page, answered, and cancelled', { skip }, async t => {
  const setting = await agentsSetting(t)
  const { gateway, url } = await setting.start({ list: { ada: setting.agent() } }, { ui: {} })
  const client = await setting.client(url)
  const prompt = '[[say first words]][[elicit What now?]][[say last words]][[big 9000]][[hang]]'
  await tool(client, 'delegate_task', { prompt, background: true })
  const { page } = await openPage(t, String((await gateway.control('ui.link')).url))
  await page.getByRole('link', { name: 'Tasks and agents', exact: true }).click()
  await page.getByLabel('Tasks').getByRole('link').first().click()
  await page.locator('.snippet', { hasText: 'first words' }).waitFor()
  await page.locator('.asked', { hasText: 'What now?' }).waitFor()
  await assertEveryView(page)
  await page.getByLabel('answer').fill('go on')
  await page.getByRole('button', { name: 'Answer' }).click()
  // The end of what was said is held back while more may come, as it may be the beginning of a secret.
  await page.locator('.snippet', { hasText: /first words[^]*go on[^]*last words/ }).waitFor()
  await page.getByRole('button', { name: 'Cancel task' }).click()
  await page.locator('h2 .badge', { hasText: 'cancelled' }).waitFor()
  const { tasks } = (await gateway.control('agents.tasks')) as { tasks: { state: string }[] }
  assert.deepEqual(
    tasks.map(({ state }) => state),
    ['cancelled'],
  )
})

test('a click on a heading sorts its own table, not another one of the page', { skip }, async t => {
  const setting = await agentsSetting(t)
  const { gateway, url } = await setting.start({ list: { ada: setting.agent() } }, { ui: {} })
  const client = await setting.client(url)
  await tool(client, 'delegate_task', { prompt: '[[hang]]', background: true })
  const { page } = await openPage(t, String((await gateway.control('ui.link')).url))
  const running = {
    id: 'a',
    tool: 'web__slow',
    state: 'working',
    subject: 'ada',
    upstream: 'web',
    asks: 0,
    createdAt: 0,
  }
  await page.route('**/api/tasks*', async route => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...((await response.json()) as object), calls: [running] } })
  })
  await page.evaluate("location.hash = '#/agents'")
  const tasks = page.getByRole('region', { name: 'Tasks' })
  await tasks.getByRole('button', { name: 'State' }).click()
  await tasks.locator('[aria-sort=ascending]').waitFor()
  assert.equal(await page.getByRole('columnheader', { name: 'State' }).count(), 2)
  assert.equal(await page.locator('[aria-sort=ascending]').count(), 1)
})

test('what an agent says, asks and changes is text', { skip }, async t => {
  const evil = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`
  const setting = await agentsSetting(t)
  const { gateway, url } = await setting.start({ list: { ada: setting.agent() } }, { ui: {} })
  const client = await setting.client(url)
  await tool(client, 'delegate_task', { prompt: `[[say ${evil}]][[elicit ${evil}]]`, background: true })
  const { page } = await openPage(t, String((await gateway.control('ui.link')).url))
  await page.evaluate("location.hash = '#/agents'")
  await page.getByLabel('Tasks').getByRole('link').first().click()
  await page.locator('.asked', { hasText: 'onerror' }).waitFor()
  await page.locator('.snippet', { hasText: 'onerror' }).first().waitFor()
  assert.equal(await page.locator('#app img, #app script, #app [onerror]').count(), 0)
  assert.doesNotMatch(await page.title(), /owned/)
})
