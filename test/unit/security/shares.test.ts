import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Call, Exchange, Notification, Session } from '../../../src/api/index.ts'
import { definePlugin } from '../../fixtures/define-plugin.ts'
import { closeAfter, testGateway, testUpstream } from '../../../src/testing/index.ts'
import { UrlElicitations } from '../../../src/upstreams/connection/incoming-requests.ts'
import { byToken, from, modern } from '../fixtures/by-token.ts'
import { callOf } from '../fixtures/upstream-bench.ts'

// One caller fills a table; another has what it had. The other tables have such a test where they are.

function as(subject: string, call: Call): Call {
  const principal = { issuer: 'test', client: '', subject, scopes: [] }
  return { ...call, exchange: { ...call.exchange, session: { ...call.exchange.session, principal } } }
}

test('a caller that is sent to many URLs does not keep others from hearing that they are done', () => {
  const visits = new UrlElicitations()
  const received: Notification[] = []
  const exchange = (subject: string): Exchange => {
    const call = as(subject, callOf('tools/call', { name: 'visit' }))
    const notify = (notification: Notification): boolean => received.push(notification) > 0
    const session: Session = { ...call.exchange.session, notify }
    return { ...call.exchange, session }
  }
  visits.addVisit({ elicitationId: 'mine' }, exchange('quiet'))

  const loud = exchange('loud')
  for (let i = 0; i < 5000; i++) visits.addVisit({ elicitationId: `other ${i}` }, loud)

  const done = { method: 'notifications/elicitation/complete', params: { elicitationId: 'mine' } }
  assert.equal(
    visits.completeVisit(done, () => undefined),
    true,
  )
  assert.deepEqual(received, [done])
})

test('a caller that lists with other headers each time does not take what another was listed last', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { one: () => 'one' } }))
  let lists = 0
  const varying = definePlugin<undefined>({
    name: 'varying',
    setup({ hooks }) {
      hooks.call.tap(call => {
        if (call.exchange.principal.subject === 'loud') call.headers['x-label'] = String(++lists)
      })
    },
  })
  const { gateway } = closeAfter(
    t,
    await testGateway({
      upstreams: { web },
      plugins: [byToken, varying],
      config: {
        cache: false,
        listeners: { main: { type: 'http', port: 0 } },
        lists: { grace: 100, wait: 100 },
      },
    }),
  )
  const url = gateway.listeners[0]?.url ?? ''
  const list = async (who: string): Promise<string> => (await fetch(url, from(who, modern('tools/list')))).text()
  assert.match(await list('quiet'), /web__one/)

  for (let i = 0; i < 110; i++) await Promise.all(Array.from({ length: 10 }, () => list('loud')))
  web.offer.methods.set('tools/list', () => new Promise(() => undefined))

  assert.ok(lists >= 1100)
  assert.match(await list('quiet'), /web__one/)
})
