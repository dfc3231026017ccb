import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testClient, testGateway, testUpstream, type TestUpstream } from '../../../src/testing/index.ts'
import { until } from '../../fixtures/until.ts'

const UPDATED = 'notifications/resources/updated'
const PLAN = 'notes://plan'
const OPEN = 'notes://open'

async function notes(t: TestContext): Promise<TestUpstream> {
  const resources = { [PLAN]: 'a plan', [OPEN]: 'for all' }
  const capabilities = { resources: { subscribe: true } }
  const methods = { 'resources/subscribe': () => ({}), 'resources/unsubscribe': () => ({}) }
  return closeAfter(t, await testUpstream({ era: 'legacy', resources, capabilities, methods }))
}

const SUBSCRIBES = 'method == "resources/subscribe" && resource.original.endsWith("plan")'

/** Rules that let everybody read a plan, and nobody subscribe to it. */
const RULES: Readonly<Record<string, string>> = {
  'how a client is connected': `client.via == "http" && ${SUBSCRIBES}`,
  'an address': `request.remote.startsWith("127.") && ${SUBSCRIBES}`,
  'a header': `request.headers.?team.orValue("") == "red" && ${SUBSCRIBES}`,
  'a name that clients know': 'method == "resources/subscribe" && resource.uri == "team://plan"',
}

for (const [what, rule] of Object.entries(RULES))
  for (const era of ['legacy', 'modern'] as const)
    test(`a rule about ${what} judges a subscription by its own request, for a ${era} client`, async t => {
      const files = await notes(t)
      const rename = { [PLAN]: 'team://plan' }
      const config = {
        upstreams: { files: { resources: { rename } } },
        policy: { deny: [rule], headers: ['team'] },
      }
      const gateway = closeAfter(t, await testGateway({ upstreams: { files }, config }))
      const client = closeAfter(t, await testClient(gateway, { era, headers: { team: 'red' } }))
      const watched = (): unknown[] => files.listCalls('resources/subscribe').map(({ params }) => params?.uri)

      if (era === 'legacy')
        for (const uri of ['team://plan', OPEN]) await client.request('resources/subscribe', { uri })
      else
        // The gateway may close before its acknowledgement.
        void client
          .request('subscriptions/listen', { notifications: { resourceSubscriptions: ['team://plan', OPEN] } })
          .catch(() => undefined)

      await until(() => watched().includes(OPEN), 'the other one is watched')
      assert.equal(watched().includes(PLAN), false)
    })

test('one URI of two servers is told to each caller by the server that it is shown', async t => {
  const [red, blue] = [await notes(t), await notes(t)]
  const profiles: JsonObject = { red: { upstreams: ['red'] }, blue: { upstreams: ['blue'] } }
  const gateway = closeAfter(t, await testGateway({ upstreams: { red, blue }, config: { profiles } }))
  const watching = async (profile: string): Promise<Awaited<ReturnType<typeof testClient>>> => {
    const client = closeAfter(t, await testClient(`${gateway.url}/${profile}`, { era: 'legacy' }))
    await client.listen()
    const { error } = await client.request('resources/subscribe', { uri: PLAN })
    assert.equal(error, undefined)
    return client
  }
  const [ofRed, ofBlue] = [await watching('red'), await watching('blue')]
  const heard = (client: typeof ofRed): readonly unknown[] =>
    client.notifications.filter(({ method }) => method === UPDATED).map(({ params }) => params?._meta)

  red.notify(UPDATED, { uri: PLAN, _meta: { by: 'red' } })
  await until(() => heard(ofRed).length === 1, 'the first server is heard')
  blue.notify(UPDATED, { uri: PLAN, _meta: { by: 'blue' } })
  await until(() => heard(ofBlue).length > 0, 'the second server is heard')

  assert.deepEqual(heard(ofRed), [{ by: 'red' }])
  assert.deepEqual(heard(ofBlue), [{ by: 'blue' }])

  await ofBlue.request('resources/unsubscribe', { uri: PLAN })
  await until(() => blue.listCalls('resources/unsubscribe').length === 1, 'the server that was watched hears')
  assert.equal(red.listCalls('resources/unsubscribe').length, 0)
})

test('what a reload hides from a session is not told to it any more, and its server hears that', async t => {
  const files = await notes(t)
  const config = {
    listeners: { main: { type: 'http', port: 0 } },
    upstreams: { files: { type: 'http', url: files.url } },
  }
  const gateway = closeAfter(t, await testGateway({ config }))
  const client = closeAfter(t, await testClient(gateway, { era: 'legacy' }))
  await client.listen()
  for (const uri of [PLAN, OPEN]) await client.request('resources/subscribe', { uri })

  await gateway.gateway.reload({ ...config, filters: { resources: { deny: [PLAN] } } })
  await until(() => files.listCalls('resources/unsubscribe').length === 1, 'the server hears')
  for (const uri of [PLAN, OPEN]) files.notify(UPDATED, { uri })
  const { params } = await client.nextNotification(UPDATED)

  assert.deepEqual(params, { uri: OPEN })
  assert.deepEqual(
    files.listCalls('resources/unsubscribe').map(call => call.params),
    [{ uri: PLAN }],
  )
})
