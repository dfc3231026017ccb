import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { closeAfter, testClient, testGateway, type TestGateway } from '../../../../../src/testing/index.ts'
import { PlainBrowser } from '../../../../fixtures/people/plain-browser.ts'
import { redisFor, skip } from '../../../../fixtures/redis.ts'
import { KEY, until } from '../../cluster/setting.ts'
import { CALL, linkIn, loggedIn, opened, OPENS_PAGES, type Setting, setting, throughProvider } from './setting.ts'

interface Two extends Setting {
  /** A replica whose pages browsers ask of the first one. */
  readonly second: TestGateway
  call(gateway: TestGateway, subject: string): Promise<string>
}

/** Two replicas behind one URL, at which the first one answers. */
async function twoReplicas(t: TestContext): Promise<Two> {
  const redis = await redisFor(t)
  const made = await setting(t, { cluster: { redis: redis.url, keys: [KEY] }, overload: false })
  const listeners = { main: { type: 'http', port: 0, publicUrl: made.base } }
  const second = closeAfter(t, await testGateway({ config: { ...made.config, listeners } }))
  const call = async (gateway: TestGateway, subject: string): Promise<string> => {
    const headers = { authorization: `Bearer ${await made.idp.sign(`${made.base}/mcp`, subject)}` }
    const client = await testClient(gateway.url, { headers, capabilities: OPENS_PAGES })
    const reply = await client.request('tools/call', CALL)
    await client.close()
    return JSON.stringify(reply)
  }
  return { ...made, second, call }
}

test('the page of a login is asked of any replica, and the login is that of all', { skip }, async t => {
  const made = await twoReplicas(t)
  const { gateway, second, call, base } = made
  const link = linkIn(await call(second, 'alice'))
  assert.ok(link.startsWith(`${base}/oauth/connect/`))

  assert.match((await loggedIn(made, link, 'alice')).text, /You are logged in/)
  for (const one of [gateway, second]) assert.match(await call(one, 'alice'), /you are alice/)
  assert.match((await new PlainBrowser().open(link)).text, /You can close this page and return/)
  assert.match(await call(gateway, 'bob'), /oauth\/connect/, 'nobody else has it')
})

test(
  'a link that another person opens, a state from another browser, and what was used are of no use',
  { skip },
  async t => {
    const made = await twoReplicas(t)
    const { second, call, idp, base } = made
    const link = linkIn(await call(second, 'alice'))
    const [, page] = await opened(made, link, 'mallory')
    assert.equal(page.status, 403)
    assert.match(page.text, /for another user/)

    const [browser, asked] = await opened(made, link, 'alice')
    browser.stopsBefore = url => url.startsWith(`${base}/oauth/callback`)
    const back = await throughProvider(browser, await browser.submit(asked, { answer: 'allow' }), 'alice', idp.issuer)
    const stolen = await new PlainBrowser().open(back.url)
    assert.match(stolen.text, /not begin|did not begin|another browser|not begun/i)
    browser.stopsBefore = () => false
    assert.match((await browser.open(back.url)).text, /You are logged in/)
    assert.doesNotMatch((await browser.open(back.url)).text, /You are logged in/)

    for (const forged of [`${link.slice(0, -3)}AAA`, `${base}/oauth/connect/${'A'.repeat(22)}`])
      assert.equal((await new PlainBrowser().open(forged)).status, 404)
    await second.gateway.close()
    // For a second it is looked for where it was.
    await until(async () => (await new PlainBrowser().open(link)).status === 404)
  },
)
