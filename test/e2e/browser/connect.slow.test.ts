import assert from 'node:assert/strict'
import { test } from 'node:test'
import AxeBuilder from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { linkIn, setting, type Setting } from '../../unit/plugins/oauth/connect/setting.ts'
import { skip, startChromium } from './opened-page.ts'

const CALL = { name: 'files__whoami', arguments: {} }
const BACK = { 'visit-1': { action: 'accept' } }

/** The browser of one person: it shares no cookie with others. */
async function pageOf(browser: Browser): Promise<Page> {
  return (await browser.newContext()).newPage()
}

/** Opens a link, and logs in at the identity provider by a name, up to what the gateway says then. */
async function open(page: Page, link: string, subject: string, { idp }: Setting): Promise<void> {
  await page.goto(link)
  await throughProvider(page, subject, idp.issuer)
}

/** Logs in and consents, as long as the browser is at the provider. */
async function throughProvider(page: Page, subject: string, issuer: string): Promise<void> {
  for (let turn = 0; turn < 6 && page.url().startsWith(issuer); turn++) {
    const login = page.locator('input[name=login]')
    if ((await login.count()) > 0) {
      await login.fill(subject)
      await page.fill('input[name=password]', 'x')
    }
    await Promise.all([page.waitForLoadState('load'), page.click('button[type=submit]')])
    await page.waitForLoadState('networkidle')
  }
}

async function linkOf(made: Setting, subject: string): Promise<{ link: string; requestState: string }> {
  const client = await made.client(subject)
  const result = (await client.request('tools/call', CALL)).result as { requestState: string }
  return { link: linkIn(result), requestState: result.requestState }
}

test('a whole login in a browser: the call that waited goes on', { skip }, async t => {
  const made = await setting(t)
  const { link, requestState } = await linkOf(made, 'alice')
  const page = await pageOf(await startChromium(t))
  const problems: string[] = []
  page.on('console', message => {
    const isOurs = message.location().url.startsWith(made.base)
    if (isOurs && message.type() === 'error') problems.push(message.text())
  })
  await open(page, link, 'alice', made)
  assert.match(await page.innerText('h1'), /use “files”/)
  // Two clicks of somebody who is in a hurry.
  await page.dblclick('button.main', { noWaitAfter: true })
  await page.waitForURL(url => !url.href.startsWith(link))
  await throughProvider(page, 'alice', made.idp.issuer)
  assert.match(await page.innerText('h1'), /You are logged in/)
  const alice = await made.client('alice')
  const { result } = await alice.request('tools/call', { ...CALL, requestState, inputResponses: BACK })
  assert.match(JSON.stringify(result), /you are alice/)
  assert.deepEqual(
    made.recorded.map(({ outcome }) => outcome),
    ['made'],
  )
  // A callback that came back once is good for nothing again.
  await page.goBack()
  const callback = page.url().includes('/oauth/callback') ? page.url() : `${made.base}/oauth/callback?code=x&state=y`
  const replayed = await page.goto(callback)
  assert.equal(replayed?.status(), 400)
  assert.deepEqual(
    problems.filter(text => !/40\d/.test(text)),
    [],
  )
})

test('the page can be read by everybody, on every screen', { skip }, async t => {
  const made = await setting(t)
  const { link } = await linkOf(made, 'alice')
  const page = await pageOf(await startChromium(t))
  await open(page, link, 'alice', made)
  for (const [name, width] of [
    ['narrow', 360],
    ['wide', 1280],
  ] as const)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: 800 })
      await page.emulateMedia({ colorScheme })
      const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
      assert.ok(wide <= width, `${wide} of ${width}`)
      const found = await page.evaluate(`(() => { ${AxeBuilder.source}; return axe.run(document) })()`)
      const { violations } = found as { violations: { id: string; nodes: { html: string }[] }[] }
      assert.deepEqual(
        violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]),
        [],
        `${name} ${colorScheme}`,
      )
      const { SCREENSHOTS: folder } = process.env
      if (folder !== undefined) await page.screenshot({ path: `${folder}/connect-${name}-${colorScheme}.png` })
    }
})
