import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testGateway } from '../../../src/testing/index.ts'
import { INITIALIZE } from '../listeners/http/client.ts'
import { script } from '../fixtures/upstream-bench.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { until } from '../../fixtures/until.ts'

test('a legacy client hears that the server no longer wants its answer, and then the end of its call', async t => {
  const upstream = {
    type: 'stdio',
    command: process.execPath,
    args: [script('turns-server.mjs')],
    prefix: '',
  }
  const main = { type: 'http', port: 0, ws: { path: '/ws' } }
  const gateway = closeAfter(t, await testGateway({ config: { listeners: { main }, upstreams: { it: upstream } } }))
  const socket = new WebSocket(new URL('/ws', gateway.url.replace('http', 'ws')), 'mcp')
  cleanup(t, () => socket.close())
  const heard: JsonObject[] = []
  socket.onmessage = ({ data }) => heard.push(JSON.parse(String(data)) as JsonObject)
  await once(socket, 'open')
  const send = (message: object): void => socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }))
  send({
    ...INITIALIZE,
    params: { ...INITIALIZE.params, protocolVersion: '2025-11-25', capabilities: { elicitation: {} } },
  })
  await until(() => heard.length === 1, 'the handshake is done')
  send({ method: 'notifications/initialized' })
  send({ id: 7, method: 'tools/call', params: { name: 'changes-its-mind', arguments: { text: 'well?' } } })

  await until(() => heard.some(({ id }) => id === 7), 'the call is answered')

  const [ask, cancelled] = heard.filter(({ method }) => /elicitation|cancelled/.test(String(method)))
  assert.equal(ask?.method, 'elicitation/create')
  assert.deepEqual(cancelled?.params, {
    requestId: ask?.id,
    reason: 'cancelled by the server',
  })
})
