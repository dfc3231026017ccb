import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import { createEntry } from '../../../src/api/catalog-entry.ts'
import { mergeLists, type UpstreamList } from '../../../src/core/catalog/upstream-list.ts'
import { Payload } from '../../../src/protocol/payload.ts'
import { closeAfter, testGateway, testUpstream } from '../../../src/testing/index.ts'

function part(upstream: string, entries: number, bytes = 100): UpstreamList {
  const tools = Array.from({ length: entries }, (_, n) => ({ name: `t${n}` }))
  return {
    upstream,
    payloads: [Payload.fromBytes(Buffer.alloc(bytes), 'modern')],
    digest: '',
    entries: tools.map(tool => createEntry('tools', upstream, tool.name, '', tool)),
  }
}

function kept(parts: readonly UpstreamList[], most: { entries: number; bytes: number }): Record<string, number> {
  const { entries } = mergeLists(parts, most)
  return Object.fromEntries(
    parts.map(({ upstream }) => [upstream, entries.filter(entry => entry.upstream === upstream).length]),
  )
}

describe('a merged list', () => {
  const plenty = { entries: 1000, bytes: 10_000 }

  it('that is short enough holds everything, in the order of the servers', () => {
    const { entries, cuts } = mergeLists([part('b', 2), part('a', 1)], plenty)

    assert.deepEqual(
      entries.map(({ upstream, original }) => `${upstream} ${original}`),
      ['b t0', 'b t1', 'a t0'],
    )
    assert.deepEqual(cuts, [])
  })

  it('with too many entries takes from the longest, and never from those that want less than their share', () => {
    const parts = [part('huge', 900), part('big', 400), part('small', 10)]

    assert.deepEqual(kept(parts, { ...plenty, entries: 500 }), { huge: 245, big: 245, small: 10 })
    assert.deepEqual(mergeLists(parts, { ...plenty, entries: 500 }).cuts, [
      { upstream: 'huge', listed: 245, of: 900 },
      { upstream: 'big', listed: 245, of: 400 },
    ])
  })

  it('with too many bytes takes from those that send the most, by as much as they are over', () => {
    const parts = [part('fat', 10, 9000), part('thin', 300, 1000)]

    assert.deepEqual(kept(parts, { ...plenty, bytes: 5500 }), { fat: 5, thin: 300 })
  })

  it('does not fail where a server lists nothing, or one entry that is larger than its share', () => {
    assert.deepEqual(kept([part('none', 0, 0), part('one', 1, 9000)], { entries: 10, bytes: 100 }), {
      none: 0,
      one: 0,
    })
  })
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

test('an error that a server answers to a list is told as its own error', async t => {
  const web = closeAfter(t, await testUpstream({ tools: {} }))
  web.offer.methods.set('tools/list', () => ({ code: -32000, message: 'no licence' }))
  const { gateway, log } = closeAfter(t, await testGateway({ upstreams: { web } }))
  const client = await gateway.connect()

  await client.request('tools/list')

  const warning = log.find(({ message }) => message === 'upstream "web" is missing from the lists')
  assert.equal(warning?.code, 'GW_UPSTREAM_ERROR')
})
