import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { test, type TestContext } from 'node:test'
import { Relay } from '../../../src/control/relay.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

test('the calls of a batch that was under way when the gateway went are answered, and sent to no other', async t => {
  const heard: string[] = []
  const gateway = await gatewayOf(t, socket => {
    socket.write('{"attached":{"version":"1"}}\n')
    let text = ''
    socket.on('data', chunk => {
      text += chunk.toString()
      if (!text.includes(']')) return
      heard.push(text)
      // One of two is answered, then the gateway is gone.
      socket.end('[{"jsonrpc":"2.0","id":"a","result":{}}]\n')
    })
  })
  const { input, ended, next } = talking(gateway)
  const call = (id: string): string => `{"jsonrpc":"2.0","id":"${id}","method":"tools/list"}`
  input.write(`[${call('a')},${call('b')}]\n`)

  assert.match(await next(), /^\[\{"jsonrpc":"2.0","id":"a","result":\{\}\}\]$/)
  const said = await next()
  input.end()
  await ended

  assert.equal(heard.length, 1)
  assert.match(said, /"id":"b","error"/)
  assert.doesNotMatch(said, /"id":"a","error"/)
})

test('a gateway that closes each connection at once is given up, and the client hears of it', async t => {
  const gateway = await gatewayOf(t, socket => void socket.destroy())
  let tries = 0
  // Where nobody gives up, the test must end nevertheless.
  const before = (): void => {
    if (++tries > 200) throw new Error('it tries for ever')
  }
  const { input, ended, next } = talking(gateway, { before })
  input.write('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')

  assert.match(await next(), /"id":1,"error"/)
  assert.equal(await ended, 1)
  assert.ok(tries < 20, `it tried ${tries} times`)
})

test('nothing is sent to a gateway that says nothing of itself: a call cannot run at one that dies and again at the next', async t => {
  const sent: string[] = []
  const ran: number[] = []
  let connections = 0
  const gateway = await gatewayOf(t, socket => {
    const connection = ++connections
    if (connection > 1) socket.write('{"attached":{"version":"1"}}\n')
    socket.on('data', chunk => {
      if (connection === 1) sent.push(String(chunk))
      if (chunk.includes('tools/call')) {
        ran.push(connection)
        if (connection > 1) socket.write('{"jsonrpc":"2.0","id":1,"result":{}}\n')
      }
    })
    // Long enough for all that a client would send at once.
    if (connection === 1) setTimeout(() => socket.destroy(), 100)
  })
  const { input, ended, next } = talking(gateway)
  input.write(call(1))

  assert.equal(await next(), '{"jsonrpc":"2.0","id":1,"result":{}}')
  assert.deepEqual(ran, [2])
  assert.deepEqual(sent, ['{"attach":{}}\n'])
  input.end()
  await ended
})

test('a call is not repeated when the gateway died after it had said something of itself', async t => {
  let ran = 0
  const gateway = await gatewayOf(t, socket => {
    socket.write('{"attached":{"version":"1"}}\n')
    socket.on('data', chunk => {
      if (!chunk.includes('tools/call')) return
      ran++
      socket.destroy()
    })
  })
  const { input, ended, next } = talking(gateway)
  input.write(call(1))

  assert.match(await next(), /"id":1,"error":.*may have run/)
  assert.equal(ran, 1)
  input.end()
  await ended
})

test('while the next gateway says nothing requests fail in time, and as soon as it does they work', async t => {
  const sockets: Socket[] = []
  const gateway = await gatewayOf(t, socket => {
    if (sockets.push(socket) === 1) greet(socket)
  })
  const { input, ended, next } = talking(gateway, { reconnectMs: 50 })
  input.write(call(1))
  assert.match(await next(), /"id":1,"result"/)
  sockets[0]?.destroy()

  for (const id of [2, 3]) {
    input.write(call(id))
    assert.match(await next(), new RegExp(`"id":${id},"error"`))
  }
  greet(sockets[1])
  for (let id = 4, said = ''; !said.includes('result'); id++) {
    await new Promise(resolve => setImmediate(resolve))
    input.write(call(id))
    said = await next()
  }
  input.end()
  await ended
})

test('a gateway that cannot be reached for a moment is tried again', async t => {
  const gateway = await gatewayOf(t, greet)
  let tries = 0
  const before = (): void => {
    if (++tries < 3) throw new Error('it has just died')
  }
  const { input, ended, next } = talking(gateway, { before })
  input.write(call(1))

  assert.match(await next(), /"id":1,"result"/)
  assert.equal(tries, 3)
  input.end()
  await ended
})

test('at the next gateway a client is initialized again, and told of lists that may have changed', async t => {
  const heard: string[] = []
  const gateway = await gatewayOf(t, socket => {
    greet(socket)
    socket.on('data', chunk => {
      heard.push(...String(chunk).trim().split('\n'))
      if (chunk.includes('tools/list')) socket.destroy()
    })
  })
  const { input, ended, next } = talking(gateway)
  const initialize = '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}'
  const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
  input.write(`${initialize}\n`)
  assert.match(await next(), /"id":0,"result"/)
  input.write(`${initialized}\n`)
  input.write('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')

  assert.match(await next(), /"id":1,"error"/)
  assert.match(await next(), /notifications\/tools\/list_changed/)
  assert.deepEqual(heard.slice(heard.lastIndexOf('{"attach":{}}') + 1), [initialize, initialized])
  input.end()
  await ended
})

function call(id: number): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"pay"}}\n`
}

/** Greets a client, and answers all that it asks but lists. */
function greet(socket: Socket | undefined): void {
  socket?.write('{"attached":{"version":"1"}}\n')
  socket?.on('data', chunk => {
    for (const [, id, method] of String(chunk).matchAll(/"id":(\d+),"method":"([^"]+)"/g))
      if (method !== 'tools/list')
        socket.write(`{"jsonrpc":"2.0","id":${id},"result":{"capabilities":{"tools":{"listChanged":true}}}}\n`)
  })
}

/** A client on a relay to this socket, and what it is told, line by line. */
function talking(
  path: string,
  { before, reconnectMs }: { before?: () => void; reconnectMs?: number } = {},
): { input: PassThrough; ended: Promise<number>; next: () => Promise<string> } {
  const input = new PassThrough()
  const output = new PassThrough()
  const lines = createInterface({ input: output })[Symbol.asyncIterator]()
  const connect = async (): Promise<Socket> => {
    before?.()
    return connectedTo(path)
  }
  const attached = (): void => undefined
  const wait = reconnectMs === undefined ? {} : { reconnectMs }
  const relay = new Relay({ input, output, hello: {}, connect, onAttached: attached, ...wait })
  return { input, ended: relay.run(), next: async () => String((await lines.next()).value) }
}

/** A program on a socket that treats connections like this; returns its path. */
async function gatewayOf(t: TestContext, serve: (socket: Socket) => void): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'relay-'))
  const path = join(directory, 'gateway.sock')
  const server = createServer(socket => {
    socket.on('error', () => undefined)
    serve(socket)
  })
  server.listen(path)
  await once(server, 'listening')
  cleanup(t, async () => {
    server.close()
    await rm(directory, { recursive: true, force: true })
  })
  return path
}

async function connectedTo(path: string): Promise<Socket> {
  const socket = connect(path)
  await once(socket, 'connect')
  return socket
}
