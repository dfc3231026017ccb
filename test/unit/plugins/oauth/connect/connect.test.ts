import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createKey } from '../../../../../src/cli/scaffold.ts'
import type { JsonObject } from '../../../../../src/plugin.ts'
import { closeAfter, testClient, testGateway } from '../../../../../src/testing/index.ts'
import { PlainBrowser } from '../../../../fixtures/people/plain-browser.ts'
import { CALL, linkIn, loggedIn, OPENS_PAGES, setting, throughProvider } from './setting.ts'

describe('a caller who must log in', () => {
  test('is sent to a page by a modern client, whose call goes on afterwards; and every caller by itself', async t => {
    const made = await setting(t)
    const { client, subjects, recorded } = made
    const alice = await client('alice')
    const first = await alice.request('tools/call', CALL)
    const asked = first.result as { resultType: string; requestState: string; inputRequests: JsonObject }
    assert.equal(asked.resultType, 'input_required', JSON.stringify(first))
    const [ask] = Object.values(asked.inputRequests) as { method: string; params: JsonObject }[]
    assert.equal(ask?.method, 'elicitation/create')
    assert.equal(ask.params.mode, 'url')
    assert.doesNotMatch(JSON.stringify(asked), /-32042|elicitationId/)

    const done = await loggedIn(made, linkIn(asked), 'alice')
    assert.match(done.text, /You are logged in/, `${done.url} ${done.text}`)
    const { requestState } = asked
    const inputResponses = { 'visit-1': { action: 'accept' } }
    const retry = await alice.request('tools/call', { ...CALL, requestState, inputResponses })
    assert.match(JSON.stringify(retry.result), /you are alice/)
    assert.match(JSON.stringify((await alice.request('tools/call', CALL)).result), /you are alice/)
    assert.deepEqual(new Set(subjects), new Set(['alice']))

    const bob = await (await client('bob')).request('tools/call', CALL)
    assert.notEqual(linkIn(bob.result), linkIn(asked))
    assert.match((await loggedIn(made, linkIn(bob.result), 'bob')).text, /You are logged in/)
    assert.match(JSON.stringify((await (await client('bob')).request('tools/call', CALL)).result), /you are bob/)
    assert.deepEqual(
      recorded.map(({ outcome, fields }) => [outcome, fields?.subject, fields?.upstream]),
      [
        ['made', 'alice', 'files'],
        ['made', 'bob', 'files'],
      ],
    )
  })

  test('whose client comes back too early waits for the page, and is asked again', async t => {
    const made = await setting(t)
    const alice = await made.client('alice')
    const first = (await alice.request('tools/call', CALL)).result as { requestState: string }
    const back = {
      ...CALL,
      requestState: first.requestState,
      inputResponses: { 'visit-1': { action: 'accept' } },
    }
    const waiting = alice.request('tools/call', back)
    assert.match((await loggedIn(made, linkIn(first), 'alice')).text, /You are logged in/)
    const answer = (await waiting).result as { requestState?: string }
    const { requestState } = answer
    const last =
      requestState === undefined ? answer : (await alice.request('tools/call', { ...back, requestState })).result
    assert.match(JSON.stringify(last), /you are alice/)
  })

  test('who will not is not asked again in the same call', async t => {
    const { client } = await setting(t)
    const alice = await client('alice')
    const { requestState } = (await alice.request('tools/call', CALL)).result as { requestState: string }
    const inputResponses = { 'visit-1': { action: 'decline' } }
    const { result } = await alice.request('tools/call', { ...CALL, requestState, inputResponses })
    assert.match(JSON.stringify(result), /declined.*"isError":true/)
  })

  test('is sent there by an error of a legacy client, which hears when it is done', async t => {
    const made = await setting(t)
    const alice = await made.client('alice', { era: 'legacy' })
    const other = await made.client('alice', { era: 'legacy' })
    await Promise.all([alice.listen(), other.listen()])
    const { error } = await alice.request('tools/call', CALL)
    assert.equal(error?.code, -32042, JSON.stringify(error))
    const { elicitations } = error.data as {
      elicitations: { mode: string; elicitationId: string; url: string }[]
    }
    assert.equal(elicitations.length, 1)
    assert.equal(elicitations[0]?.mode, 'url')
    const told = alice.nextNotification('notifications/elicitation/complete')
    assert.match((await loggedIn(made, linkIn(error), 'alice')).text, /You are logged in/)
    assert.equal((await told).params?.elicitationId, elicitations[0].elicitationId)
    const { result } = await alice.request('tools/call', CALL)
    assert.match(JSON.stringify(result), /you are alice/)
    // Another client of the same caller asked for nothing, and hears nothing, but that the login has changed what there is.
    const heard = other.notifications.filter(({ method }) => method !== 'notifications/tools/list_changed')
    assert.deepEqual(heard, [])
  })

  for (const [what, options] of [
    ['a modern client', { capabilities: { elicitation: { form: {} } } }],
    ['a legacy client', { era: 'legacy', capabilities: {} }],
    ['an old client', { era: 'legacy', version: '2025-06-18', capabilities: { elicitation: {} } }],
  ] as const)
    test(`by ${what} that opens no pages reads the whole link, and the command`, async t => {
      const made = await setting(t)
      const alice = await made.client('alice', options)
      const { result } = await alice.request('tools/call', CALL)
      assert.equal((result as JsonObject).isError, true, JSON.stringify(result))
      assert.match(JSON.stringify(result), /gateway login files/)
      assert.ok(linkIn(result).startsWith(`${made.base}/oauth/connect/`))
    })
})

