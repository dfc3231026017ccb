import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { closeAfter, type TestReply, testClient } from '../../../src/testing/index.ts'
import { connect, setting as approvalSetting } from '../../unit/plugins/approve/setting.ts'
import { setting } from '../../unit/plugins/ui/setting.ts'
import { assertEveryView, openPage, skip } from './opened-page.ts'

interface Waiting {
  readonly page: Page
  readonly reply: Promise<TestReply>
  readonly sent: () => unknown[]
}

/** A call that waits, and the page of somebody who decides about it. */
async function waiting(t: TestContext, amount: unknown): Promise<Waiting> {
  const { gateway, sent } = await approvalSetting(t, { by: ['owner'] }, { config: { ui: {} } })
  const client = await connect(t, gateway, {})
  const reply = client.request('tools/call', { name: 'pay__send', arguments: { amount } })
  const { page } = await openPage(t, String((await gateway.gateway.control('ui.link')).url))
  await page.getByRole('link', { name: 'Review' }).click()
  await page.getByText(/ wants to call it on pay\. Rule: money\. Expires at \d\d:/).waitFor()
  return { page, reply, sent }
}

test('a call waits until somebody allows it on the page, and runs once', { skip }, async t => {
  const { page, reply, sent } = await waiting(t, 100)
  await page.getByLabel('Arguments').getByText('100').waitFor()
  assert.deepEqual(sent(), [])
  await page.getByRole('button', { name: 'Approve' }).dblclick()
  const { result } = await reply
  assert.match(JSON.stringify(result), /sent/)
  await page.getByText('No pending approvals.').waitFor()
  assert.deepEqual(sent(), [100])
})

test('a call that somebody refuses on the page never runs', { skip }, async t => {
  const { page, reply, sent } = await waiting(t, 100)
  await page.getByRole('button', { name: 'Deny' }).click()
  const { result, error } = await reply
  assert.ok(error !== undefined || result?.isError === true)
  await page.getByText('No pending approvals.').waitFor()
  assert.deepEqual(sent(), [])
})

test('what a call is about to do is shown as text, whatever it is', { skip }, async t => {
  const evil = `<img src=x onerror="document.title='owned'">`
  const { page, reply } = await waiting(t, evil)
  await page.getByLabel('Arguments').getByText('<img').waitFor()
  assert.equal(await page.locator('#app img').count(), 0)
  assert.doesNotMatch(await page.title(), /owned/)
  await page.getByRole('button', { name: 'Deny' }).click()
  await reply
})

test('calls that go on are seen on the page, with what came of them, and one is cancelled', { skip }, async t => {
  const ends: (() => void)[] = []
  const work = (): Promise<string> => new Promise(resolve => ends.push(() => resolve('x'.repeat(5000))))
  const made = await setting(t, { shape: { patience: 50 } }, { work })
  const client = closeAfter(t, await testClient(made.gateway, { era: 'legacy' }))
  for (let call = 0; call < 2; call++) await client.request('tools/call', { name: 'web__work' })
  const { page } = await openPage(t, await made.link())
  await page.getByRole('link', { name: 'Tasks and agents', exact: true }).click()
  const rows = page.getByLabel('Running calls').locator('tbody tr')
  await rows.filter({ hasText: 'web__work' }).nth(1).waitFor()
  await assertEveryView(page)
  assert.equal(await page.getByText('No agents configured').count(), 0)

  ends[0]?.()
  await rows
    .filter({ hasText: 'completed' })
    .filter({ hasText: /4\.9 ?K|5\.?\d* ?k/i })
    .waitFor()
  await page.getByRole('button', { name: 'Cancel web__work' }).focus()
  await page.keyboard.press('Enter')
  await rows.filter({ hasText: 'cancelled' }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Cancel web__work' }).count(), 0)
})
