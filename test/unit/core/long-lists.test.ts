import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testGateway, testUpstream } from '../../../src/testing/index.ts'
import { patientClock as clock } from '../../fixtures/clocks.ts'

const MIB = 1024 * 1024
const TOO_LONG = /tools\/list exceeds 16777216 bytes in total/

/** A server whose list has so many pages of 1 MiB, beside one that is as it should be. */
async function besideLong(t: TestContext, pages: number, lists: JsonObject, delayMs = 0) {
  const long = closeAfter(t, await testUpstream({ tools: {} }))
  const sound = closeAfter(t, await testUpstream({ tools: { fine: () => '' } }))
  let asked = 0
  long.offer.methods.set('tools/list', async ({ cursor }: JsonObject) => {
    asked++
    if (delayMs > 0) await new Promise(resolve => setTimeout(resolve, delayMs))
    const page = Number(cursor ?? 0)
    const tools = [{ name: `t${page}`, description: 'x'.repeat(MIB), inputSchema: { type: 'object' } }]
    return page + 1 < pages ? { tools, nextCursor: String(page + 1) } : { tools }
  })
  const { gateway, log } = closeAfter(
    t,
    await testGateway({ upstreams: { long, sound }, clock, config: { cache: false, lists } }),
  )
  const client = await gateway.connect()
  const names = async (): Promise<string[]> => {
    const { tools } = await client.request('tools/list')
    return (tools as { name: string }[]).map(({ name }) => name)
  }
  return { gateway, log, names, asked: () => asked }
}

test('a list of less than 16 MiB over all its pages is listed', async t => {
  const { names } = await besideLong(t, 15, { grace: '30s', wait: '30s' })

  assert.equal((await names()).length, 16)
})

test('a list of more than 16 MiB is read no further and left out whole, and log and inspect say why', async t => {
  const { gateway, log, names, asked } = await besideLong(t, 64, {
    grace: '30s',
    wait: '30s',
  })

  assert.deepEqual(await names(), ['sound__fine'])

  assert.equal(asked(), 16)
  const warning = log.find(({ message }) => message === 'upstream "long" is missing from the lists')
  assert.match(String(warning?.reason), TOO_LONG)
  const { upstreams } = await gateway.inspect()
  assert.match(String(upstreams.find(({ name }) => name === 'long')?.lists?.tools), TOO_LONG)
})

test('a list of more than 10,000 entries is cut, and log and inspect say of which server and how', async t => {
  const long = closeAfter(t, await testUpstream({ tools: {} }))
  const tools = Array.from({ length: 10_001 }, (_, n) => ({ name: `t${n}`, inputSchema: { type: 'object' } }))
  long.offer.methods.set('tools/list', () => ({ tools }))
  const lists = { grace: '30s', wait: '30s', pageSize: 10_000 }
  const { gateway, log } = closeAfter(t, await testGateway({ upstreams: { long }, config: { lists } }))
  const client = await gateway.connect()

  const answer = await client.request('tools/list')

  assert.equal((answer.tools as unknown[]).length, 10_000)
  assert.equal(answer.nextCursor, undefined)
  const warnings = log.filter(({ message }) => message === 'a list from upstream "long" is truncated')
  assert.deepEqual(
    warnings.map(({ reason }) => reason),
    ['limited to the first 10000 of 10001 entries'],
  )
  const { upstreams } = await gateway.inspect()
  assert.equal(upstreams[0]?.lists?.tools, 'limited to the first 10000 of 10001 entries')
})
