import assert from 'node:assert/strict'
import { test } from 'node:test'
import { INITIALIZE } from '../http/client.ts'
import { modern, pipe } from './client.ts'

test('order is kept while the session opens', async () => {
  const client = await pipe()
  let open: () => void = () => undefined
  client.gate.opening = () => new Promise(resolve => (open = resolve))

  client.send(INITIALIZE, { method: 'notifications/initialized' }, { id: 1, method: 'tools/list' })
  await new Promise(resolve => setImmediate(resolve))
  const before = client.gate.seen.length
  open()
  await client.next()
  await client.next()

  assert.equal(before, 0)
  assert.deepEqual(
    client.gate.seen.map(({ inbound }) => inbound.method),
    ['initialize', 'tools/list'],
  )
  assert.equal(client.gate.notifications.length, 1)
})

test('a modern client needs no handshake, and what plugins keep is one for the pipe', async () => {
  const client = await pipe()

  client.send(
    modern('slow/a', 1),
    modern('slow/b', 2, { 'io.modelcontextprotocol/logLevel': 'debug' }),
    modern('slow/c', 3),
  )
  await client.gate.next('slow/c')
  const [first, second, third] = client.gate.seen.map(({ session }) => session)
  if (first !== undefined) first.slots[0] = 'minted'

  assert.equal(client.gate.opened.length, 1)
  assert.equal(first, third)
  assert.equal(second?.slots[0], 'minted')
  assert.equal(second?.id, first?.id)
  assert.deepEqual([first?.client.logLevel, second?.client.logLevel], [undefined, 'debug'])
})

test('server/discover alone decides nothing: initialize may follow', async () => {
  const client = await pipe()

  client.send(modern('server/discover', 'd'))
  const discovered = await client.next()
  client.send(INITIALIZE, { id: 1, method: 'tools/list' })

  assert.equal(discovered.id, 'd')
  assert.equal((await client.next()).result.protocolVersion, '2025-06-18')
  assert.equal((await client.next()).result.resultType, undefined)
  assert.deepEqual(
    client.gate.opened.map(({ client: { era } }) => era),
    ['modern', 'legacy'],
  )
  assert.equal(client.gate.closed.length, 1)
})

test('the era stays: neither side of it takes the other', async () => {
  const old = await pipe()
  old.send(INITIALIZE)
  await old.next()
  old.send(modern('tools/list', 1), modern('server/discover', 2))
  const refused = await old.next()
  const discovered = await old.next()

  const fresh = await pipe()
  fresh.send(modern('tools/list', 1))
  await fresh.next()
  fresh.send(INITIALIZE, { id: 2, method: 'tools/list' })
  const handshake = await fresh.next()
  const bare = await fresh.next()

  assert.equal(refused.error.code, -32600)
  assert.equal(discovered.result.resultType, 'complete')
  assert.equal(handshake.error.code, -32022)
  assert.deepEqual(handshake.error.data.supported, ['2026-07-28'])
  assert.equal(bare.error.code, -32602)
})

test('what is no message is answered, and the next line is read', async () => {
  const client = await pipe()

  client.write('\uFEFF{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n\r\n{\n')
  client.input.write(Buffer.from([0xff, 0x0a]))
  client.write(
    `"${'x'.repeat(11 * 1024 * 1024)}"\n{"jsonrpc":"2.0","id":null,"method":"x"}\n{"jsonrpc":"2.0","id":2,"method":"ping"}\n`,
  )

  assert.equal((await client.next()).id, 1)
  for (const code of [-32700, -32700, -32700, -32600]) {
    const { id, error } = await client.next()
    assert.deepEqual([id, error.code], [null, code])
  }
  assert.equal((await client.next()).id, 2)
})

test('a cancellation ends strictly its request, which is not answered', async () => {
  const client = await pipe()
  client.send(INITIALIZE, { id: 1, method: 'slow/x' }, { id: '1', method: 'slow/x' })
  await client.next()
  const cancelled = { method: 'notifications/cancelled', params: { requestId: 1, reason: 'enough' } }

  client.send(cancelled, { id: 9, method: 'tools/list' })
  const after = await client.next()

  assert.equal(after.id, 9)
  assert.deepEqual(
    client.gate.seen.map(({ reason }) => reason),
    [undefined, 'enough', undefined, undefined],
  )
  assert.equal(client.gate.notifications.length, 0)
})

test('an id under way cannot be used again, and too many requests are refused', async () => {
  const client = await pipe()
  client.send(INITIALIZE, { id: 1, method: 'slow/x' })
  await client.next()

  client.send({ id: 1, method: 'ping' })
  const taken = await client.next()
  client.send(...Array.from({ length: 1024 }, (_, index) => ({ id: 10 + index, method: 'slow/x' })))
  const refused = await client.next()

  assert.equal(taken.error.code, -32600)
  assert.deepEqual([refused.id, refused.error.code], [1033, -32603])
})
