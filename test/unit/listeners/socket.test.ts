import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test, type TestContext } from 'node:test'
import { closeAfter, TestClock, testGateway, testUpstream, type TestGateway } from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

interface Place {
  readonly gateway: TestGateway
  readonly open: () => Promise<Socket>
}

async function listen(t: TestContext, listener: object, clock?: TestClock): Promise<Place> {
  const directory = await mkdtemp(join(tmpdir(), 'socket-'))
  cleanup(t, () => rm(directory, { recursive: true, force: true }))
  const files = closeAfter(t, await testUpstream({ tools: { read: () => 'r', write: () => 'w' } }))
  const path = join(directory, 'mcp.sock')
  const config = {
    listeners: { here: { type: 'socket', path, ...listener } },
    profiles: { readers: { tools: { deny: ['*write*'] } }, all: {} },
  }
  const gateway = closeAfter(
    t,
    await testGateway({ upstreams: { files }, config, ...(clock === undefined ? {} : { clock }) }),
  )
  const open = async (): Promise<Socket> => {
    const socket = connect(path)
    cleanup(t, () => void socket.destroy())
    await once(socket, 'connect')
    return socket
  }
  return { gateway, open }
}

/** Names of the tools that a program sees after this greeting. */
async function seen(socket: Socket, hello: object): Promise<unknown> {
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]()
  const next = async (): Promise<Record<string, unknown>> =>
    JSON.parse(String((await lines.next()).value)) as Record<string, unknown>
  const clientInfo = { name: 'c', version: '1' }
  const send = (message: object): void => void socket.write(`${JSON.stringify(message)}\n`)
  send({ attach: hello })
  await next()
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  send({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
  await next()
  send({ jsonrpc: '2.0', method: 'notifications/initialized' })
  send({ jsonrpc: '2.0', id: 2, method: 'tools/list' })
  for (;;) {
    const { id, result } = await next()
    if (id === 2) return (result as { tools: { name: string }[] }).tools.map(({ name }) => name)
  }
}

test('a program sees what the profile of its socket shows, whatever it asks for', async t => {
  const { gateway, open } = await listen(t, { profile: 'readers' })

  for (const hello of [{}, { profile: 'readers' }, { profile: 'all' }, { profile: 'nobody' }])
    assert.deepEqual(await seen(await open(), hello), ['files__read'], JSON.stringify(hello))
  assert.equal(gateway.log.filter(({ message }) => /requested a different profile/.test(String(message))).length, 2)
})

test('a program chooses its view where the socket has none', async t => {
  const { open } = await listen(t, {})

  assert.deepEqual(await seen(await open(), { profile: 'readers' }), ['files__read'])
  assert.deepEqual(await seen(await open(), {}), ['files__read', 'files__write'])
})

test('a program that says nothing does not keep its place', async t => {
  const clock = new TestClock()
  const { gateway, open } = await listen(t, {}, clock)
  const silent = await open()
  const slow = await open()
  slow.write('{"attach":')
  const ends = Promise.all([once(silent, 'close'), once(slow, 'close')])
  silent.resume()
  slow.resume()
  // A connection is there for the gateway when it has been greeted.
  const third = await open()
  third.write('{"attach":{}}\n')
  await once(third, 'data')

  clock.advance(30_001)
  await ends

  assert.equal(third.destroyed, false)
  assert.equal(gateway.log.filter(({ message }) => /hello timed out/.test(String(message))).length, 2)
})

test('of several gateways that start at once one has an optional socket, and all run', async t => {
  const directory = await mkdtemp(join(tmpdir(), 'optional-'))
  cleanup(t, () => rm(directory, { recursive: true, force: true }))
  const listener = { type: 'socket', path: join(directory, 'mcp.sock') }
  const listening = (own: object): Promise<TestGateway> => testGateway({ config: { listeners: { own } } })

  const all = await Promise.all([1, 2, 3].map(() => listening({ ...listener, optional: true })))
  for (const gateway of all) cleanup(t, () => gateway[Symbol.asyncDispose]())

  const without = all.filter(({ log }) => log.some(({ message }) => /continuing without it/.test(String(message))))
  assert.equal(without.length, 2)
  await assert.rejects(listening(listener), { code: 'GW_LISTEN' })
})
