import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testClient } from '../../../src/testing/index.ts'
import { setting } from '../../unit/plugins/ui/setting.ts'
import { skip } from './chromium.ts'
import { assertEveryView, openPage } from './opened-page.ts'

test(
  'calls that go on are seen on the page, with what came of them, and one is cancelled',
  { skip },
  async t => {
    const ends: (() => void)[] = []
    const work = (): Promise<string> => new Promise(resolve => ends.push(() => resolve('x'.repeat(5000))))
    const made = await setting(t, { shape: { patience: 50 } }, { work })
    const client = closeAfter(t, await testClient(made.gateway, { era: 'legacy' }))
    for (let call = 0; call < 2; call++) await client.request('tools/call', { name: 'web__work' })
    const { page } = await openPage(t, await made.link())
    await page.getByRole('link', { name: 'Tasks and agents', exact: true }).click()
    const rows = page.getByLabel('Calls that go on').locator('tbody tr')
    await rows.filter({ hasText: 'web__work' }).nth(1).waitFor()
    await assertEveryView(page)
    assert.equal(await page.getByText('No agent is configured').count(), 0)

    ends[0]?.()
    await rows
      .filter({ hasText: 'completed' })
      .filter({ hasText: /4\.9 ?K|5\.?\d* ?k/i })
      .waitFor()
    await page.getByRole('button', { name: 'Cancel web__work' }).focus()
    await page.keyboard.press('Enter')
    await rows.filter({ hasText: 'cancelled' }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Cancel web__work' }).count(), 0)
  },
)
