import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import type { Reply } from '../../../src/testing/index.ts'
import { connect, setting } from '../../unit/plugins/approve/setting.ts'
import { skip } from './chromium.ts'
import { openPage } from './opened-page.ts'

interface Waiting {
  readonly page: Page
  readonly reply: Promise<Reply>
  readonly sent: () => unknown[]
}

/** A call that waits, and the page of somebody who decides about it. */
async function waiting(t: TestContext, amount: unknown): Promise<Waiting> {
  const { gateway, sent } = await setting(t, { by: ['owner'] }, { config: { ui: {} } })
  const client = await connect(t, gateway, {})
  const reply = client.request('tools/call', { name: 'pay__send', arguments: { amount } })
  const { page } = await openPage(t, String((await gateway.gateway.control('ui.link')).url))
  await page.getByRole('link', { name: 'Decide about them' }).click()
  await page.getByText(/ wants to call it at pay\. Rule: money\. Until \d\d:/).waitFor()
  return { page, reply, sent }
}

test('a call waits until somebody allows it on the page, and runs once', { skip }, async t => {
  const { page, reply, sent } = await waiting(t, 100)
  await page.getByLabel('Arguments').getByText('100').waitFor()
  assert.deepEqual(sent(), [])
  await page.getByRole('button', { name: 'Allow once' }).dblclick()
  const { result } = await reply
  assert.match(JSON.stringify(result), /sent/)
  await page.getByText('No call waits for anybody.').waitFor()
  assert.deepEqual(sent(), [100])
})

test('a call that somebody refuses on the page never runs', { skip }, async t => {
  const { page, reply, sent } = await waiting(t, 100)
  await page.getByRole('button', { name: 'Refuse' }).click()
  const { result, error } = await reply
  assert.ok(error !== undefined || result?.isError === true)
  await page.getByText('No call waits for anybody.').waitFor()
  assert.deepEqual(sent(), [])
})

test('what a call is about to do is shown as text, whatever it is', { skip }, async t => {
  const evil = `<img src=x onerror="document.title='owned'">`
  const { page, reply } = await waiting(t, evil)
  await page.getByLabel('Arguments').getByText('<img').waitFor()
  assert.equal(await page.locator('#app img').count(), 0)
  assert.doesNotMatch(await page.title(), /owned/)
  await page.getByRole('button', { name: 'Refuse' }).click()
  await reply
})
