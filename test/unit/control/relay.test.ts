import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { Relay } from '../../../src/control/relay.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

test('a gateway that closes each connection at once is given up, and the client hears of it', async t => {
  const directory = await mkdtemp(join(tmpdir(), 'relay-'))
  const path = join(directory, 'full.sock')
  const server = createServer(socket => socket.destroy())
  server.listen(path)
  await once(server, 'listening')
  cleanup(t, async () => {
    server.close()
    await rm(directory, { recursive: true, force: true })
  })
  let tries = 0
  const input = new PassThrough()
  const output = new PassThrough()
  let said = ''
  output.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const relay = new Relay({
    input,
    output,
    hello: {},
    connect: async () => {
      // Where nobody gives up, the test must end nevertheless.
      if (++tries > 200) throw new Error('it tries for ever')
      const socket = connect(path)
      await once(socket, 'connect')
      return socket
    },
    attached: () => undefined,
  })
  input.write('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')

  assert.equal(await relay.run(), 1)

  assert.ok(tries < 20, `it tried ${tries} times`)
  assert.match(said, /"id":1,"error"/)
})
