import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { until } from '../../fixtures/until.ts'
import { envelope } from './http/client.ts'
import { type Served, serveAll, talk, type Talk } from './http/network.ts'

const KIB = 1024
const LIMITS = { connections: 999, body: '512KiB', held: '4MiB' }
const MESSAGE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'echo/x',
  params: { _meta: envelope() },
}).padEnd(400 * KIB)

/** Sends all of a message but its last byte; returns the way to send that. */
type Part = (client: Talk) => () => void

const PARTS: Readonly<Record<string, Part>> = {
  'one frame': ({ socket }) => {
    const bytes = frame(MESSAGE)
    const tcp = (socket as unknown as { readonly _socket: Socket })._socket
    tcp.write(bytes.subarray(0, -1))
    return () => void tcp.write(bytes.subarray(-1))
  },
  'many frames': ({ socket }) => {
    const pieces = MESSAGE.slice(0, -1).match(/[^]{1,1000}/g) ?? []
    for (const piece of pieces) socket.send(piece, { fin: false })
    return () => socket.send(MESSAGE.slice(-1), { fin: true })
  },
}

/** A text frame whose mask changes nothing. */
function frame(text: string): Buffer {
  const head = Buffer.alloc(14)
  head.set([0x81, 0xff])
  head.writeBigUInt64BE(BigInt(Buffer.byteLength(text)), 2)
  return Buffer.concat([head, Buffer.from(text)])
}

const open = ({ at }: Served, count: number): Promise<Talk[]> =>
  Promise.all(Array.from({ length: count }, () => talk(at('/ws'))))

for (const [name, part] of Object.entries(PARTS)) {
  test(`messages over WebSockets that do not end are bounded together, as ${name}: who finds no room reads why, who was there goes on`, async t => {
    const served = await serveAll(t, { limits: LIMITS })
    const clients = await open(served, 5)
    const finish: (() => void)[] = []
    for (const client of clients) {
      const before = served.listener.bufferedBytes ?? 0
      finish.push(part(client))
      await until(() => (served.listener.bufferedBytes ?? 0) >= before + 399 * KIB, 'it is held')
    }

    const others = await open(served, 15)
    for (const other of others) part(other)
    const closed = await Promise.all(others.map(other => other.closed))
    for (const rest of finish) rest()

    for (const one of closed) assert.deepEqual(one, [1013, 'overloaded, try again later'])
    for (const client of clients) assert.equal((await client.next())?.result.resultType, 'complete')
    await until(() => served.listener.bufferedBytes === 0, 'the memory is given back')
  })

  test(`of a message that breaks off nothing is kept, as ${name}`, async t => {
    const served = await serveAll(t, { limits: LIMITS })
    const [client] = await open(served, 1)
    assert.ok(client !== undefined)
    part(client)
    await until(() => (served.listener.bufferedBytes ?? 0) > 300 * KIB, 'it is held')

    client.socket.terminate()

    await until(() => served.listener.bufferedBytes === 0, 'the memory is given back')
  })
}
