import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createGateway, type GatewayError } from '../../../src/index.ts'
import { definePlugin } from '../../fixtures/define-plugin.ts'
import { freePort } from '../../fixtures/free-port.ts'

test('a gateway that is closed while it starts leaves no port bound, at whatever moment that is', async () => {
  const ports = [await freePort(), await freePort()]
  const listeners = Object.fromEntries(ports.map((port, i) => [`http${i}`, { type: 'http', port }]))

  for (let turns = 0; turns < 6; turns++) {
    const gateway = await createGateway({ listeners })
    const starting = gateway.start()
    for (let turn = 0; turn < turns; turn++) await setImmediate()
    await gateway.close()
    await starting.catch((error: unknown) => assert.ok(isStopping(error)))

    for (const port of ports) await bind(port)
  }
})

test('no plugin opens anything after a gateway is closed while it starts, and the start fails', async () => {
  const order: string[] = []
  const hold = Promise.withResolvers<void>()
  const slow = definePlugin({
    name: 'slow',
    setup({ hooks }) {
      hooks.ready.tap(async () => {
        order.push('ready')
        await hold.promise
        order.push('ready ended')
      })
      hooks.close.tap(() => void order.push('closed'))
    },
  })
  const late = definePlugin({
    name: 'zlate',
    setup: ({ hooks }) => hooks.ready.tap(() => void order.push('late')),
  })
  const gateway = await createGateway({ listeners: { main: { type: 'http', port: 0 } } }, { plugins: [slow, late] })
  const refused = assert.rejects(gateway.start(), isStopping)
  await setImmediate()
  const closing = gateway.close()
  await setImmediate()
  hold.resolve()
  await Promise.all([refused, closing])

  assert.deepEqual(order, ['ready', 'ready ended', 'closed'])
  await assert.rejects(gateway.start(), isStopping)
})

function isStopping(error: unknown): boolean {
  return (error as GatewayError).code === 'GW_STOPPING'
}

/** Binds a port and frees it again. */
function bind(port: number): Promise<void> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => server.close(() => resolve()))
  })
}