describe('a caller with a key', () => {
  test('types the code that its client shows, a few times at most', async t => {
    const key = createKey('ci', [])
    const made = await setting(t, { auth: { keys: [{ name: 'ci', hash: key.hash }] }, oauth: {} })
    const options = { headers: { authorization: `Bearer ${key.key}` }, capabilities: OPENS_PAGES }
    const ci = closeAfter(t, await testClient(made.gateway, options))
    const said = JSON.stringify((await ci.request('tools/call', CALL)).result)
    const code = /Enter this code there: ([A-Z0-9]{4}-[A-Z0-9]{4})/.exec(said)?.[1] ?? ''
    assert.notEqual(code, '', said)
    const browser = new PlainBrowser()
    const page = await browser.open(linkIn(said))
    assert.doesNotMatch(page.text, new RegExp(code))
    const wrong = await browser.submit(page, { answer: 'allow', code: 'AAAA-AAAA' })
    assert.equal(wrong.status, 403)
    assert.match(wrong.text, /code is wrong/)
    const right = await browser.submit(wrong, {
      answer: 'allow',
      code: ` ${code.toLowerCase().replace('-', ' ')} `,
    })
    assert.match((await throughProvider(browser, right, 'carol', made.idp.issuer)).text, /You are logged in/)
    assert.match(JSON.stringify((await ci.request('tools/call', CALL)).result), /you are carol/)
  })

  test('has no link any more after five wrong codes', async t => {
    const key = createKey('ci', [])
    const made = await setting(t, { auth: { keys: [{ name: 'ci', hash: key.hash }] }, oauth: {} })
    const options = { headers: { authorization: `Bearer ${key.key}` }, capabilities: OPENS_PAGES }
    const ci = closeAfter(t, await testClient(made.gateway, options))
    const link = linkIn((await ci.request('tools/call', CALL)).result)
    const browser = new PlainBrowser()
    let page = await browser.open(link)
    for (let turn = 0; turn < 4; turn++) page = await browser.submit(page, { answer: 'allow', code: 'AAAA-AAAA' })
    assert.equal(page.status, 403)
    assert.equal((await browser.submit(page, { answer: 'allow', code: 'AAAA-AAAA' })).status, 404)
    assert.notEqual(linkIn((await ci.request('tools/call', CALL)).result), link)
  })
})

describe('the configuration', () => {
  const upstreams = { files: { type: 'http', url: 'http://127.0.0.1:1/mcp', oauth: { account: 'caller' } } }
  const listeners = { main: { type: 'http', port: 0 } }

  test('that lets nobody say who calls is refused', async () => {
    await assert.rejects(testGateway({ config: { listeners, upstreams } }), (error: Error) => {
      assert.match(JSON.stringify(error), /without \\+"auth\\+" callers are not identified/)
      return true
    })
  })

  test('whose identity provider is nobody’s issuer is refused', async () => {
    const auth = { jwt: [{ issuer: 'https://a.example', jwks: 'https://a.example/k' }] }
    const oauth = { person: { issuer: 'https://a.example/', clientId: 'x' } }
    await assert.rejects(testGateway({ config: { listeners, upstreams, auth, oauth } }), (error: Error) => {
      assert.match(JSON.stringify(error), /no caller has a token of this issuer/)
      return true
    })
  })

  test('without such an upstream has no page', async t => {
    const key = createKey('ci', [])
    const auth = { keys: [{ name: 'ci', hash: key.hash }] }
    const gateway = closeAfter(t, await testGateway({ config: { listeners, auth } }))
    for (const path of ['/oauth/callback', '/oauth/person', `/oauth/connect/${'x'.repeat(22)}`])
      assert.equal((await fetch(new URL(path, gateway.url))).status, 401)
  })
})
