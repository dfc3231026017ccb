import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { serveAll, talk } from './http/network.ts'
import { pipe } from './stdio/client.ts'

/** Ids that JavaScript's numbers cannot hold. */
const BIG_IDS = ['9007199254740993', '-9007199254740995', '123456789012345678901234567890']

const request = (id: string): string => `{"jsonrpc":"2.0","id":${id},"method":"ping"}`
const hasId = (id: string): RegExp => new RegExp(`"id":${id}[,}]`)

/** Posts a body and resolves with the text of the answer. */
async function post(url: string | URL, body: string): Promise<string> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  return (await fetch(url, { method: 'POST', headers, body })).text()
}

test('over HTTP an id beyond 2^53 comes back with all its digits', async t => {
  const { url } = closeAfter(t, await testGateway())

  for (const id of BIG_IDS) assert.match(await post(url, request(id)), hasId(id))
})

test('over a WebSocket an id beyond 2^53 comes back with all its digits', async t => {
  const { at } = await serveAll(t)
  const { socket } = await talk(at('/ws'))
  cleanup(t, () => socket.terminate())

  for (const id of BIG_IDS) {
    socket.send(request(id).replace('ping', 'echo/x'))
    const [data] = (await once(socket, 'message')) as [Buffer]
    assert.match(String(data), hasId(id))
  }
})

test('on a pipe an id beyond 2^53 comes back with all its digits', async t => {
  const client = await pipe()
  cleanup(t, () => client.listener.stop(0))

  for (const id of BIG_IDS) {
    client.write(`${request(id).replace('ping', 'echo/x')}\n`)
    const [data] = (await once(client.output, 'data')) as [Buffer]
    assert.match(String(data), hasId(id))
  }
})

test('a body that begins with a byte order mark is read as if it had none', async t => {
  const { url } = closeAfter(t, await testGateway())

  assert.match(await post(url, `\uFEFF${request('7')}`), hasId('7'))
})

test('parameters and arguments of null are absent, and a server gets arguments that are an object', async t => {
  let given: unknown
  const upstream = closeAfter(
    t,
    await testUpstream({ tools: { look: (_, { params }) => ((given = params['arguments']), 'seen') } }),
  )
  const gateway = closeAfter(t, await testGateway({ upstreams: { web: upstream } }))
  const client = closeAfter(t, await testClient(gateway, { era: 'legacy' }))
  const call = '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"web__look","arguments":null}}'

  const ping = await client.sendRaw('{"jsonrpc":"2.0","id":1,"method":"ping","params":null}')
  const answer = await client.sendRaw(call)

  assert.deepEqual(ping.result, {})
  assert.match(JSON.stringify(answer.result), /seen/)
  assert.deepEqual(given, {})
})

test('of a flood of log messages in a call a client gets a hundred', async t => {
  const MESSAGES = 1000
  const upstream = closeAfter(
    t,
    await testUpstream({
      era: 'legacy',
      capabilities: { logging: {} },
      tools: {
        flood: (_, { notify }) => {
          for (let n = 0; n < MESSAGES; n++) notify('notifications/message', { level: 'info', data: `line ${n}` })
          return 'done'
        },
      },
    }),
  )
  const gateway = closeAfter(t, await testGateway({ upstreams: { web: upstream } }))
  const client = closeAfter(t, await testClient(gateway, { era: 'legacy' }))

  const { notifications } = await client.request('tools/call', { name: 'web__flood', arguments: {} })
  const got = notifications.map(({ params }) => params?.['data'])

  assert.equal(got.length, 100)
})
