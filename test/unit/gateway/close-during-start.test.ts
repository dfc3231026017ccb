import { createServer } from 'node:net'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createGateway } from '../../../src/index.ts'
import { freePort } from '../../fixtures/free-port.ts'

test('a gateway that is closed while it starts leaves no port bound, at whatever moment that is', async () => {
  const ports = [await freePort(), await freePort()]
  const listeners = Object.fromEntries(ports.map((port, i) => [`http${i}`, { type: 'http', port }]))

  for (let turns = 0; turns < 6; turns++) {
    const gateway = await createGateway({ listeners })
    const starting = gateway.start()
    for (let turn = 0; turn < turns; turn++) await setImmediate()
    await gateway.close()
    await starting

    for (const port of ports) await bind(port)
  }
})

/** Binds a port and frees it again. */
function bind(port: number): Promise<void> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => server.close(() => resolve()))
  })
}
