import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testClient, testUpstream } from '../../../src/testing/index.ts'
import { freePort } from '../../fixtures/free-port.ts'
import { gateway } from '../cli/run.ts'
import { twoWorkers } from '../workers/setting.ts'
import { skip } from './chromium.ts'
import { assertEveryView, openPage } from './opened-page.ts'

test(
  'a page shows the calls of all workers, and comes back by itself when those that serve it are killed',
  { skip },
  async t => {
    const web = closeAfter(t, await testUpstream({ tools: { echo: () => 'x' } }))
    // A port of its own: one that the system chooses is another one when no worker is left.
    const listeners = { main: { type: 'http', port: await freePort() } }
    const upstreams = { web: { type: 'http', url: web.url } }
    const made = await twoWorkers(t, { listeners, upstreams, ui: {} })
    const { stdout } = await gateway(['ui', '--no-open'], { cwd: made.cwd })
    const { page, problems } = await openPage(t, stdout.trim())
    const call = async (): Promise<void> => {
      const client = await testClient(made.url)
      await client.request('tools/call', { name: 'web__echo', arguments: {} })
      await client.close()
    }
    await page.getByText('worker 2').waitFor()
    await assertEveryView(page)

    await page.getByRole('link', { name: 'Calls', exact: true }).click()
    for (let turn = 0; turn < 4; turn++) await call()
    const rows = page.getByLabel('Calls', { exact: true }).locator('tbody tr')
    await rows.nth(3).waitFor()
    assert.deepEqual(problems, [])

    const { workers } = await made.ps()
    for (const { pid } of workers) process.kill(pid, 'SIGKILL')
    await page.getByText('connecting', { exact: true }).waitFor()
    await page.getByText('live', { exact: true }).waitFor()
    await call()
    await call()
    await rows.nth(5).waitFor()
    await page.getByRole('link', { name: 'Overview', exact: true }).click()
    await page.getByText('started anew: 1').first().waitFor()
  },
)
