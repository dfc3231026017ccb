import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { testGateway, type TestGateway } from '../../../src/testing/index.ts'
import { chaos, holds, SLACK_MS, type Chaos } from './chaos/calls.ts'
import { FAULTS } from './chaos/faulty-proxy.ts'

const CALLS = 100

describe('a network that fails', () => {
  let setting: Chaos
  let gateway: TestGateway
  before(async () => {
    setting = await chaos(25)
    gateway = await testGateway({ config: { upstreams: setting.upstreams } as never })
  })
  after(async () => {
    await gateway[Symbol.asyncDispose]()
    await setting.close()
  })

  for (const fault of FAULTS)
    it(`(${fault}) leaves every call with one outcome, in time, carried out once at most`, async () => {
      const found = await setting.run(gateway.url, fault, CALLS)

      assert.equal(found.calls, CALLS)
      // The gateway, the proxy, the server and the clock share a process here, and maybe a busy machine; the proof is strict.
      assert.ok(holds(found, SLACK_MS + 8 * found.lagMs), JSON.stringify(found))
    })
})
