import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setting } from '../../unit/plugins/ui/setting.ts'
import { skip } from './chromium.ts'
import { assertEveryView, openPage } from './opened-page.ts'

test('a pasted configuration shows what it would change, and what is wrong with it', { skip }, async t => {
  const made = await setting(t)
  await (await made.client()).request('tools/list', {})
  const { config } = made.gateway.gateway.generation.loaded
  const { page, problems } = await openPage(t, await made.link())
  await page.evaluate("location.hash = '#/config'")
  await page.getByText('What would another configuration change?').click()
  const field = page.getByLabel('Paste a whole gateway.yaml')
  const plan = async (text: string): Promise<void> => {
    await field.fill(text)
    await page.getByRole('button', { name: 'Plan' }).click()
  }
  await plan(JSON.stringify({ ...config, filters: { tools: { deny: ['web__boom'] } } }))
  await page.getByLabel('Changes').getByText('web__boom').waitFor()
  await assertEveryView(page)
  const evil = `<img src=x onerror="document.title='owned'">`
  await plan(JSON.stringify({ ...config, [evil]: {}, upstreams: { [evil]: { type: evil } } }))
  await page.locator('.problems', { hasText: 'onerror' }).waitFor()
  assert.equal(await page.locator('#app img, #app [onerror]').count(), 0)
  assert.doesNotMatch(await page.title(), /owned/)
  await plan(JSON.stringify(config))
  await page.getByText('Nothing would change').waitFor()
  assert.deepEqual(problems, [])
})
