import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import type { Plugin } from '../../../src/plugin.ts'
import { testGateway, testUpstream } from '../../../src/testing/index.ts'

const failing: Plugin = {
  name: 'failing',
  setup({ hooks }) {
    const admit = (): never => {
      throw new Error('boom of the plugin')
    }
    hooks.services.tap(services => ({ ...services, admission: { admit } }))
  },
}

test('a plugin that fails to admit a request refuses that request on every transport, and the gateway lives', async () => {
  await using upstream = await testUpstream({ tools: { echo: () => 'hello' } })
  await using gateway = await testGateway({
    upstreams: { web: upstream },
    plugins: [failing],
    config: {
      listeners: { main: { type: 'http', port: 0, sse: {}, ws: {} } },
    },
  })
  const at = (path: string): string => new URL(path, gateway.url).href

  for (let i = 0; i < 3; i++) {
    const post = await fetch(gateway.url, { method: 'POST', body: '{}' })
    assert.equal(post.status, 500)
    assert.doesNotMatch(await post.text(), /boom/)
    assert.equal((await fetch(at('/sse'))).status, 500)
    assert.equal(await refusedUpgrade(at('/ws').replace('http', 'ws')), 500)
  }

  assert.equal((await fetch(at('/livez'))).status, 200)
  assert.ok(
    gateway.log.some(({ message, reason }) => message === 'admission check failed' && /failing/.test(String(reason))),
  )
})

function refusedUpgrade(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, 'mcp')
    socket.on('unexpected-response', (_, response) => {
      resolve(response.statusCode)
      response.resume()
    })
    socket.on('open', () => reject(new Error('it was let in')))
    socket.on('error', () => undefined)
  })
}
