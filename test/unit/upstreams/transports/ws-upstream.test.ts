import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { answerTo, wsServer, type Said } from './network-upstream.ts'
import { bench, callOf, clock, textOf, toolCall, wsSpec } from '../../fixtures/upstream-bench.ts'
import { Payload } from '../../../../src/protocol/payload.ts'
import { WebSocketChannel } from '../../../../src/net/channel.ts'
import { serveAll } from '../../listeners/http/network.ts'
import { until } from '../../../fixtures/until.ts'

const SILENT = (said: Said): string | undefined => (said.method === 'tools/call' ? undefined : answerTo(said))

test('our own listener is a server for it, in the modern era', async t => {
  const { gate, at } = await serveAll(t)
  gate.answering = ({ inbound }) =>
    inbound.method === 'server/discover'
      ? {
          result: Payload.of({
            supportedVersions: ['2026-07-28'],
            capabilities: { tools: {} },
            serverInfo: { name: 'fake', version: '1' },
          }),
        }
      : { result: Payload.of({ content: [{ type: 'text', text: 'é' }] }) }
  const url = at('/ws')
  url.protocol = 'ws:'
  const { upstream } = await bench(t, wsSpec(url.href))
  await upstream.start()

  assert.equal(upstream.server?.era, 'modern')
  assert.equal(textOf(await upstream.dispatch(toolCall('x'))), 'é')
})

test('a WebSocket that closes fails its calls and is opened anew', async t => {
  const server = await wsServer(t, SILENT)
  const { upstream, states } = await bench(t, wsSpec(server.url))
  await upstream.start()
  const call = upstream.dispatch(toolCall('x'))
  await until(() => server.heard.some(({ said }) => said.method === 'tools/call'), 'the call has arrived')

  server.sockets[0]?.close(1012, 'restart')

  await assert.rejects(call, /closed the WebSocket \(code 1012: restart\)/)
  await until(() => states.filter(state => state === 'ready').length === 2, 'it is ready again')
})

test('a server that closes on the probe is asked again in the old way', async t => {
  const server = await wsServer(t, said => {
    if (said.method !== 'server/discover') return answerTo(said)
    server.sockets.at(-1)?.terminate()
    return undefined
  })
  const { upstream } = await bench(t, wsSpec(server.url))
  await upstream.start()

  assert.equal(upstream.state, 'ready')
  assert.equal(server.sockets.length, 2)
})

test('what is wrong with a server is said in words', async t => {
  const problem = async (url: string, overrides = {}): Promise<string> => {
    const { upstream } = await bench(t, wsSpec(url, overrides))
    await upstream.start()
    return upstream.problem ?? ''
  }
  const plain = await wsServer(t, answerTo, { path: '/other' })
  const mute = await wsServer(t, answerTo, { handleProtocols: () => false })
  const large = await wsServer(t, ({ id }) => JSON.stringify({ id, text: 'x'.repeat(2000) }))

  assert.match(await problem('ws://127.0.0.1:1/ws'), /unreachable \(ECONNREFUSED\)/)
  assert.match(await problem(plain.url), /WebSocket rejected \(HTTP 400\)/)
  assert.match(await problem(mute.url), /Server sent no subprotocol/)
  assert.match(await problem(large.url, { maxReply: '1KiB' }), /message larger than 1KiB/)
})

test('a connection that a server refuses can be closed at any moment', async t => {
  const { url } = await wsServer(t, answerTo, { path: '/other' })
  const socket = new WebSocket(url)
  const channel = new WebSocketChannel(socket, { clock })
  await once(socket, 'unexpected-response')
  socket.terminate()

  await channel.close()

  assert.equal(socket.readyState, socket.CLOSED)
})

test('a server that sends binary frames is left', async t => {
  const server = await wsServer(t, said => {
    if (said.method === 'tools/list') server.sockets[0]?.send(Buffer.from('{}'), { binary: true })
    return SILENT(said)
  })
  const { upstream } = await bench(t, wsSpec(server.url))
  await upstream.start()
  const call = upstream.dispatch(toolCall('x'))
  const list = upstream.dispatch(callOf('tools/list'))

  await assert.rejects(call, /it sent a binary frame/)
  await list.catch(() => undefined)
})

test('a message that is not UTF-8 ends the connection with 1007', async t => {
  const codes: number[] = []
  const server = await wsServer(t, said => {
    if (said.method !== 'tools/call') return answerTo(said)
    server.sockets.at(-1)?.once('close', code => codes.push(code))
    server.sockets.at(-1)?.send(Buffer.from([0x22, 0xc3, 0x28, 0x22]), { binary: false })
    return undefined
  })
  const { upstream } = await bench(t, wsSpec(server.url))
  await upstream.start()

  await assert.rejects(upstream.dispatch(toolCall('x')), /WebSocket/)

  await until(() => codes.length === 1, 'the server has heard of it')
  assert.deepEqual(codes, [1007])
})
