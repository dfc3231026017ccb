import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatLoad } from '../../../src/cli/output/format-findings.ts'
import type { Load } from '../../../src/api/gateway.ts'
import { testGateway } from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const OUT = { paint: (_style: string, text: string) => text } as unknown as Parameters<typeof formatLoad>[1]

for (const verb of ['ps', 'inspect'])
  test(`${verb} shows how much the process has to do, and whether it sheds load`, async t => {
    const gateway = await testGateway({ config: {} })
    cleanup(t, () => gateway[Symbol.asyncDispose]())

    const { load } = (await gateway.gateway.control(verb)) as { load: Load }

    assert.equal(load.shedding, 'none')
    assert.equal(load.refused, 0)
    assert.ok(load.rss > 0 && load.held === 0)
    for (const part of [load.heap, load.memory, load.lagMs]) assert.equal(typeof part, 'number')
  })

test('the load is one line for people, which says so when requests are refused', () => {
  const load: Load = {
    held: 2048,
    rss: 1,
    heap: 0.957,
    memory: 0.5,
    lagMs: 12,
    refused: 3,
    shedding: 'refuse',
  }

  assert.match(
    formatLoad(load, OUT),
    /^heap 96 % · memory 50 % · event loop delay 12 ms · .* held · 3 refused · overloaded, refusing new requests$/,
  )
})
