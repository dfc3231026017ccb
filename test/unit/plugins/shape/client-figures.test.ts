import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../../src/testing/index.ts'
import { call, ERAS, LONG, scene, texts } from './scene.ts'
import { until } from '../../../fixtures/until.ts'

const named = (name: string) => ({ info: { name, version: '1' } })

for (const era of ERAS)
  test(`a ${era} client gets results of the size that it takes, where the size is left to the client`, async t => {
    const { open } = await scene(t, { maxTokens: 'client' }, { fit: OWN })
    const [small, any] = [await open({ era, ...named('small-agent 1.0') }), await open({ era, ...named('x') })]

    const cut = texts(await call(small, 'web__long'))
    const whole = texts(await call(any, 'web__long'))

    assert.ok(Buffer.byteLength(cut.join('')) <= 500 * 3.6, 'no more than 500 tokens')
    assert.match(cut.join(''), /read_result/)
    assert.deepEqual(whole, [LONG], 'nothing is known of this one, and nothing is cut')
  })

test('what a tool has of its own counts, whoever the client is', async t => {
  const shape = { maxTokens: 'client', tools: { web__long: { maxTokens: 100_000 } } }
  const { open } = await scene(t, shape, { fit: OWN })

  assert.deepEqual(texts(await call(await open(named('small-agent')), 'web__long')), [LONG])
})

test('a call goes on when nine tenths of the patience of its client are over, and for others it is waited for', async t => {
  const ends: ((text: string) => void)[] = []
  const slow = () => new Promise<string>(resolve => ends.push(resolve))
  const web = closeAfter(t, await testUpstream({ tools: { slow } }))
  const config = { shape: { patience: 'client' }, fit: OWN, cache: false as const }
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, config }))
  const [hasty, any] = await Promise.all(
    ['hasty-agent', 'x'].map(async name => closeAfter(t, await testClient(gateway, named(name)))),
  )

  const waits = any?.request('tools/call', { name: 'web__slow' })
  const gone = await hasty?.request('tools/call', { name: 'web__slow' })
  // The hasty one may be answered before its server, and that of the other, have heard of the calls.
  await until(() => ends.length === 2, 'both calls have arrived')
  for (const end of ends) end('found')

  assert.match(JSON.stringify(gone?.result), /is still running/)
  assert.match(JSON.stringify((await waits)?.result), /found/)
})

const OWN = { clients: { 'small-agent*': { largestResult: 500 }, 'hasty-agent*': { patience: 50 } } }
