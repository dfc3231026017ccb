import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { PlainBrowser } from '../../../../fixtures/people/plain-browser.ts'
import { CALL, linkIn, opened, setting, throughProvider, type Setting } from './setting.ts'

describe('a link', () => {
  test('of alice that bob opens is 403, makes no grant, and is in the audit', async t => {
    const made = await setting(t)
    const alice = await made.client('alice')
    const link = linkIn((await alice.request('tools/call', CALL)).result)
    const [browser, page] = await opened(made, link, 'bob')
    assert.equal(page.status, 403)
    assert.match(page.text, /for another user/)
    assert.doesNotMatch(page.text, /<form/)
    const again = await browser.open(link)
    assert.equal(again.status, 403)
    const posted = await browser.post(link, { answer: 'allow', token: 'x' }, link)
    assert.equal(posted.status, 403)
    assert.deepEqual(
      made.recorded.map(({ outcome, fields }) => [outcome, fields?.subject, fields?.person]),
      [
        ['denied', 'alice', 'bob'],
        ['denied', 'alice', 'bob'],
      ],
    )
    assert.equal(made.idp.issued.filter(({ scope }) => scope?.includes('read')).length, 0)
    assert.match(JSON.stringify((await alice.request('tools/call', CALL)).result), /input_required/)
  })

  test('that nobody gave out is 404, and says nothing', async t => {
    const { base } = await setting(t)
    for (const id of ['x'.repeat(22), 'AAAAAAAAAAAAAAAAAAAAAA']) {
      const reply = await fetch(`${base}/oauth/connect/${id}`)
      assert.equal(reply.status, 404)
      assert.doesNotMatch(await reply.text(), new RegExp(id))
    }
    // Whatever does not even look like one is no path of ours.
    for (const path of ['/oauth', '/oauth/', '/oauth/connect', '/oauth/connect/', '/oauth/connect/a/b', '/oauth/other'])
      assert.equal((await fetch(base + path)).status, 401, path)
  })
})

describe('the page', () => {
  test('says what is asked by whom, runs nothing, and stands in no frame', async t => {
    const made = await setting(t)
    const alice = await made.client('alice')
    const link = linkIn((await alice.request('tools/call', CALL)).result)
    const [browser, page] = await opened(made, link, 'alice')
    for (const said of ['files', 'alice', made.idp.issuer, new URL(made.idp.issuer).host, 'read'])
      assert.ok(page.text.includes(said), said)
    assert.doesNotMatch(page.text, /<script|javascript:| on\w+=/i)
    const csp = page.headers.get('content-security-policy') ?? ''
    assert.match(csp, /default-src 'none'.*frame-ancestors 'none'/)
    assert.doesNotMatch(csp, /unsafe|script-src/)
    assert.equal(page.headers.get('x-frame-options'), 'DENY')
    assert.equal(page.headers.get('cache-control'), 'no-store')
    assert.equal(page.headers.get('referrer-policy'), 'same-origin')
    assert.equal(page.headers.get('access-control-allow-origin'), null)
    const cookie = [...browser.cookiesOf(link)].find(([name]) => name === 'tapgate-login')
    assert.ok(cookie !== undefined && cookie[1].length >= 43)
  })

  test('takes an answer only from its own form, in its own browser', async t => {
    const made = await setting(t)
    const alice = await made.client('alice')
    const link = linkIn((await alice.request('tools/call', CALL)).result)
    const [browser, page] = await opened(made, link, 'alice')
    const token = /name="token" value="([^"]*)"/.exec(page.text)?.[1] ?? ''
    const statuses = [
      await browser.post(link, { answer: 'allow' }, link),
      await browser.post(link, { answer: 'allow', token: `${token}x` }, link),
      await browser.post(link, { answer: 'allow', token }, 'https://evil.example/'),
      // Listeners accept the origins of this host.
      await browser.post(link, { answer: 'allow', token }, 'http://localhost:9/'),
      await new PlainBrowser().post(link, { answer: 'allow', token }, link),
    ].map(({ status }) => status)
    assert.deepEqual(statuses, [403, 403, 403, 403, 403])
    const other = await browser.post(link, { answer: 'allow', token, access: token }, link)
    assert.match(other.text, /The requested access has changed/)
    assert.equal(made.recorded.length, 0)
    const declined = await browser.submit(page, { answer: 'deny' })
    assert.match(declined.text, /Access denied/)
    assert.equal(made.recorded.at(-1)?.outcome, 'declined')
  })
})

describe('the way back', () => {
  /** A login up to the URL with the code, which is not opened. */
  async function withCode(made: Setting): Promise<{ browser: PlainBrowser; callback: string }> {
    const alice = await made.client('alice')
    const link = linkIn((await alice.request('tools/call', CALL)).result)
    const [browser, page] = await opened(made, link, 'alice')
    const done = await throughProvider(
      browser,
      await browser.submit(page, { answer: 'allow' }),
      'alice',
      made.idp.issuer,
    )
    return { browser, callback: done.url }
  }

  test('is good once, and in the browser that began it', async t => {
    const made = await setting(t)
    const { browser, callback } = await withCode(made)
    assert.match(callback, /\/oauth\/callback\?/)
    assert.equal((await browser.open(callback)).status, 400)
    assert.equal((await new PlainBrowser().open(callback)).status, 400)
    assert.deepEqual(
      made.recorded.map(({ outcome }) => outcome),
      ['made'],
    )
  })

  test('of the identity provider that another site makes up ends nobody’s login', async t => {
    const made = await setting(t)
    const alice = await made.client('alice')
    const link = linkIn((await alice.request('tools/call', CALL)).result)
    const browser = new PlainBrowser()
    browser.stopsBefore = url => url.includes('/oauth/person')
    const stopped = await throughProvider(browser, await browser.open(link), 'alice', made.idp.issuer)
    browser.stopsBefore = () => false

    for (const query of ['?state=made-up&code=x', '?error=access_denied', ''])
      assert.equal((await browser.open(`${made.base}/oauth/person${query}`)).status, 403)

    const page = await browser.open(stopped.url)
    assert.equal(page.status, 200, page.text)
    assert.match(page.text, /alice/)
    assert.deepEqual(made.recorded, [])
  })

  test('with another issuer, without a code or with an error makes no grant, and says nothing of it', async t => {
    for (const change of [
      (query: URLSearchParams) => query.set('iss', 'https://evil.example'),
      (query: URLSearchParams) => query.delete('iss'),
      (query: URLSearchParams) => query.delete('code'),
      (query: URLSearchParams) => {
        query.delete('code')
        query.set('error', 'access_denied<script>')
        query.set('error_description', 'call 555 <script>alert(1)</script>')
      },
    ]) {
      const made = await setting(t)
      const alice = await made.client('alice')
      const link = linkIn((await alice.request('tools/call', CALL)).result)
      const [browser, page] = await opened(made, link, 'alice')
      browser.stopsBefore = url => url.includes('/oauth/callback')
      const stopped = await throughProvider(
        browser,
        await browser.submit(page, { answer: 'allow' }),
        'alice',
        made.idp.issuer,
      )
      browser.stopsBefore = () => false
      const url = new URL(stopped.url)
      change(url.searchParams)
      const back = await browser.open(url.href)
      assert.equal(back.status, 400, back.text)
      assert.doesNotMatch(back.text, /evil|<script|alert|call 555|access_denied/)
      assert.equal((await browser.open(stopped.url)).status, 400)
      assert.match(JSON.stringify((await alice.request('tools/call', CALL)).result), /input_required/)
    }
  })
})
