import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gatewayError, type Plugin, type SharedStore } from '../../../../src/plugin.ts'
import { SharedMemory } from '../../../fixtures/shared-memory.ts'
import { closeAfter, testClient, testGateway } from '../../../../src/testing/index.ts'

/** Shares a memory that never answers. */
const away: Plugin = {
  name: 'away',
  early: true,
  setup({ hooks, clock }) {
    const own = new SharedMemory({ now: () => clock.now() }).of()
    const fails = (): Promise<never> => Promise.reject(gatewayError('GW_SHARED_AWAY', { why: 'it sleeps' }))
    const verbs = { get: fails, put: fails, take: fails, delete: fails, count: fails, publish: fails }
    const store = Object.assign(Object.create(own) as SharedStore, verbs)
    hooks.services.tap(services => ({ ...services, store }))
  },
}

test('a server without a token, as the store of logins is away, is not taken for one that fails: it is given no rest', async t => {
  const web = {
    type: 'http',
    url: 'http://127.0.0.1:9/mcp',
    oauth: { client: { id: 'gateway' } },
    breaker: {},
  }
  const gateway = closeAfter(t, await testGateway({ plugins: [away], config: { upstreams: { web } } }))
  const client = closeAfter(t, await testClient(gateway))

  const said: string[] = []
  for (let call = 0; call < 10; call++)
    said.push(await client.request('tools/call', { name: 'web__run' }).then(JSON.stringify, String))

  assert.match(said.at(-1) ?? '', /shared store unavailable: it sleeps/)
  assert.doesNotMatch(said.join(), /circuit opened/)
})
