import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testGateway } from '../../../src/testing/index.ts'
import { serveAll, talk } from './http/network.ts'
import { pipe } from './stdio/client.ts'
import { BAD, withBytes } from '../security/bad-utf8.ts'
const PLACES = [
  '{"jsonrpc":"2.0","id":1,"method":"echo/x","params":{"a":"?"}}',
  '{"jsonrpc":"2.0","id":1,"method":"echo/?"}',
  '{"jsonrpc":"2.0","id":"?","method":"echo/x"}',
  '{"jsonrpc":"2.0","id":1,"method":"echo/x","params":{"?":1}}',
]

function message(index: number): Buffer {
  return withBytes(PLACES[index % PLACES.length] as string, BAD[index] as number[])
}

test('a body that is not UTF-8 is refused with HTTP 400, whatever is wrong with it', async t => {
  const { url } = closeAfter(t, await testGateway())
  const statuses = BAD.map(async bytes => {
    const body = withBytes('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"?"}}', bytes)
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const response = await fetch(url, { method: 'POST', headers, body })
    const { error } = (await response.json()) as { error: { message: string } }
    return `${response.status} ${error.message}`
  })

  assert.ok(BAD.length >= 60)
  assert.deepEqual(new Set(await Promise.all(statuses)), new Set(['400 Parse error: the text is not UTF-8']))
})

test('a line that is not UTF-8 is answered with an error, and the conversation goes on', async () => {
  const client = await pipe()
  for (let index = 0; index < BAD.length; index++) {
    client.input.write(Buffer.concat([message(index), Buffer.from('\n')]))
    const { id, error } = (await client.next()) as { id: unknown; error: { code: number } }
    assert.deepEqual([id, error.code], [null, -32700])
  }
  client.send({ id: 'after', method: 'echo/x' })

  assert.equal((await client.next()).id, 'after')
  assert.equal(client.gate.seen.length, 1)
  await client.listener.stop(0)
})

test('a text frame that is not UTF-8 closes its WebSocket with 1007, and no other', async t => {
  const { gate, at } = await serveAll(t)
  const other = await talk(at('/ws'))
  const codes = await Promise.all(
    BAD.map(async (_, index) => {
      const { socket, closed } = await talk(at('/ws'))
      socket.send(message(index), { binary: false })
      return (await closed)[0]
    }),
  )
  other.send({ id: 'after', method: 'echo/x' })

  assert.deepEqual(new Set(codes), new Set([1007]))
  assert.equal((await other.next())?.id, 'after')
  assert.equal(gate.seen.length, 1)
})
